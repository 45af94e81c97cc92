"""A whole store on Django's connection: what a service does, and what it must not do.

On Oracle the statements run on the recording driver; a second session's locks need a live
database.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from oracleagentmemory.core import OracleDBMemoryStore, SchemaPolicy, SQLiteMemoryStore
from oracleagentmemory.errors import ConflictError, DuplicateIdError, StateError
from oracleagentmemory.storage.writes import Prepared
from tests.joined.conftest import Joined
from tests.joined.test_transactions import undone
from tests.sdk.search.stores import WordEmbedder

Store = SQLiteMemoryStore | OracleDBMemoryStore


def open_store(
    database: Joined,
    policy: SchemaPolicy = SchemaPolicy.CREATE_IF_NECESSARY,
    memory_store_id: str | None = None,
) -> Store:
    """Open a store on Django's connection, of the kind that the database asks for."""
    options: dict[str, Any] = {"schema_policy": policy}
    if memory_store_id is not None:
        options["memory_store_id"] = memory_store_id
    if database.recorder is None:
        return SQLiteMemoryStore(engine=database.engine, embedder=WordEmbedder(), **options)
    return OracleDBMemoryStore(WordEmbedder(), database.engine, **options)


@pytest.fixture
def store(database: Joined) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


def rows_of(database: Joined) -> dict[str, list[tuple[object, ...]]]:
    """Return every row of every table as it is committed in the file."""
    with closing(sqlite3.connect(database.path)) as raw:
        names = raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: raw.execute(f'SELECT * FROM "{name}"').fetchall()
            for (name,) in names
            if "_x_text_" not in name and not name.startswith("x_text_")
        }


def found(store: Store, query: str) -> list[str]:
    """Return what a search by vector finds; a text could not be embedded inside a block."""
    (vector,) = WordEmbedder().embed([query]).tolist()
    hits = store.search(None, 20, query_vector=vector, user_id="ada", exact_user_match=True)
    return sorted(record.id for record, _ in hits)


def prepare(store: Store, record_id: str, text: str = "red car") -> Prepared[list[str]]:
    return store.prepare_add([text], "fact", record_ids=[record_id], user_ids="ada")


def test_a_service_writes_memory_and_audit_in_one_transaction(
    database: Joined, store: Store
) -> None:
    prepared = prepare(store, "m1")
    with transaction.atomic(using=database.alias):
        assert store.write(prepared) == ["m1"]
        database.add_note("added m1")
    assert (found(store, "car"), database.notes()) == (["m1"], ["added m1"])


def test_a_rolled_back_service_leaves_no_row_anywhere(database: Joined, store: Store) -> None:
    store.add(["blue sea"], "fact", record_ids=["kept"], user_ids="ada")
    before = rows_of(database)
    changes = [
        prepare(store, "gone"),
        store.prepare_update("fact", "kept", content="red car"),
        store.prepare_delete("fact", "kept"),
    ]
    with undone(transaction.atomic(using=database.alias)):
        store.write_all(changes)
        database.add_note("never")
    assert rows_of(database) == before
    assert found(store, "sea") == ["kept"]


def test_a_rolled_back_write_leaves_no_trace_in_the_search(database: Joined, store: Store) -> None:
    first = [prepare(store, f"first{number}", "red car") for number in range(3)]
    gone = [prepare(store, f"gone{number}", "green tree") for number in range(3)]
    store.write_all(first)
    assert len(found(store, "car")) == 3
    with undone(transaction.atomic(using=database.alias)):
        store.write_all(gone)
        # The block's own search sees its rows; what it built must not outlive the block.
        assert len(found(store, "tree")) == 6
    later = [prepare(store, f"later{number}", "blue sea") for number in range(4)]
    store.write_all(later)
    assert found(store, "sea") == sorted(
        [f"first{number}" for number in range(3)] + [f"later{number}" for number in range(4)]
    )


def test_the_same_holds_when_the_block_is_undone_and_its_numbers_come_again(
    database: Joined, store: Store
) -> None:
    for word in ("tree", "boat", "sky"):
        gone = [prepare(store, f"{word}{number}", f"green {word}") for number in range(2)]
        with undone(transaction.atomic(using=database.alias)):
            store.write_all(gone)
            found(store, word)
        store.write(prepare(store, f"kept-{word}", word))
    assert found(store, "sky") == ["kept-boat", "kept-sky", "kept-tree"]


def test_embedding_inside_a_block_is_refused_before_anything_is_written(
    database: Joined, store: Store
) -> None:
    before = rows_of(database)
    with transaction.atomic(using=database.alias):
        with pytest.raises(StateError, match="prepare_"):
            store.add(["red car"], "fact", user_ids="ada")
        database.add_note("the block goes on")
    assert database.notes() == ["the block goes on"]
    del before["joined_note"]
    assert {name: rows for name, rows in rows_of(database).items() if name in before} == before


def test_an_async_twin_inside_a_block_is_refused_and_names_the_method(
    database: Joined, store: Store
) -> None:
    async def call() -> None:
        await store.delete_async("fact", "m1")

    with transaction.atomic(using=database.alias), pytest.raises(StateError, match=r"delete\(\)"):
        asyncio.run(call())


def test_an_async_twin_outside_a_block_works_and_its_thread_closes_what_it_opened(
    database: Joined, store: Store
) -> None:
    opened: list[BaseDatabaseWrapper] = []

    def remember(connection: BaseDatabaseWrapper, **_: object) -> None:
        opened.append(connection)

    async def call() -> list[str]:
        return await store.add_async(["red car"], "fact", record_ids=["m1"], user_ids="ada")

    connection_created.connect(remember)
    try:
        assert asyncio.run(call()) == ["m1"]
    finally:
        connection_created.disconnect(remember)
    assert [connection.connection for connection in opened] == [None]
    assert found(store, "car") == ["m1"]


def test_errors_of_the_store_leave_the_block_usable(database: Joined, store: Store) -> None:
    store.write(prepare(store, "m1"))
    again, other = prepare(store, "m1"), prepare(store, "m2", "blue boat")
    with transaction.atomic(using=database.alias):
        with pytest.raises(DuplicateIdError):
            store.write(again)
        with pytest.raises(ConflictError):
            store.delete("fact", "m1", if_fingerprint="0" * 64)
        store.write(other)
        database.add_note("m2")
    assert (found(store, "boat"), database.notes()) == (["m1", "m2"], ["m2"])


def test_another_threads_write_is_found_and_leaves_no_connection(
    database: Joined, store: Store
) -> None:
    assert found(store, "car") == []

    def write() -> object:
        try:
            store.add(["red car"], "fact", record_ids=["m1"], user_ids="ada")
            return connections[database.alias].connection
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(write).result() is not None
    assert found(store, "car") == ["m1"]


@pytest.mark.parametrize(
    "policy",
    [SchemaPolicy.CREATE_IF_NECESSARY, SchemaPolicy.CREATE_IF_EMPTY, SchemaPolicy.RECREATE],
)
def test_a_schema_is_neither_made_nor_dropped_inside_a_block(
    database: Joined, policy: SchemaPolicy
) -> None:
    before = rows_of(database)
    with transaction.atomic(using=database.alias), pytest.raises(StateError, match="transaction"):
        open_store(database, policy, "inside")
    assert rows_of(database) == before
