"""What becomes of an extraction when its records change while the model thinks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import ILlm, LlmResponse, RecordStatus
from oracleagentmemory.core import MemoryExtractionConfig, MemoryExtractionMode, OracleAgentMemory
from oracleagentmemory.core.extractors.jobs import ExtractionJob, Window
from oracleagentmemory.core.extractors.runner import ExtractionRunner
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from tests.sdk.extraction.answers import LYON, TEA, item
from tests.sdk.extraction.models import EXTRACTION, LINKS, inline, memories_of, open_client
from tests.sdk.search.stores import Clock

OWNERS = {"thread_id": "t1", "user_id": "u1", "agent_id": "a1"}
CONFIG = inline(enable_context_summary=False)


class ThinkingLlm(ILlm):
    """Answers each step with a JSON value, and does something while it thinks."""

    def __init__(self) -> None:
        self.memories: list[Any] = [TEA]
        self.links: Any = {}
        self.meanwhile: dict[str, Callable[[], object]] = {}
        self.asked: list[str] = []

    def generate(
        self, prompt: Any, *, response_json_schema: Any = None, **kwargs: Any
    ) -> LlmResponse:
        """Do what is to be done once, then answer."""
        told = prompt[-1]["content"]
        step = next((one for one in (EXTRACTION, LINKS) if one in told), "")
        self.asked.append(step)
        self.meanwhile.pop(step, lambda: None)()
        answer = {"memories": self.memories} if step == EXTRACTION else self.links
        return LlmResponse(json.dumps(answer))


@pytest.fixture
def llm() -> ThinkingLlm:
    return ThinkingLlm()


@pytest.fixture
def opened(tmp_path: Path, llm: ThinkingLlm) -> Iterator[tuple[OracleAgentMemory, SQLMemoryStore]]:
    with open_client(tmp_path / "memory.sqlite3", llm, CONFIG) as both:
        yield both


@pytest.fixture
def store(opened: tuple[OracleAgentMemory, SQLMemoryStore]) -> SQLMemoryStore:
    return opened[1]


@pytest.fixture
def thread(opened: tuple[OracleAgentMemory, SQLMemoryStore]) -> OracleThread:
    return opened[0].create_thread(**OWNERS)


def tell(*texts: str, **more: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, "id": text, **more} for text in texts]


def sources_of(store: SQLMemoryStore, memory_id: str) -> list[str]:
    return [one.message_id for one in store.memory_sources([memory_id])[memory_id]]


# -- what the memories come from ----------------------------------------------------------------


GONE = {
    "message": ("message", "one", {}),
    "thread": ("thread", "t1", {}),
    "user": ("user_profile", "u1", {"cascade": True}),
    "agent": ("agent_profile", "a1", {"cascade": True}),
}


@pytest.mark.parametrize("kind", GONE)
def test_nothing_is_stored_for_messages_that_are_gone(
    kind: str, llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    record_type, record_id, options = GONE[kind]
    llm.meanwhile[EXTRACTION] = lambda: store.delete(record_type, record_id, **options)
    thread.add_messages(tell("one"))
    assert store.list_memories(limit=None) == []
    assert store.list("message", limit=None) == []
    (result,) = thread.extraction_results()
    assert result.memory_ids == ()
    # The model's answer is not silently thrown away.
    assert result.state == "partial"
    assert any("gone" in one.reason for one in result.problems), result.problems


def test_memories_name_the_messages_that_are_left(
    llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    llm.meanwhile[EXTRACTION] = lambda: store.delete("message", "one")
    thread.add_messages(tell("one", "two"))
    (memory,) = memories_of(store, thread)
    assert sources_of(store, memory.id) == ["two"]


def test_an_edited_message_stays_the_source_and_keeps_its_edit(
    llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    llm.meanwhile[EXTRACTION] = lambda: store.update("message", "one", content="changed")
    thread.add_messages(tell("one"))
    (memory,) = memories_of(store, thread)
    assert sources_of(store, memory.id) == ["one"]
    assert thread.get_message("one").content == "changed"


def test_messages_that_expire_while_the_model_thinks_teach_nothing(
    llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    clock = store.engine.clock = Clock()
    llm.meanwhile[EXTRACTION] = lambda: clock.pass_days(2)
    thread.add_messages(tell("one"), ttl_days=1)
    assert thread.get_messages() == []
    assert store.list_memories(limit=None) == []


@pytest.mark.parametrize("days", [-400, 400])
def test_a_clock_that_jumps_loses_nothing(
    days: int, llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    clock = store.engine.clock = Clock()

    def jump() -> None:
        clock.now += timedelta(days=days)

    llm.meanwhile[EXTRACTION] = jump
    thread.add_messages(tell("one"))
    llm.memories = [TEA, LYON]
    thread.add_messages(tell("two"))
    memories = memories_of(store, thread)
    assert [one.content for one in memories] == ["drinks tea", "lives in Lyon"]
    assert sources_of(store, memories[0].id) == ["one", "two"]
    assert [one.content for one in thread.get_messages()] == ["one", "two"]


# -- what they are equal or linked to -----------------------------------------------------------


def test_an_equal_memory_that_comes_meanwhile_is_kept_alone(
    llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    def add() -> None:
        thread.add_memory(
            "Drinks tea.", memory_id="mine", memory_type="preference", autonomous_linking=False
        )

    llm.meanwhile[EXTRACTION] = add
    thread.add_messages(tell("one"))
    assert [one.id for one in memories_of(store, thread)] == ["mine"]
    assert sources_of(store, "mine") == ["one"]


@pytest.mark.parametrize("kind", ["delete", "invalid", "text"])
def test_an_equal_memory_that_goes_meanwhile_is_replaced(
    kind: str, llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    thread.add_messages(tell("one"))
    (first,) = memories_of(store, thread)

    def go() -> None:
        if kind == "delete":
            store.delete("preference", first.id)
        elif kind == "invalid":
            store.update("preference", first.id, status=RecordStatus.INVALID)
        else:
            store.update("preference", first.id, content="drinks coffee")

    llm.meanwhile[EXTRACTION] = go
    thread.add_messages(tell("two"))
    valid = [one for one in memories_of(store, thread) if one.status is RecordStatus.VALID]
    said = {one.content: sources_of(store, one.id) for one in valid}
    assert said["drinks tea"] == ["two"]


def test_a_memory_that_was_to_be_linked_to_is_gone(
    llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    thread.add_memory("drinks tea", memory_id="old", autonomous_linking=False)
    llm.memories = [item("drinks green tea")]
    llm.links = {"links": [{"target_memory_id": "old", "link_type": "refines"}]}
    llm.meanwhile[LINKS] = lambda: store.delete("memory", "old")
    thread.add_messages(tell("one"))
    assert [one.content for one in memories_of(store, thread)] == ["drinks green tea"]
    assert store.list_relations(limit=None) == []
    (result,) = thread.extraction_results()
    assert (result.state, [one.step for one in result.problems]) == ("partial", ["links"])


def test_a_new_memory_that_is_deleted_before_its_links_stays_deleted(
    llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    thread.add_memory("drinks tea", memory_id="old", autonomous_linking=False)
    llm.memories = [item("drinks green tea")]
    link = {"target_memory_id": "old", "link_type": "supersedes"}
    llm.links = {"links": [link], "updated_source_memory_text": "drinks tea, the green one"}

    def delete_new() -> None:
        (new,) = [one for one in memories_of(store, thread) if one.id != "old"]
        store.delete("fact", new.id)

    llm.meanwhile[LINKS] = delete_new
    thread.add_messages(tell("one"))
    (left,) = memories_of(store, thread)
    assert (left.id, left.status) == ("old", RecordStatus.VALID)
    (result,) = thread.extraction_results()
    assert [one.step for one in result.problems] == ["links"]


def test_a_text_that_somebody_changed_meanwhile_is_not_merged_over(
    llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    thread.add_memory("drinks tea", memory_id="old", autonomous_linking=False)
    llm.memories = [item("drinks green tea")]
    link = {"target_memory_id": "old", "link_type": "supersedes"}
    llm.links = {"links": [link], "updated_source_memory_text": "drinks tea, the green one"}

    def change() -> None:
        (new,) = [one for one in memories_of(store, thread) if one.id != "old"]
        store.update("fact", new.id, content="mine")

    llm.meanwhile[LINKS] = change
    thread.add_messages(tell("one"))
    said = {one.content: one.status for one in memories_of(store, thread)}
    assert said == {"drinks tea": RecordStatus.INVALID, "mine": RecordStatus.VALID}
    (result,) = thread.extraction_results()
    (problem,) = result.problems
    assert problem.raw == "drinks tea, the green one"


# -- at once ------------------------------------------------------------------------------------


def test_many_callers_of_one_thread_store_a_text_once(
    llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    llm.memories = [TEA, LYON]
    start = threading.Barrier(8)

    def call(number: int) -> None:
        start.wait()
        for n in range(5):
            thread.add_messages(tell(f"{number}-{n}"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(8)))
    memories = memories_of(store, thread)
    assert sorted(str(one.content) for one in memories) == ["drinks tea", "lives in Lyon"]
    said = {f"{number}-{n}" for number in range(8) for n in range(5)}
    assert all(set(sources_of(store, one.id)) == said for one in memories)
    assert {one.state for one in thread.extraction_results()} == {"succeeded"}


def test_one_job_that_runs_in_many_places_has_one_effect(
    llm: ThinkingLlm, store: SQLMemoryStore, thread: OracleThread
) -> None:
    thread.add_memory("drinks tea", memory_id="old", autonomous_linking=False)
    before = thread.add_messages(tell("one"))
    store.delete("preference", memories_of(store, thread)[-1].id)
    llm.memories = [item("drinks green tea"), LYON]
    llm.links = {"links": [{"target_memory_id": "old", "link_type": "supports"}]}
    settings = {"memory_extraction_config": {"enable_context_summary": False}}
    job = ExtractionJob(
        job_id="j1",
        kind="messages",
        message_ids=tuple(before),
        windows=(Window(tuple(before)),),
        settings=settings,
        **OWNERS,
    )
    start = threading.Barrier(4)

    def run(_: int) -> tuple[str, ...]:
        start.wait()
        return ExtractionRunner(store).run(job, llm).memory_ids

    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(run, range(4)))
    assert len(ids) == 1
    memories = [one for one in memories_of(store, thread) if one.id != "old"]
    assert sorted(str(one.content) for one in memories) == ["drinks green tea", "lives in Lyon"]
    assert len(store.list_relations(limit=None)) <= 1
    assert all(sources_of(store, one.id) == ["one"] for one in memories)


def test_a_deletion_waits_for_the_work_that_is_under_way(
    llm: ThinkingLlm,
    store: SQLMemoryStore,
    opened: tuple[OracleAgentMemory, SQLMemoryStore],
) -> None:
    background = MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.BACKGROUND)
    thread = opened[0].create_thread(**OWNERS, memory_extraction_config=background)
    thinking, done = threading.Event(), threading.Event()

    def think() -> None:
        thinking.set()
        assert done.wait(20)

    llm.meanwhile[EXTRACTION] = think
    thread.add_messages(tell("one"))
    assert thinking.wait(20)
    with ThreadPoolExecutor(1) as pool:
        deleting = pool.submit(opened[0].delete_thread, "t1")
        assert store.get("thread", "t1") is not None
        done.set()
        assert deleting.result(20) == 1
    assert store.list_memories(limit=None) == []
    assert store.list("message", limit=None) == []
