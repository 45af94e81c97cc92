"""Import files for the tests, made of the real dialogues."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

DIALOGUES = Path(__file__).resolve().parents[3] / "benchmarks" / "data" / "sgd_dialogues.jsonl"


def dialogue_lines(count: int) -> list[str]:
    """The first dialogues of the benchmark data, a line each."""
    with DIALOGUES.open(encoding="utf-8") as file:
        return [line.rstrip("\n") for line, _ in zip(file, range(count), strict=False)]


def message(thread: str, content: str, **more: Any) -> dict[str, Any]:
    """A line of the ``messages`` format, of user ``ada``."""
    base = {"thread_id": thread, "user_id": "ada", "agent_id": "travel", "role": "user"}
    return {**base, "content": content, **more}


def write(folder: Path, lines: Iterable[object], name: str = "file.jsonl") -> Path:
    """Write a file; a line that is no text is written as JSON."""
    path = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path
