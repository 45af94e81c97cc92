"""The documented curl lines, and requests of any shape, against a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.server import ROOT, Server

DOCUMENTS = ["README.md", "docs/api.md"]


def curl_blocks(document: str) -> list[str]:
    text = (ROOT / document).read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.M | re.S)
    return [block for block in blocks if "curl" in block or "$URL" in block]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documented_curl_lines_run_and_answer_without_an_error(
    document: str, server: Server, tmp_path: Path
) -> None:
    blocks = curl_blocks(document)
    assert blocks, f"{document} has no block of curl lines"
    script = "set -euo pipefail\n" + "\n".join(blocks)
    script = script.replace("http://127.0.0.1:8000/api/v1", server.url)
    script = script.replace(".venv/bin/python", sys.executable)
    # Each document starts on the same ids; the second must not meet the first one's.
    script = script.replace("trip-1", f"trip-{DOCUMENTS.index(document)}")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT, env=server.environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"results"' in done.stdout
    assert "problem" not in done.stdout


@pytest.mark.parametrize("path", ["", "/threads", "/nothing", "/memories/a%2Fb", "/memories/.."])
def test_server_answers_errors_as_problems(server: Server, path: str) -> None:
    command = [
        "curl",
        "-sS",
        "--path-as-is",
        "-o",
        "/dev/null",
        "-w",
        "%{http_code} %{content_type}",
    ]
    done = subprocess.run([*command, server.url + path], capture_output=True, text=True, timeout=30)
    status, content_type = done.stdout.split(" ", 1)
    assert int(status) in (401, 404)
    assert content_type == "application/problem+json"


def test_no_generated_request_breaks_the_server_or_leaves_the_document(
    server: Server, tmp_path: Path
) -> None:
    key = server.manage("memory_key", "create", "schemathesis").strip()
    command = [str(Path(sys.executable).with_name("schemathesis")), "run"]
    command += [f"{server.url}/openapi.json", "-H", f"Authorization: Bearer {key}"]
    command += ["--max-examples", "5", "--seed", "1", "--workers", "1", "--no-color"]
    command += ["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"]
    command += ["--checks", "response_schema_conformance,negative_data_rejection"]
    command += ["--generation-database", "none"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
