"""When a summary is renewed by extraction, and which one extraction is shown."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core import MemoryExtractionConfig
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from tests.sdk.client.jobs import LONG_S
from tests.sdk.extraction.models import EXTRACTION, SUMMARY, inline, memories_of, open_client
from tests.sdk.extraction.steps import StepLlm, learnt_whole, shown


@contextmanager
def opened(
    path: Path, llm: StepLlm, config: MemoryExtractionConfig
) -> Iterator[tuple[OracleThread, SQLMemoryStore]]:
    """Lend a thread without links."""
    with open_client(path / "memory.sqlite3", llm, config) as (client, store):
        yield client.create_thread(thread_id="t1", user_id="u1", agent_id="a1"), store


@pytest.fixture
def llm() -> StepLlm:
    return StepLlm()


def tell(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, "id": text} for text in texts]


def saved_summaries(store: SQLMemoryStore) -> list[str]:
    """Return what the saved summaries say; the empty one that a thread begins with is none."""
    contents: list[Any] = [one.content for one in store.list("thread_summary", limit=None)]
    return [one["text"] for one in contents if one["text"]]


def steps_of_each(llm: StepLlm, thread: OracleThread, count: int) -> list[list[str]]:
    """Add messages one by one, and return the steps that each has led to."""
    each = []
    for number in range(1, count + 1):
        before = len(llm.asked)
        thread.add_messages(tell(f"m{number}"))
        each.append([step for step in llm.steps[before:] if step in (EXTRACTION, SUMMARY)])
    return each


BOTH, ONE, NONE = [EXTRACTION, SUMMARY], [EXTRACTION], list[str]()


@pytest.mark.parametrize(
    ("extraction", "summary", "expected"),
    [
        # At each check where it is 0 or less, and there is a check only after an extraction.
        (1, -1, [BOTH] * 8),
        (1, 0, [BOTH] * 8),
        (3, -1, [NONE, NONE, BOTH, NONE, NONE, BOTH, NONE, NONE]),
        # Not before its own frequency.
        (1, 3, [ONE, ONE, BOTH, ONE, ONE, BOTH, ONE, ONE]),
        # Later than its frequency, since nobody looks between two extractions.
        (3, 2, [NONE, NONE, BOTH, NONE, NONE, BOTH, NONE, NONE]),
        (2, 3, [NONE, ONE, NONE, BOTH, NONE, ONE, NONE, BOTH]),
    ],
)
def test_r110_a_summary_is_looked_at_after_each_extraction(
    tmp_path: Path, llm: StepLlm, extraction: int, summary: int, expected: list[list[str]]
) -> None:
    config = inline(
        memory_extraction_window=4,
        memory_extraction_frequency=extraction,
        context_summary_update_frequency=summary,
    )
    with opened(tmp_path, llm, config) as (thread, _):
        assert steps_of_each(llm, thread, 8) == expected


def test_r110_the_summary_covers_what_has_come_since(tmp_path: Path, llm: StepLlm) -> None:
    config = inline(
        memory_extraction_window=4,
        memory_extraction_frequency=2,
        context_summary_update_frequency=3,
    )
    with opened(tmp_path, llm, config) as (thread, store):
        thread.add_messages(tell("m1", "m2"))
        assert saved_summaries(store) == []
        thread.add_messages(tell("m3", "m4"))
        (prompt,) = llm.told(SUMMARY)
        assert shown(prompt, "messages") == ["m1", "m2", "m3", "m4"]
        assert saved_summaries(store) == ["Until m4"]
        asked = len(llm.asked)
        # It is the one that others read: nobody pays for it again.
        assert thread.get_summary().content == "Until m4"
        assert len(llm.asked) == asked


def test_r111_extraction_is_shown_the_summary_of_what_lies_before(
    tmp_path: Path, llm: StepLlm
) -> None:
    config = inline(memory_extraction_window=3, memory_extraction_frequency=3)
    with opened(tmp_path, llm, config) as (thread, store):
        thread.add_messages(tell("m1", "m2", "m3"))
        thread.add_messages(tell("m4"))
        # A newer summary, which has messages that are still to be learnt from.
        assert thread.get_summary().content == "Until m4"
        thread.add_messages(tell("m5", "m6"))
        first, second = llm.told(EXTRACTION)
        assert shown(first, "previous_summary") == []
        assert shown(second, "previous_summary") == ["Until m3"]
        assert shown(second, "new_messages") == ["m4", "m5", "m6"]
        assert [one.content for one in memories_of(store, thread)] == [
            f"m{number}" for number in range(1, 7)
        ]


def test_r111_an_edited_message_is_learnt_from_with_the_summary_before_it(
    tmp_path: Path, llm: StepLlm
) -> None:
    with opened(tmp_path, llm, inline(memory_extraction_window=3)) as (thread, _):
        for text in ("m1", "m2", "m3"):
            thread.add_messages(tell(text))
        thread.update_message("m2", content="m2 but better")
        edited = llm.told(EXTRACTION)[-1]
        assert shown(edited, "new_messages") == ["m2 but better"]
        assert shown(edited, "earlier_messages") == ["m1"]
        assert shown(edited, "previous_summary") == ["Until m1"]


def test_r111_in_the_background_later_messages_are_in_no_summary_that_is_shown(
    tmp_path: Path, llm: StepLlm
) -> None:
    begun = threading.Event()

    def think(told: str) -> Any:
        begun.set()
        assert go_on.wait(LONG_S)
        return learnt_whole(told)

    go_on = threading.Event()
    llm.answers[EXTRACTION] = [think]
    with opened(tmp_path, llm, MemoryExtractionConfig()) as (thread, _):
        thread.add_messages(tell("m1"))
        assert begun.wait(LONG_S)
        thread.add_messages(tell("m2"))
        thread.add_messages(tell("m3"))
        go_on.set()
        thread.wait_for_memory_extraction(LONG_S)
        # The summary after m1 already told of m3.
        assert shown(llm.told(SUMMARY)[0], "messages") == ["m1", "m2", "m3"]
        later = llm.told(EXTRACTION)[1:]
        assert [shown(one, "new_messages") for one in later] == [["m2"], ["m3"]]
        assert [shown(one, "previous_summary") for one in later] == [[], []]


def test_r111_a_summary_that_was_switched_off_is_neither_made_nor_missed(
    tmp_path: Path, llm: StepLlm
) -> None:
    with opened(tmp_path, llm, inline(enable_context_summary=False)) as (thread, store):
        assert steps_of_each(llm, thread, 2) == [ONE, ONE]
        assert [shown(one, "previous_summary") for one in llm.told(EXTRACTION)] == [[], []]
        assert saved_summaries(store) == []
