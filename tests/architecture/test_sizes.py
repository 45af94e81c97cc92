"""Files and functions stay short enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import own_files, read

MAX_LINES = {".py": 600, ".html": 120, ".css": 600, ".js": 600}
MAX_BODY_LINES = 40


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function after its signature and docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    if not body:
        return 0
    return (body[-1].end_lineno or 0) - body[0].lineno + 1


def long_functions(file: Path, source: str) -> Iterator[str]:
    """Every function of a module that is over the limit."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = body_lines(node)
            if lines > MAX_BODY_LINES:
                yield f"{file}:{node.lineno}: {node.name} has {lines} lines"


def test_no_file_is_over_its_limit() -> None:
    offenders = [
        f"{file}: {lines} lines, at most {MAX_LINES[file.suffix]}"
        for file in own_files(*MAX_LINES)
        if (lines := len(read(file).splitlines())) > MAX_LINES[file.suffix]
    ]
    assert not offenders, "\n".join(offenders)


def test_no_function_of_the_product_is_over_the_limit() -> None:
    offenders = [
        line
        for under in ("sdk/", "memoryapp/")
        for file in own_files(".py", under=under)
        for line in long_functions(file, read(file))
    ]
    assert not offenders, "\n".join(offenders)


def test_a_long_function_is_named_with_its_file_and_line() -> None:
    source = "def f():\n    '''Doc.'''\n" + "    x = 1\n" * 41
    assert list(long_functions(Path("a.py"), source)) == ["a.py:1: f has 41 lines"]
