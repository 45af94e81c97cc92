"""Waiting, closing and deleting while a model thinks, and whose model a thread is taught by."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory._threaded import DEFAULT_POOL_SIZE
from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory, SQLiteMemoryStore
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from tests.sdk.client.conftest import WordEmbedder
from tests.sdk.client.jobs import LONG_S
from tests.sdk.extraction.models import EXTRACTION
from tests.sdk.extraction.steps import StepLlm

OWNERS: dict[str, Any] = {"thread_id": "t1", "user_id": "u1", "agent_id": "a1"}
CONFIG = MemoryExtractionConfig(enable_context_summary=False)


def tell(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, "id": text} for text in texts]


def learnt(store: SQLMemoryStore) -> list[str | None]:
    return [one.content for one in store.list_memories(limit=None)]


@pytest.fixture
def llm() -> Iterator[StepLlm]:
    """A model that thinks until it is let."""
    llm = StepLlm()
    llm.may_answer.clear()
    yield llm
    llm.may_answer.set()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteMemoryStore]:
    store = SQLiteMemoryStore(tmp_path / "memory.sqlite3", embedder=WordEmbedder())
    yield store
    store.close()


@pytest.fixture
def client(store: SQLiteMemoryStore, llm: StepLlm) -> Iterator[OracleAgentMemory]:
    client = OracleAgentMemory(store=store, llm=llm, memory_extraction_config=CONFIG)
    yield client
    llm.may_answer.set()
    client.close(LONG_S)


@pytest.fixture
def busy(client: OracleAgentMemory) -> OracleThread:
    """A thread with one message that the model thinks about, and two that wait for it."""
    client.add_user("u1", "likes pizza")
    client.add_agent("a1", "serves pizza")
    thread = client.create_thread(**OWNERS)
    for text in ("m1", "m2", "m3"):
        thread.add_messages(tell(text))
    return thread


# -- waiting -----------------------------------------------------------------------------------


def test_r128_more_waiters_than_pool_threads_keep_no_search_from_its_answer(
    client: OracleAgentMemory, busy: OracleThread, llm: StepLlm
) -> None:
    waiters: list[Any] = [busy, client] * (DEFAULT_POOL_SIZE // 2 + 1)

    async def main() -> list[str]:
        waits = [
            asyncio.ensure_future(waiter.wait_for_memory_extraction_async(LONG_S))
            for waiter in waiters
        ]
        assert len(waits) > DEFAULT_POOL_SIZE
        await asyncio.sleep(0)
        # The model has not answered: all wait on.
        found = await asyncio.wait_for(client.search_async("m2", user_id="u1"), LONG_S)
        assert not any(one.done() for one in waits)
        llm.may_answer.set()
        await asyncio.wait_for(asyncio.gather(*waits), LONG_S)
        return [str(one.content) for one in found]

    assert "m2" in asyncio.run(main())


# -- deleting ----------------------------------------------------------------------------------


DELETES: dict[str, tuple[Callable[[OracleAgentMemory, OracleThread], int], list[str]]] = {
    "thread": (lambda client, thread: client.delete_thread("t1"), []),
    "user": (lambda client, thread: client.delete_user("u1"), []),
    "agent": (lambda client, thread: client.delete_agent("a1"), []),
    # Only the message goes; what it has taught stays.
    "message": (lambda client, thread: thread.delete_message("m1"), ["m1", "m2", "m3"]),
}


@pytest.mark.parametrize("kind", DELETES)
def test_r129_a_delete_waits_until_the_model_has_answered_every_accepted_message(
    kind: str, client: OracleAgentMemory, busy: OracleThread, llm: StepLlm, store: SQLMemoryStore
) -> None:
    delete, left = DELETES[kind]
    counts: list[int] = []
    deleting = threading.Thread(target=lambda: counts.append(delete(client, busy)))
    deleting.start()
    deleting.join(0.05)
    assert deleting.is_alive()
    assert len(store.list("message", limit=None)) == 3
    llm.may_answer.set()
    deleting.join(LONG_S)
    assert counts == [1]
    # Nothing comes back after it.
    client.wait_for_memory_extraction(LONG_S)
    assert learnt(store) == left
    assert len(store.list("message", limit=None)) == (2 if kind == "message" else 0)


# -- closing -----------------------------------------------------------------------------------


def test_r131_closing_refuses_new_work_at_once_and_what_was_accepted_still_runs(
    client: OracleAgentMemory,
    busy: OracleThread,
    llm: StepLlm,
    store: SQLMemoryStore,
    caplog: pytest.LogCaptureFixture,
) -> None:
    client.close(0.01)
    assert "background work is unfinished" in caplog.text
    with pytest.raises(RuntimeError, match="closed"):
        busy.add_messages(tell("late"))
    with pytest.raises(RuntimeError, match="closed"):
        client.create_thread(thread_id="t2")
    assert [one.id for one in store.list("message", limit=None)] == ["m1", "m2", "m3"]
    assert [one.id for one in store.list("thread", limit=None)] == ["t1"]
    assert {one.content for one in client.search("m2", user_id="u1")} >= {"m2"}
    llm.may_answer.set()
    client.close(LONG_S)
    assert learnt(store) == ["m1", "m2", "m3"]
    assert [one.state for one in client.extraction_results()] == ["succeeded"] * 3


def test_r131_closing_waits_for_what_was_accepted(
    client: OracleAgentMemory, busy: OracleThread, llm: StepLlm, store: SQLMemoryStore
) -> None:
    closing = threading.Thread(target=client.close, args=(LONG_S,))
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    llm.may_answer.set()
    closing.join(LONG_S)
    assert not closing.is_alive()
    assert learnt(store) == ["m1", "m2", "m3"]


# -- models ------------------------------------------------------------------------------------


@pytest.fixture
def bare(store: SQLiteMemoryStore) -> Iterator[OracleAgentMemory]:
    """A client that has no model."""
    client = OracleAgentMemory(store=store, memory_extraction_config=CONFIG)
    yield client
    client.close(LONG_S)


def test_r010_a_threads_own_model_teaches_it_in_the_background(
    bare: OracleAgentMemory, store: SQLMemoryStore
) -> None:
    first, second, third = StepLlm(), StepLlm(), StepLlm()
    thread = bare.create_thread(**OWNERS, llm=first)
    thread.add_messages(tell("m1"))
    thread.wait_for_memory_extraction(LONG_S)
    assert learnt(store) == ["m1"]
    # It is not saved: who opens the thread again brings one.
    with pytest.raises(ValueError, match="llm"):
        bare.get_thread("t1")
    bare.get_thread("t1", llm=second).add_messages(tell("m2"))
    bare.update_thread("t1", llm=third, metadata={"k": 1}).add_messages(tell("m3"))
    thread.add_messages(tell("m4"))
    bare.wait_for_memory_extraction(LONG_S)
    assert learnt(store) == ["m1", "m2", "m3", "m4"]
    asked = [len(one.told(EXTRACTION)) for one in (first, second, third)]
    assert asked == [2, 1, 1]


def test_r010_each_waiting_message_is_taught_by_the_model_of_its_handle(
    bare: OracleAgentMemory, store: SQLMemoryStore, llm: StepLlm
) -> None:
    other = StepLlm()
    bare.create_thread(**OWNERS, llm=llm).add_messages(tell("m1"))
    bare.get_thread("t1", llm=other).add_messages(tell("m2"))
    assert other.asked == []
    llm.may_answer.set()
    bare.wait_for_memory_extraction(LONG_S)
    # In the order in which they came, though the second model thinks faster.
    assert learnt(store) == ["m1", "m2"]
    assert len(other.told(EXTRACTION)) == 1
