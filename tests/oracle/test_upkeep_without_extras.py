"""Dump, restore and check on a store of the reference that has no SDK-only tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from oracleagentmemory.core import OracleDBMemoryStore, SQLiteMemoryStore
from oracleagentmemory.errors import DuplicateIdError
from tests.oracle.test_without_extras import store as bare_store
from tests.sdk.contract.full_store import number_of
from tests.sdk.search.stores import ScopedWordEmbedder

bare = bare_store


@pytest.fixture
def whole(tmp_path: Path) -> Iterator[SQLiteMemoryStore]:
    path = tmp_path / "memory.sqlite3"
    with closing(SQLiteMemoryStore(path, embedder=ScopedWordEmbedder())) as store:
        yield store


def fill(store: OracleDBMemoryStore | SQLiteMemoryStore) -> None:
    store.write(store.prepare_create_thread("t1", user_id="u1", agent_id="a1"))
    store.add(["hello"], "message", record_ids="n1", thread_ids="t1", roles="user")
    store.add(["red car"], "memory", record_ids="m1", thread_ids="t1", user_ids="u1")


def test_its_dump_restores_into_a_store_that_has_them(
    bare: OracleDBMemoryStore, whole: SQLiteMemoryStore
) -> None:
    fill(bare)
    assert bare.check().ok
    with bare.dump() as file:
        tables = {json.loads(line).get("table") for line in file}
        assert not {name for name in tables if name and name.startswith("x_")}
        file.seek(0)
        whole.restore(file)
    assert [one.id for one, _ in whole.search("red car", 1, user_id="u1")] == ["m1"]
    # What the store of the reference could not tell is made by a repair.
    assert whole.repair(whole.check()) == {"missing_states": 4, "missing_tokens": 2}
    assert whole.check().ok


def test_it_takes_a_dump_without_what_it_has_no_table_for(
    bare: OracleDBMemoryStore, whole: SQLiteMemoryStore
) -> None:
    fill(whole)
    with whole.dump() as file:
        report = bare.restore(file)
    assert report.left_out == {"x_record_state": 4, "x_change": 4}
    assert number_of(bare, "n1") == 1
    assert bare.check().ok


def test_the_taken_id_alone_is_named(bare: OracleDBMemoryStore, whole: SQLiteMemoryStore) -> None:
    whole.add(["red", "blue", "sky"], "memory", record_ids=["a", "b", "c"])
    bare.add(["sea"], "fact", record_ids="b")
    with whole.dump() as file, pytest.raises(DuplicateIdError, match="the id 'b' exists already"):
        bare.restore(file)
    assert [one.id for one in bare.list_memories(limit=None)] == ["b"]


def test_a_dump_begins_with_a_read_only_transaction(bare: OracleDBMemoryStore) -> None:
    fill(bare)
    recorded = bare.engine.engine
    with bare.engine.snapshot() as connection:
        assert connection.engine is recorded
        session = connection.connection.driver_connection
        statements = [one.sql for one in session.recorder.statements]  # type: ignore[union-attr]
    assert statements[-1] == "SET TRANSACTION READ ONLY"
