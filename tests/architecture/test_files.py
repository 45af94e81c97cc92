"""What every committed file owes: whole lines, no secret, nothing of one developer's machine."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.sources import ROOT, own_files, project_files, read

BINARY = {".woff2", ".png", ".gz", ".ico"}
MAX_BYTES = 1_000_000
#: The benchmark's dialogues and questions, and the texts under test that are odd on purpose.
LARGE = ("benchmarks/data/",)

FORBIDDEN = {
    "a private key": "-----BEGIN [A-Z ]*PRIVATE " + "KEY-----",
    "a package index": r"--(extra-)?index-url|registry\.npm" + r"js\.org|files\.python" + "hosted",
    "a path of one machine": r"(?<![\w.])/(work|root|home/\w+)/",
}


def texts() -> list[Path]:
    return [file for file in own_files() if file.suffix not in BINARY]


def test_lines_end_without_spaces_and_files_with_a_line_end() -> None:
    broken = []
    for file in texts():
        text = read(file)
        if text and (not text.endswith("\n") or text.endswith("\n\n")):
            broken.append(f"{file}: must end with one line end")
        broken += [
            f"{file}:{number}: spaces at the end"
            for number, line in enumerate(text.split("\n"), start=1)
            if line != line.rstrip() and file.suffix != ".md"
        ]
    assert not broken, "\n".join(broken)


def test_no_file_holds_what_must_not_be_published() -> None:
    broken = [
        f"{file}:{text.count(chr(10), 0, found.start()) + 1}: {what}"
        for file in texts()
        for text in [read(file)]
        for what, pattern in FORBIDDEN.items()
        for found in re.finditer(pattern, text)
    ]
    assert not broken, "\n".join(broken)


def test_no_file_is_large() -> None:
    large = [
        f"{file}: {size} bytes"
        for file in project_files()
        if not file.as_posix().startswith(LARGE)
        and (size := (ROOT / file).stat().st_size) > MAX_BYTES
    ]
    assert not large, "\n".join(large)


def test_scripts_may_be_run() -> None:
    scripts = [file for file in own_files() if read_start(file).startswith(b"#!")]
    assert scripts
    assert [file for file in scripts if not (ROOT / file).stat().st_mode & 0o100] == []


def read_start(file: Path) -> bytes:
    with (ROOT / file).open("rb") as stream:
        return stream.read(2)
