"""The files of the project, as the architecture tests read them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Written by other people and kept as they wrote it.
FOREIGN = ("benchmarks/data/", "static/memoryapp/font/")


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is or may be committed, relative to the root."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    files = {Path(name) for name in listing.split("\0") if name}
    return tuple(sorted(file for file in files if (ROOT / file).is_file()))


def own_files(*suffixes: str, under: str = "") -> list[Path]:
    """Our own files with one of the suffixes; all of them without a suffix."""
    return [
        file
        for file in project_files()
        if file.as_posix().startswith(under)
        and not file.as_posix().startswith(FOREIGN)
        and "vendor" not in file.parts
        and (not suffixes or file.suffix in suffixes)
    ]


def read(file: Path) -> str:
    """The text of a file named relative to the root."""
    return (ROOT / file).read_text(encoding="utf-8")


def table_rows(text: str) -> list[list[str]]:
    """The cells of each table row, headings and rules left out."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("|")
    ]
    rules = [number for number, cells in enumerate(rows) if set("".join(cells)) <= set("-: ")]
    heads = {number - 1 for number in rules} | set(rules)
    return [cells for number, cells in enumerate(rows) if number not in heads]


@dataclass(frozen=True)
class Import:
    """One name that a module imports, with the line that does it."""

    module: str
    name: str
    line: int

    @property
    def target(self) -> str:
        """The dotted name, from the top."""
        return f"{self.module}.{self.name}" if self.name else self.module


def imports_of(source: str) -> Iterator[Import]:
    """Every import of a module, inside functions and type-checking blocks too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, "", node.lineno)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Import("." * node.level + (node.module or ""), alias.name, node.lineno)
