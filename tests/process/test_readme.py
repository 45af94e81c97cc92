"""What the README shows is run as it stands there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.process.product import Product


def block(checkout: Path, language: str) -> str:
    """The one block of code in this language."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (checkout / "README.md").read_text(), re.S)
    assert len(blocks) == 1
    return str(blocks[0])


def test_sdk_sample_finds_the_memory_first(checkout: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block(checkout, "python")],
        cwd=tmp_path,
        env={"PYTHONPATH": str(checkout / "sdk")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()[:2]
    assert re.fullmatch(r"0\.\d\d preference: Ada prefers a seat by the window\.", first)
    assert re.fullmatch(r"\d\.\d\d message: I would like to fly to Lisbon in May\.", second)


def test_curl_lines_store_and_find(product: Product) -> None:
    product.start()
    lines = block(product.checkout, "bash").replace("127.0.0.1:8000", f"127.0.0.1:{product.port}")
    done = subprocess.run(
        ["bash", "-eu", "-c", lines],
        cwd=product.checkout,
        env=product.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    thread, messages, memory, found = map(json.loads, done.stdout.strip().splitlines())
    assert thread["id"] == "trip-1"
    assert len(messages["message_ids"]) == 1
    assert memory["content"] == "Ada prefers a seat by the window."
    assert [hit["rank"] for hit in found["results"]] == [1, 2]
    assert "window" in json.dumps(found["results"][0])
