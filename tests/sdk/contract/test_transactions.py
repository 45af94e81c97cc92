"""Prepare and write: what is one transaction, and what may not happen inside one."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import NotFoundError, StateError
from oracleagentmemory.storage.writes import Prepared
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import WordEmbedder


def test_several_changes_are_one_transaction(store: SQLMemoryStore) -> None:
    thread = store.prepare_create_thread("t1", user_id="u1", agent_id="a1")
    memory = store.prepare_add(["red"], "memory", record_ids="m1", thread_ids="t1")
    update = store.prepare_update("memory", "m1", content="blue")

    assert store.write_all([thread, memory, update]) == ["t1", ["m1"], 1]
    assert [one.content for one in store.list("memory")] == ["blue"]
    check_agreement(store)


def test_a_failure_in_the_middle_leaves_nothing(store: SQLMemoryStore) -> None:
    before = everything(store)
    good = store.prepare_add(["red"], "memory", record_ids="m1")
    lost = store.prepare_add(["blue"], "memory", thread_ids="nowhere")

    with pytest.raises(NotFoundError):
        store.write_all([good, lost])
    assert everything(store) == before
    assert store.search("red", 3) == []


def test_a_change_can_be_written_again_after_a_rollback(store: SQLMemoryStore) -> None:
    prepared = store.prepare_add(["red car"], "memory", record_ids="m1")

    def fail(_: object) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        store.write_all([prepared, Prepared(fail)])
    assert store.write(prepared) == ["m1"]
    assert [one.id for one, _ in store.search("red", 1)] == ["m1"]
    check_agreement(store)


def test_a_result_can_be_mapped(store: SQLMemoryStore) -> None:
    prepared = store.prepare_add(["red"], "memory", record_ids="m1").map(lambda ids: ids[0])
    assert store.write(prepared) == "m1"


def test_writes_inside_a_write_join_it(store: SQLMemoryStore) -> None:
    outer = store.prepare_add(["red"], "memory", record_ids="m1")
    inner = store.prepare_update("memory", "m1", content="blue")

    def both(transaction: Any) -> int:
        outer.apply(transaction)
        assert store.get_memory("m1") is not None, "reads see what their transaction wrote"
        return store.write(inner)

    assert store.write(Prepared(both)) == 1
    assert [one.content for one in store.list("memory")] == ["blue"]


def test_nothing_is_embedded_while_a_write_transaction_is_open(
    store: SQLMemoryStore, embedder: WordEmbedder
) -> None:
    store.add(["red"], "memory", record_ids="m1")
    embedder.embedded.clear()
    calls = {
        "add": lambda: store.add(["blue"], "memory"),
        "update": lambda: store.update("memory", "m1", content="blue"),
        "search": lambda: store.search("red", 1),
    }
    with store.engine.write():
        for name, call in calls.items():
            with pytest.raises(StateError, match="prepare_"):
                call()
            assert embedder.embedded == [], name


def test_the_lock_is_not_held_while_texts_are_embedded(
    store: SQLMemoryStore, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[bool] = []
    original = embedder.embed

    def watched(texts: list[str], *, is_query: bool = False) -> Any:
        seen.append(store.engine.in_transaction)
        return original(texts, is_query=is_query)

    monkeypatch.setattr(embedder, "embed", watched)
    make_thread(store)
    store.add(["red"], "memory", record_ids="m1", thread_ids="t1")
    store.update("memory", "m1", content="blue")
    store.add_user("u1", "sea")
    store.search("red", 1)
    assert seen == [False] * 4


def test_a_read_cannot_turn_into_a_write(store: SQLMemoryStore) -> None:
    table = store.tables.thread
    for statement in (sa.delete(table), sa.update(table).values(user_id="x")):
        with store.engine.read() as connection, pytest.raises(StateError, match="write"):
            connection.execute(statement)


def test_order_numbers_are_never_used_again(store: SQLMemoryStore) -> None:
    make_thread(store)
    seen: list[int] = []
    for at in range(5):
        store.add(["red"], "message", record_ids=f"n{at}", roles="user", thread_ids="t1")
        (message,) = store.list_thread_messages("t1")
        seen.append(message.seq_no)
        chunk_ids = [one.chunk_id for one in rows_of(store, store.tables.record_chunks)]
        seen += [] if store.engine.dialect_name == "oracle" else chunk_ids
        store.delete("message", f"n{at}")
    assert len(set(seen)) == len(seen)
    assert seen == sorted(seen)


def test_a_repeated_call_compiles_nothing(
    store: SQLMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements are built once: building them per call would halve the speed of writes."""
    make_thread(store)
    compiled: list[str] = []
    original = sa.ClauseElement._compiler

    def counted(statement: Any, dialect: Any, **options: Any) -> Any:
        compiled.append(type(statement).__name__)
        return original(statement, dialect, **options)

    def round_of_calls(name: str) -> None:
        store.add(["red", "blue"], "memory", record_ids=[name, f"{name}2"], thread_ids="t1",
                  user_ids="u1", metadata={"a": name})  # fmt: skip
        store.add(["red"], "message", record_ids=name, roles="user", thread_ids="t1")
        store.get("memory", name)
        store.list("memory", user_id="u1", limit=3, metadata_filter={"a": 1})
        store.list_memories(agent_id=None, limit=9)
        store.list_thread_messages("t1", last_n=2)
        store.thread_window("t1", 0, 1)
        store.update("memory", name, content="sea", metadata=None)
        store.update("message", name, content=name)
        store.search("red", 2, user_id="u1", exact_user_match=True, metadata_filter={"a": 1})
        store.delete("memory", name)
        store.purge_expired()

    # The second round follows changes where the first read scopes as a whole.
    round_of_calls("first")
    round_of_calls("second")
    monkeypatch.setattr(sa.ClauseElement, "_compiler", counted)
    round_of_calls("third")
    assert compiled == []
    store.list("memory", limit=1, thread_id=None)
    assert compiled, "a new shape compiles, or this test sees nothing"


def test_the_async_twins_refuse_an_open_transaction(store: SQLMemoryStore) -> None:
    import asyncio

    async def inside() -> None:
        with store.engine.write():
            await store.add_async(["red"], record_type="memory")

    with pytest.raises(StateError, match=r"call add\(\) here"):
        asyncio.run(inside())
    assert asyncio.run(store.add_async(["red"], "memory", record_ids="m1")) == ["m1"]
    assert asyncio.run(store.get_async("memory", "m1")) == store.get("memory", "m1")
