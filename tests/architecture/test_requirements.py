"""Each numbered requirement of the documented SDK has a test that carries its number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.architecture.sources import own_files, read, table_rows

REQUIREMENTS = Path("docs/requirements.md")
COUNT = 162
HEADING = "## The numbered requirements of the documented SDK"
#: Need a part of Oracle that the embedded store has not; the row says so.
WITH_ORACLE = {17, 156, 158, 159, 160}
ORACLE_MARK = "*(Oracle)*"


@cache
def rows() -> dict[int, tuple[str, str]]:
    """Each number's requirement and what shows it."""
    section = read(REQUIREMENTS).partition(HEADING)[2].partition("\n## ")[0]
    table = [(int(number), text, shown) for number, text, shown in table_rows(section)]
    assert [number for number, _, _ in table] == list(range(1, COUNT + 1))
    return {number: (text, shown) for number, text, shown in table}


def named(shown: str) -> set[str]:
    """The tests that a row names, as ``path::function``."""
    return set(re.findall(r"`(tests/[^`]+::[^`]+)`", shown))


def numbers_of(test: str) -> set[int]:
    """The requirements in a test's name, as in ``test_r055_r056_a_link_...``."""
    match = re.match(r"test((?:_r\d{3})+)_", test.rpartition("::")[2])
    return {int(number) for number in re.findall(r"\d{3}", match[1])} if match else set()


def functions_run_in(source: str) -> Iterator[str]:
    """The functions of a module that pytest runs, skipped and expected failures left out."""
    for statement in ast.parse(source).body:
        is_class = isinstance(statement, ast.ClassDef) and statement.name.startswith("Test")
        for function in statement.body if is_class else [statement]:
            if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
                marks = " ".join(ast.unparse(mark) for mark in function.decorator_list)
                if not re.search(r"mark\.(skip|xfail)", marks):
                    yield function.name


@cache
def numbered_tests() -> dict[str, set[int]]:
    """Every test with numbers in its name."""
    tests = {
        f"{file.as_posix()}::{name}": numbers_of(name)
        for file in own_files(".py", under="tests/")
        if file.name.startswith("test_")
        for name in functions_run_in(read(file))
    }
    return {test: numbers for test, numbers in tests.items() if numbers}


def test_every_requirement_has_a_test_with_its_number() -> None:
    gaps = [
        f"{number}: no test is named test_r{number:03}_..."
        for number, (_, shown) in rows().items()
        if not any(number in numbered_tests().get(test, ()) for test in named(shown))
    ]
    assert not gaps, "\n".join(gaps)


def test_every_test_with_a_number_stands_in_its_row() -> None:
    unlisted = [
        f"{number}: `{test}`"
        for test, numbers in numbered_tests().items()
        for number in sorted(numbers)
        if number not in rows() or test not in named(rows()[number][1])
    ]
    assert not unlisted, "\n".join(unlisted)


def test_rows_say_what_only_oracle_shows() -> None:
    marked = {number for number, (text, _) in rows().items() if ORACLE_MARK in text}
    assert marked == WITH_ORACLE


def test_only_what_pytest_runs_counts() -> None:
    source = """
def test_r001_plain(): ...
@pytest.mark.parametrize("a", [1])
def test_r002_r003_given(a): ...
@pytest.mark.skip
def test_r004_skipped(): ...
@pytest.mark.xfail(reason="not yet")
def test_r005_failing(): ...
def other_r006_function():
    def test_r007_inside(): ...
class TestIt:
    def test_r008_method(self): ...
class It:
    def test_r009_of_another_class(self): ...
"""
    found = list(functions_run_in(source))
    assert found == ["test_r001_plain", "test_r002_r003_given", "test_r008_method"]
    assert [numbers_of(name) for name in found] == [{1}, {2, 3}, {8}]
    assert numbers_of("tests/a.py::test_a_plain_name") == set()
