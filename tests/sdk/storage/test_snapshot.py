"""Reads of one moment: what others commit meanwhile is not seen, and nothing stays open."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.storage.writes import Prepared


def count(store: SQLiteMemoryStore, connection: sa.Connection) -> int:
    statement = sa.select(sa.func.count()).select_from(store.tables.memory)
    return int(connection.execute(statement).scalar_one())


def test_another_writer_is_not_seen_inside(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with closing(SQLiteMemoryStore(path)) as store, closing(SQLiteMemoryStore(path)) as other:
        with store.engine.snapshot() as connection:
            assert count(store, connection) == 0
            other.add(["red"], "memory")
            assert count(store, connection) == 0
        with store.engine.snapshot() as connection:
            assert count(store, connection) == 1
        store.add(["blue"], "memory")  # no transaction was left open


def test_an_error_inside_leaves_no_transaction_open(tmp_path: Path) -> None:
    with closing(SQLiteMemoryStore(tmp_path / "memory.sqlite3")) as store:
        with pytest.raises(RuntimeError, match="stop"), store.engine.snapshot():
            raise RuntimeError("stop")
        store.add(["red"], "memory")
        assert store.check().ok


def test_a_store_in_memory_is_dumped_and_written_again() -> None:
    with closing(SQLiteMemoryStore()) as store:
        store.add(["red"], "memory")
        store.dump().close()
        store.add(["blue"], "memory")
        assert store.check().ok


def test_a_callers_own_transaction_is_read_and_left_open() -> None:
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as raw:
        raw.isolation_level = None
        store = SQLiteMemoryStore(raw)
        raw.execute("CREATE TABLE theirs (x)")
        raw.execute("BEGIN")
        raw.execute("INSERT INTO theirs VALUES (1)")
        store.dump().close()
        assert raw.in_transaction
        raw.execute("ROLLBACK")
        store.close()


def test_inside_a_write_its_own_rows_are_dumped(tmp_path: Path) -> None:
    with closing(SQLiteMemoryStore(tmp_path / "memory.sqlite3")) as store:

        def dump(_: object) -> int:
            with store.dump() as file:
                return sum(b'"memory"' in line for line in file)

        added = store.prepare_add(["red"], "memory")
        assert store.write_all([added, Prepared(dump)])[1] > 0
        assert store.list("memory", limit=None)
