"""What extraction does with messages that are long, fail, are edited or deleted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import MemoryRecord
from oracleagentmemory.core import (
    MemoryExtractionConfig,
    MemoryExtractionImageContext,
    MemoryExtractionMode,
    OracleAgentMemory,
    OracleThread,
)
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import InvalidInputError
from tests.sdk.client.jobs import LONG_S
from tests.sdk.extraction.answers import item
from tests.sdk.extraction.models import EXTRACTION, inline, memories_of, open_client
from tests.sdk.extraction.steps import CAPTION, SHORTENING, StepLlm, shown
from tests.sdk.images.pictures import picture
from tests.sdk.search.stores import Clock

Opened = tuple[OracleAgentMemory, SQLMemoryStore]
OWNERS: dict[str, Any] = {"thread_id": "t1", "user_id": "u1", "agent_id": "a1"}
#: Each message teaches by itself; nothing else is asked for.
EACH = inline(
    enable_context_summary=False, memory_extraction_window=3, memory_extraction_frequency=1
)
BACKGROUND = replace(EACH, extraction_mode=MemoryExtractionMode.BACKGROUND)
LONG = "I like pizza with olives. " * 40


@pytest.fixture
def llm() -> StepLlm:
    return StepLlm()


@pytest.fixture
def opened(tmp_path: Path, llm: StepLlm) -> Iterator[Opened]:
    with open_client(tmp_path / "memory.sqlite3", llm, EACH) as both:
        yield both
        llm.may_answer.set()


@pytest.fixture
def client(opened: Opened) -> OracleAgentMemory:
    return opened[0]


@pytest.fixture
def store(opened: Opened) -> SQLMemoryStore:
    return opened[1]


@pytest.fixture
def thread(client: OracleAgentMemory) -> OracleThread:
    return client.create_thread(**OWNERS)


def tell(*texts: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, **more} for text in texts]


def said(memories: list[MemoryRecord]) -> list[str]:
    return [str(one.content) for one in memories]


# -- long messages ------------------------------------------------------------------------------


def test_r019_r020_extraction_sees_a_models_short_copy_and_the_message_stays(
    client: OracleAgentMemory, store: SQLMemoryStore, llm: StepLlm
) -> None:
    thread = client.create_thread(
        **OWNERS, max_message_token_length=50, message_shortening_input_token_limit=100
    )
    llm.answers[SHORTENING] = ["likes pizza, in short"]
    (message_id,) = thread.add_messages(tell(LONG))
    (asked,) = llm.told(SHORTENING)
    # As much of it as the limit lets through, about 3.5 characters a token.
    assert len(asked) < 400 < len(LONG)
    assert [shown(one, "new_messages") for one in llm.told(EXTRACTION)] == [
        ["likes pizza, in short"]
    ]
    assert said(memories_of(store, thread)) == ["likes pizza, in short"]
    assert thread.get_message(message_id).content == LONG
    (row,) = store.list_thread_messages("t1")
    assert row.content == LONG


@pytest.mark.parametrize("limit", [0, -1])
def test_r020_a_limit_of_zero_or_less_shortens_nothing(
    limit: int, client: OracleAgentMemory, llm: StepLlm
) -> None:
    thread = client.create_thread(**OWNERS, max_message_token_length=limit)
    thread.add_messages(tell(LONG))
    assert llm.steps == [EXTRACTION]
    assert shown(llm.told(EXTRACTION)[0], "new_messages") == [LONG.strip()]


# -- adding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [EACH, BACKGROUND], ids=["inline", "background"])
def test_r022_messages_are_stored_before_a_model_is_asked_and_stay_when_it_fails(
    config: MemoryExtractionConfig, client: OracleAgentMemory, store: SQLMemoryStore, llm: StepLlm
) -> None:
    thread = client.create_thread(**OWNERS, memory_extraction_config=config)
    stored: list[list[Any]] = []

    def fail(told: str) -> Exception:
        stored.append([one.content for one in store.list_thread_messages("t1")])
        return ValueError("no model today")

    llm.answers[EXTRACTION] = [fail]
    if config is EACH:
        with pytest.raises(ValueError, match="no model today"):
            thread.add_messages(tell("one"))
    else:
        thread.add_messages(tell("one"))
        client.wait_for_memory_extraction(LONG_S)
    assert stored == [["one"]]
    assert [one.content for one in thread.get_messages()] == ["one"]
    assert memories_of(store, thread) == []
    (result,) = thread.extraction_results()
    assert (result.state, result.problems[0].step) == ("failed", "extraction")


def test_r023_ids_come_in_order_while_background_work_still_runs(
    client: OracleAgentMemory, store: SQLMemoryStore, llm: StepLlm
) -> None:
    thread = client.create_thread(**OWNERS, memory_extraction_config=BACKGROUND)
    llm.may_answer.clear()
    ids = thread.add_messages(tell("one", "two", "three"))
    assert [thread.get_message(one).content for one in ids] == ["one", "two", "three"]
    assert memories_of(store, thread) == []
    llm.may_answer.set()
    thread.wait_for_memory_extraction(LONG_S)
    assert sorted(said(memories_of(store, thread))) == ["one", "three", "two"]


# -- deleting and editing -----------------------------------------------------------------------


def test_r026_what_a_message_taught_outlives_it(
    client: OracleAgentMemory, store: SQLMemoryStore, thread: OracleThread, llm: StepLlm
) -> None:
    (message_id,) = thread.add_messages(tell("likes pizza"))
    (memory,) = memories_of(store, thread)
    assert thread.delete_message(message_id) == 1
    assert store.list_thread_messages("t1") == []
    assert memories_of(store, thread) == [memory]
    found = client.search("pizza", user_id="u1", record_types=["fact"])
    assert [one.id for one in found] == [memory.id]
    llm.answers[EXTRACTION] = [{"memories": []}]
    thread.add_messages(tell("what about pizza?"))
    assert memory.id in [one.id for one in thread.get_context_card().relevant_results or ()]


def test_r030_an_edit_teaches_before_it_returns_with_what_came_before_as_context(
    store: SQLMemoryStore, thread: OracleThread, llm: StepLlm
) -> None:
    _, second, _ = thread.add_messages(tell("one", "two", "three"))
    llm.asked.clear()
    thread.update_message(second, "two, edited")
    (asked,) = llm.told(EXTRACTION)
    assert shown(asked, "new_messages") == ["two, edited"]
    assert shown(asked, "earlier_messages") == ["one"]
    assert said(memories_of(store, thread)) == ["one", "two", "three", "two, edited"]
    newest = memories_of(store, thread)[-1].id
    (source,) = store.memory_sources([newest])[newest]
    assert source.message_id == second


def test_r030_an_edit_in_the_background_returns_before_it_has_taught(
    client: OracleAgentMemory, store: SQLMemoryStore, llm: StepLlm
) -> None:
    thread = client.create_thread(**OWNERS, memory_extraction_config=BACKGROUND)
    (message_id,) = thread.add_messages(tell("one"))
    thread.wait_for_memory_extraction(LONG_S)
    llm.may_answer.clear()
    thread.update_message(message_id, "one, edited")
    assert thread.get_message(message_id).content == "one, edited"
    assert said(memories_of(store, thread)) == ["one"]
    llm.may_answer.set()
    thread.wait_for_memory_extraction(LONG_S)
    assert said(memories_of(store, thread)) == ["one", "one, edited"]


def test_r030_other_changes_of_a_message_teach_nothing(thread: OracleThread, llm: StepLlm) -> None:
    (message_id,) = thread.add_messages(tell("one"))
    llm.asked.clear()
    thread.update_message(message_id, metadata={"a": 1})
    thread.update_message(message_id, ttl_days=3)
    thread.update_message(message_id)
    assert llm.asked == []


@pytest.mark.parametrize("config", [EACH, BACKGROUND], ids=["inline", "background"])
def test_r031_an_edit_does_not_count_for_the_frequency(
    config: MemoryExtractionConfig, client: OracleAgentMemory, llm: StepLlm
) -> None:
    thread = client.create_thread(
        **OWNERS, memory_extraction_config=replace(config, memory_extraction_frequency=3)
    )
    first, _ = thread.add_messages(tell("one", "two"))
    assert llm.told(EXTRACTION) == []
    for _ in range(2):
        thread.update_message(first, "one, edited")
        thread.wait_for_memory_extraction(LONG_S)
    assert [shown(one, "new_messages") for one in llm.told(EXTRACTION)] == [["one, edited"]] * 2
    thread.add_messages(tell("three", "four"))
    thread.wait_for_memory_extraction(LONG_S)
    # The third message is due, whatever was edited, and the fourth is not.
    assert [shown(one, "new_messages") for one in llm.told(EXTRACTION)[2:]] == [
        ["one, edited", "two", "three"]
    ]


def test_r032_an_edit_leaves_what_was_learnt_as_it_was(
    store: SQLMemoryStore, thread: OracleThread, llm: StepLlm
) -> None:
    (message_id,) = thread.add_messages(tell("likes pizza"))
    (before,) = memories_of(store, thread)
    sources = store.memory_sources([before.id])
    llm.answers[EXTRACTION] = [{"memories": [item("likes pasta"), item("lives in Lyon")]}]
    thread.update_message(message_id, "I like pasta and live in Lyon")
    first, *added = memories_of(store, thread)
    assert first == before
    assert store.memory_sources([before.id]) == sources
    assert said(added) == ["likes pasta", "lives in Lyon"]


@pytest.mark.parametrize("days", [1, 9])
def test_r033_what_was_learnt_expires_when_it_was_to(
    days: int, store: SQLMemoryStore, thread: OracleThread
) -> None:
    clock = store.engine.clock = Clock()
    (message_id,) = thread.add_messages(tell("likes pizza"), ttl_days=2)
    (memory,) = memories_of(store, thread)
    thread.update_message(message_id, ttl_days=days)
    clock.pass_days(1.5)
    assert [one.id for one in thread.get_messages()] == ([message_id] if days == 9 else [])
    assert memories_of(store, thread) == [memory]
    clock.pass_days(1)
    assert [one.id for one in thread.get_messages()] == ([message_id] if days == 9 else [])
    assert memories_of(store, thread) == []


# -- images -------------------------------------------------------------------------------------


def with_image(description: str | None) -> list[dict[str, Any]]:
    image = {"type": "image", "mime_type": "image/png", "bytes": picture("PNG")}
    part = image if description is None else {**image, "description": description}
    return tell([{"type": "text", "text": "look"}, part])


def test_r076_images_are_described_though_nothing_is_extracted_from_them(
    client: OracleAgentMemory, store: SQLMemoryStore, llm: StepLlm
) -> None:
    off = inline(
        extract_memories=False,
        memory_extraction_image_context=MemoryExtractionImageContext.DISABLED,
        enable_context_summary=False,
    )
    client.create_thread(**OWNERS, memory_extraction_config=off).add_messages(with_image(None))
    assert llm.steps == [CAPTION]
    assert [one.content for one in store.list("image", limit=None)] == ["A red car."]


CAPTIONS = inline(
    memory_extraction_image_context=MemoryExtractionImageContext.CAPTION,
    enable_context_summary=False,
    memory_extraction_frequency=1,
)


@pytest.mark.parametrize(("given", "seen"), [(None, "A red car."), ("a cat", "a cat")])
def test_r077_extraction_reads_descriptions_in_place_of_images(
    given: str | None, seen: str, client: OracleAgentMemory, llm: StepLlm
) -> None:
    thread = client.create_thread(**OWNERS, memory_extraction_config=CAPTIONS)
    thread.add_messages(with_image(given))
    (asked,) = llm.told(EXTRACTION)
    assert shown(asked, "new_messages") == [f"look [Image description: {seen}]"]


def test_r077_nothing_is_extracted_where_an_image_has_no_description(
    client: OracleAgentMemory, store: SQLMemoryStore, llm: StepLlm
) -> None:
    thread = client.create_thread(**OWNERS, memory_extraction_config=CAPTIONS)
    llm.answers[CAPTION] = [ValueError("cannot see")]
    with pytest.raises(ValueError, match="cannot see"):
        thread.add_messages(with_image(None))
    with pytest.raises(InvalidInputError, match="has no description"):
        thread.add_messages(with_image(" "))
    assert llm.told(EXTRACTION) == []
    assert memories_of(store, thread) == []
    assert len(thread.get_messages()) == 2


def test_r077_the_memory_context_is_refused(client: OracleAgentMemory) -> None:
    memory = inline(memory_extraction_image_context=MemoryExtractionImageContext.MEMORY)
    with pytest.raises(ValueError, match="MEMORY"):
        client.create_thread(**OWNERS, memory_extraction_config=memory)
