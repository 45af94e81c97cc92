"""The guide to extraction says what the code does: its examples run and its numbers are ours."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core.extractors.linkprompting import (
    CANDIDATES_PER_SOURCE,
    SOURCES_PER_REQUEST,
)
from oracleagentmemory.core.extractors.memoryextractionconfig import MemoryExtractionConfig
from oracleagentmemory.core.extractors.parsing import MAX_MEMORIES, MAX_TEXT_CHARACTERS
from oracleagentmemory.core.extractors.settings import DEFAULTS, SMALLEST_TOKEN_LIMIT
from oracleagentmemory.core.extractors.windows import plan_windows
from oracleagentmemory.core.threadscheduler import (
    RESULTS_KEPT,
    WAITING_IN_ALL,
    WAITING_PER_THREAD,
)
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.architecture.sources import ROOT, read
from tests.sdk.client.conftest import WordEmbedder
from tests.sdk.extraction.models import scripted_llm

PAGE = Path("docs/extraction.md")


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", read(PAGE), re.S)


def rows(heading: str) -> list[list[str]]:
    """The rows of the table whose first line starts so, without that and the rule."""
    lines = read(PAGE).split(f"| {heading}", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def run_shown(code: str, names: dict[str, Any]) -> int:
    """Run a block and compare what stands above each ``# =>`` with it; return how many there were.

    Each of these has the value of the statement before it.
    """
    shown = {
        number: line.removeprefix("# => ")
        for number, line in enumerate(code.splitlines(), 1)
        if line.startswith("# => ")
    }
    for statement in ast.parse(code).body:
        expected = shown.pop((statement.end_lineno or 0) + 1, None)
        if expected is None:
            exec(compile(ast.Module([statement], []), str(PAGE), "exec"), names)
            continue
        assert isinstance(statement, ast.Expr), expected
        value = eval(compile(ast.Expression(statement.value), str(PAGE), "eval"), names)
        assert repr(value) == expected
        names["_count"] = names.get("_count", 0) + 1
    assert not shown, "nothing stands above these"
    return int(names.get("_count", 0))


def answer(text: str, record_type: str, importance: int) -> ScriptedAnswer:
    memory = {"text": text, "record_type": record_type, "importance": importance}
    return ScriptedAnswer(json={"thoughts": None, "memories": [memory]})


def test_the_examples_give_what_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers = [
        answer("Ada prefers a seat by the window.", "preference", 4),
        answer("Ada is allergic to nuts.", "fact", 9),
    ]
    with ScriptedModelServer(answers) as server:
        names: dict[str, Any] = {"llm": scripted_llm(server), "embedder": WordEmbedder()}
        for block in blocks():
            compared = run_shown(block, names)
        assert compared == read(PAGE).count("\n# => ") == 7
        names["client"].close()
        names["store"].close()
        assert len(server.requests) == len(answers)


def test_an_example_that_shows_something_else_is_seen() -> None:
    with pytest.raises(AssertionError):
        run_shown("1 + 1\n# => 3\n", {})


def test_the_windows_are_those_of_the_table() -> None:
    counter, earlier = 0, list[str]()
    for call, learns, context, after in rows("call | learns from"):
        new = call.strip("`").split()
        plan = plan_windows(
            window=4, frequency=2, counter=counter, new_ids=new, earlier_ids=earlier[-3:]
        )
        shown = [re.findall(r"`([^`]+)`", cell) for cell in (learns, context)]
        assert [" ".join(one.message_ids) for one in plan.windows] == shown[0]
        assert [text for one in plan.windows if (text := " ".join(one.earlier_ids))] == shown[1]
        assert plan.counter == int(after)
        counter, earlier = plan.counter, [*earlier, *new]
    assert len(earlier) == 7


def test_every_setting_is_explained() -> None:
    page = read(PAGE)
    unnamed = [name for name in MemoryExtractionConfig.__dataclass_fields__ if name not in page]
    assert unnamed == []


@pytest.mark.parametrize(
    "sentence",
    [
        f"{WAITING_PER_THREAD} jobs of a thread may wait, and {WAITING_IN_ALL} in all",
        *(
            f"`{name}` ({DEFAULTS[name]:,})"
            for name in ("memory_extraction_token_limit", "memory_link_extraction_token_limit")
        ),
        f"1 to {SMALLEST_TOKEN_LIMIT - 1:,} is refused",
        f"more than {MAX_TEXT_CHARACTERS:,} characters",
        f"The first {MAX_MEMORIES} memories of an answer are kept",
        f"the newest {RESULTS_KEPT}, in the order of their ends",
        "for each ten new memories",
        "the seven most like",
    ],
)
def test_its_numbers_are_those_of_the_code(sentence: str) -> None:
    assert sentence in " ".join(read(PAGE).split())


def test_numbers_in_words() -> None:
    assert (SOURCES_PER_REQUEST, CANDIDATES_PER_SOURCE) == (10, 7)


def test_the_readme_leads_to_it() -> None:
    assert "(docs/extraction.md)" in read(Path("README.md"))
    assert (ROOT / PAGE).is_file()
