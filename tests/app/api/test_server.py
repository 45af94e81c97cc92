"""The documented curl lines, and requests of any shape, against a real server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.server import ROOT, Server


def test_documented_curl_lines_run_and_answer_without_an_error(server: Server) -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 2
    script = "set -euo pipefail\n" + "\n".join(blocks)
    script = script.replace("http://127.0.0.1:8000/api/v1", server.url)
    script = script.replace(".venv/bin/python", sys.executable)
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT, env=server.environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    *_, found, listed, changed = map(json.loads, filter(None, done.stdout.splitlines()))
    texts = [hit["record"]["content"] for hit in found["results"]]
    assert "Ada prefers a seat by the window" in texts[:2]
    assert listed["count"] == {"value": 1, "capped": False}
    assert changed["metadata"] == {"city": "Lisbon"}


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


@pytest.mark.parametrize(("size", "status"), [(100, 201), (16 * 1024 * 1024, 413)])
def test_a_body_in_chunks_counts_as_any_other(
    server: Server, tmp_path: Path, size: int, status: int
) -> None:
    key = server.manage("memory_key", "create", "chunks").strip()
    file = tmp_path / "body.json"
    file.write_text(json.dumps({"content": "x" * size}))
    command = ["curl", "-sS", "-o", str(tmp_path / "answer"), "-w", "%{http_code}"]
    command += ["-H", f"Authorization: Bearer {key}", "-H", "Transfer-Encoding: chunked"]
    command += ["-H", "Content-Type: application/json", "-H", "Expect:", "--data-binary"]
    done = subprocess.run(
        [*command, f"@{file}", f"{server.url}/memories"], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == str(status), done.stderr + (tmp_path / "answer").read_text()


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
