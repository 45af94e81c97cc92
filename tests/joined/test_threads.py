"""Several threads and a second process on one joined database."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from oracleagentmemory.storage.engine import LENDER_OPTION
from tests.joined.conftest import Joined

THREADS = 4
WRITES = 25


def write_some(joined: Joined, name: str) -> None:
    """Add memories, each with a Django row in the same transaction, and close the connection."""
    memory = joined.tables.memory
    try:
        for number in range(WRITES):
            row = {"record_id": f"{name}-{number}", "memory_type": "fact"}
            if joined.engine.dialect.name == "sqlite":
                row["order_seq"] = number
            with transaction.atomic(using=joined.alias):
                with joined.store_engine.write() as write:
                    write.execute(sa.insert(memory), [row])
                joined.add_note(row["record_id"])
    finally:
        joined.engine.get_execution_options()[LENDER_OPTION].close_thread()


def stored(joined: Joined) -> set[str]:
    with joined.store_engine.read() as connection:
        return set(connection.execute(sa.select(joined.tables.memory.c.record_id)).scalars())


def test_threads_write_side_by_side_and_nothing_is_lost(joined: Joined) -> None:
    names = [f"thread{number}" for number in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(write_some, joined, name) for name in names]:
            future.result()
    wanted = {f"{name}-{number}" for name in names for number in range(WRITES)}
    assert stored(joined) == set(joined.notes()) == wanted


def test_a_pool_thread_that_closes_leaves_no_connection_open(joined: Joined) -> None:
    opened: list[BaseDatabaseWrapper] = []

    def remember(connection: BaseDatabaseWrapper, **_: object) -> None:
        opened.append(connection)

    connection_created.connect(remember)
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write_some, joined, "pool").result()
            mine = connections[joined.alias]
            assert [c.connection for c in opened if c is not mine] == [None]
    finally:
        connection_created.disconnect(remember)


def test_another_thread_sees_only_what_is_committed(joined: Joined) -> None:
    def seen() -> set[str]:
        try:
            return stored(joined)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(using=joined.alias):
            with joined.store_engine.write() as write:
                row = {"record_id": "m1", "memory_type": "fact"}
                if joined.engine.dialect.name == "sqlite":
                    row["order_seq"] = 1
                write.execute(sa.insert(joined.tables.memory), [row])
            assert pool.submit(seen).result() == set()
        assert pool.submit(seen).result() == {"m1"}


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_second_process_writes_the_same_file(joined: Joined) -> None:
    path = joined.django.settings_dict["NAME"]
    command = [sys.executable, "-m", "tests.joined.second_writer", str(path), str(WRITES)]
    with subprocess.Popen(command) as second:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(write_some, joined, "first").result()
        assert second.wait(timeout=60) == 0
    wanted = {f"{name}-{number}" for name in ("first", "second") for number in range(WRITES)}
    assert stored(joined) == set(joined.notes()) == wanted
