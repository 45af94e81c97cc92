"""One word a thing: names that the glossary does not know are not used for what it names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import own_files, read

BANNED = {
    "conversation",
    "conversations",
    "helper",
    "helpers",
    "item",
    "items",
    "manager",
    "managers",
    "node",
    "nodes",
    "session",
    "sessions",
    "util",
    "utils",
}


def words(name: str) -> set[str]:
    """The words of a name in snake, kebab or camel case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def names(file: Path, source: str) -> Iterator[tuple[int, str]]:
    """What a module defines for others: itself, its classes and functions."""
    yield 1, file.stem
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name


def test_names_of_the_product_keep_to_the_glossary() -> None:
    broken = [
        f"{file}:{line}: {name}"
        for under in ("sdk/", "memoryapp/")
        for file in own_files(".py", under=under)
        for line, name in names(file, read(file))
        if words(name) & BANNED
    ]
    assert not broken, "\n".join(broken)


def test_templates_and_their_folders_keep_to_the_glossary() -> None:
    files = own_files(".html", ".css", ".js")
    assert [str(file) for file in files if words(file.stem) & BANNED] == []


def test_words_of_a_name_are_found_in_every_case() -> None:
    assert words("ThreadManager") == {"thread", "manager"}
    assert words("list_items") == {"list", "items"}
    assert words("HTTPSession") == {"http", "session"}
