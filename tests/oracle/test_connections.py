"""What callers may hand to the Oracle store: a pool, a connection. Both stay theirs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core import OracleDBMemoryStore
from oracleagentmemory.errors import RetryableError, StoreUnavailableError, WrongTypeError
from oracleagentmemory.storage import oracle_connections
from tests.oracle import lint
from tests.oracle.driver import Connection, Recorder, watch
from tests.oracle.stores import new_recorder, open_on
from tests.sdk.search.stores import DIMENSION, WordEmbedder


class Pool:
    """A pool that counts what it gave out."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.given: list[Connection] = []

    def acquire(self) -> Connection:
        self.given.append(self._recorder.connect())
        return self.given[-1]


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A database with a store; engines that the store makes itself are recorded too."""
    make = oracle_connections._engine

    def watched(creator: Any, **options: Any) -> sa.Engine:
        engine = make(creator, **options)
        lint.watch(engine)
        watch(engine)
        return engine

    monkeypatch.setattr(oracle_connections, "_engine", watched)
    recorder = new_recorder(tmp_path, DIMENSION)
    open_on(recorder, embedder=WordEmbedder()).close()
    yield recorder
    recorder.sqlite.dispose()


def add(store: OracleDBMemoryStore, number: int) -> None:
    store.add([f"red car {number}"], "fact", record_ids=[f"m{number}"], user_ids="ada")


def test_every_connection_of_a_pool_is_given_back(recorder: Recorder) -> None:
    pool = Pool(recorder)
    store = OracleDBMemoryStore(WordEmbedder(), pool)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: add(store, number), range(20)))
    assert len(store.list("fact", user_id="ada")) == 20
    store.close()
    assert len(pool.given) > 1
    assert all(connection.closed for connection in pool.given)


def test_a_failed_write_gives_its_connection_back_and_leaves_nothing(recorder: Recorder) -> None:
    pool = Pool(recorder)
    store = OracleDBMemoryStore(WordEmbedder(), pool)
    recorder.busy_tables.add("thread")
    with pytest.raises(RetryableError):
        store.delete_thread("t1")
    recorder.next_error = (3113, "end-of-file on communication channel")
    with pytest.raises(StoreUnavailableError):
        store.list("fact")
    assert all(connection.closed for connection in pool.given)


def test_a_callers_connection_is_used_by_one_thread_at_a_time_and_never_closed(
    recorder: Recorder,
) -> None:
    raw = recorder.connect()
    store = OracleDBMemoryStore(WordEmbedder(), raw)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: add(store, number), range(20)))
    assert len(store.search("car", 50, user_id="ada", exact_user_match=True)) == 20
    store.close()
    assert not raw.closed


def test_a_callers_connection_keeps_its_handler_and_its_open_transaction(
    recorder: Recorder,
) -> None:
    raw = recorder.connect()
    handler = raw.outputtypehandler = lambda *_: None
    raw.execute_sqlite("CREATE TABLE own (a)")
    raw.commit()
    raw.execute_sqlite("INSERT INTO own VALUES (1)")
    store = OracleDBMemoryStore(WordEmbedder(), raw)
    assert store.list("fact") == []
    assert (raw.outputtypehandler, raw.call_timeout) == (handler, 0)
    raw.rollback()
    assert raw.read_sqlite("SELECT * FROM own") == []


def test_a_write_waits_for_a_held_row_no_longer_than_its_bound_and_gives_the_callers_back(
    recorder: Recorder,
) -> None:
    raw = recorder.connect()
    raw.call_timeout = 7
    store = OracleDBMemoryStore(WordEmbedder(), raw)
    recorder.busy_tables.add("thread")
    with pytest.raises(RetryableError):
        store.delete_thread("t1")
    assert raw.call_timeout == 7
    recorder.busy_tables.clear()
    assert store.delete_thread("t1") == 0
    assert raw.call_timeout == 7


@pytest.mark.parametrize("pool", ["user/password@host", None, 7, sa.create_engine("sqlite://")])
def test_anything_else_is_refused_by_its_type(pool: Any) -> None:
    with pytest.raises(WrongTypeError):
        OracleDBMemoryStore(None, pool)
