"""The SDK's writes are Django's transactions, on SQLite and on Django's Oracle backend.

The Oracle half runs on the recording driver: what two real sessions do to each other's locks
needs a live database.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from django.db import transaction
from django.db.transaction import TransactionManagementError
from django.test.testcases import TestCase

from memoryapp.joined import DjangoConnection
from oracleagentmemory.errors import RetryableError, StateError, StoreUnavailableError
from oracleagentmemory.storage.engine import WriteTransaction
from tests.joined.conftest import Joined

T = TypeVar("T")


def insert(joined: Joined, write: WriteTransaction, record_id: str) -> None:
    row: dict[str, Any] = {"record_id": record_id, "memory_type": "fact", "content": record_id}
    if joined.engine.dialect.name == "sqlite":
        row["order_seq"] = 1
    write.execute(sa.insert(joined.tables.memory), [row])


def add(joined: Joined, record_id: str) -> None:
    with joined.store_engine.write() as write:
        insert(joined, write, record_id)


def memories(joined: Joined) -> list[str]:
    with joined.store_engine.read() as connection:
        column = joined.tables.memory.c.record_id
        return list(connection.execute(sa.select(column).order_by(column)).scalars())


class _UndoneError(Exception):
    """What ends a block that is to be rolled back."""


@contextmanager
def undone(block: AbstractContextManager[T]) -> Iterator[T]:
    """Run in ``block`` and let it fail at its end."""
    with suppress(_UndoneError), block as entered:
        yield entered
        raise _UndoneError


def test_a_write_outside_any_block_is_committed(joined: Joined) -> None:
    add(joined, "m1")
    joined.django.close()
    assert memories(joined) == ["m1"]


def test_a_memory_and_a_django_row_are_committed_together(joined: Joined) -> None:
    with transaction.atomic(using=joined.alias):
        add(joined, "m1")
        joined.add_note("audit")
        add(joined, "m2")
    joined.django.close()
    assert (memories(joined), joined.notes()) == (["m1", "m2"], ["audit"])


def test_a_memory_and_a_django_row_are_rolled_back_together(joined: Joined) -> None:
    with undone(transaction.atomic(using=joined.alias)):
        add(joined, "m1")
        joined.add_note("audit")
        assert (memories(joined), joined.notes()) == (["m1"], ["audit"])
    assert (memories(joined), joined.notes()) == ([], [])


def test_an_inner_block_is_undone_alone(joined: Joined) -> None:
    with transaction.atomic(using=joined.alias):
        add(joined, "kept")
        with undone(transaction.atomic(using=joined.alias)):
            add(joined, "gone")
            joined.add_note("gone")
        add(joined, "kept too")
    assert (memories(joined), joined.notes()) == (["kept", "kept too"], [])


def test_a_django_block_fits_inside_a_write_of_the_sdk(joined: Joined) -> None:
    with joined.store_engine.write() as write:
        insert(joined, write, "m1")
        with transaction.atomic(using=joined.alias):
            joined.add_note("inside")
    assert (memories(joined), joined.notes()) == (["m1"], ["inside"])


def test_on_commit_waits_for_the_outermost_block_and_dies_with_it(joined: Joined) -> None:
    ran: list[str] = []
    with transaction.atomic(using=joined.alias):
        transaction.on_commit(lambda: ran.append("outer"), using=joined.alias)
        add(joined, "m1")
        assert ran == []
    assert ran == ["outer"]
    with joined.store_engine.write() as write:
        insert(joined, write, "m2")
        transaction.on_commit(lambda: ran.append("write"), using=joined.alias)
    assert ran == ["outer", "write"]
    with undone(transaction.atomic(using=joined.alias)):
        transaction.on_commit(lambda: ran.append("never"), using=joined.alias)
        add(joined, "m3")
    assert ran == ["outer", "write"]


def test_an_error_of_the_sdk_leaves_the_outer_block_usable(joined: Joined) -> None:
    with transaction.atomic(using=joined.alias):
        add(joined, "m1")
        with pytest.raises(sa.exc.IntegrityError):
            add(joined, "m1")
        joined.add_note("still here")
        add(joined, "m2")
    assert (memories(joined), joined.notes()) == (["m1", "m2"], ["still here"])


def test_a_failed_write_undoes_all_of_its_rows(joined: Joined) -> None:
    with undone(joined.store_engine.write()) as write:
        insert(joined, write, "m1")
    assert memories(joined) == []


def test_nothing_runs_in_a_block_that_has_failed(joined: Joined) -> None:
    with transaction.atomic(using=joined.alias):
        transaction.set_rollback(True, using=joined.alias)
        with pytest.raises(TransactionManagementError):
            memories(joined)
        with pytest.raises(TransactionManagementError):
            add(joined, "m1")
    assert memories(joined) == []


def test_a_read_opens_no_transaction(joined: Joined) -> None:
    with joined.store_engine.read() as connection:
        connection.execute(sa.select(joined.tables.memory.c.record_id)).all()
        assert not joined.django.in_atomic_block
        raw = joined.django.connection
        assert not (raw._open if joined.recorder else raw.in_transaction)


def test_a_write_inside_a_read_is_refused(joined: Joined) -> None:
    with joined.store_engine.read() as connection, pytest.raises(StateError):
        connection.execute(sa.delete(joined.tables.memory))


def test_the_engine_follows_when_django_reopens_its_connection(joined: Joined) -> None:
    add(joined, "m1")
    first = joined.django.connection
    joined.django.close()
    assert memories(joined) == ["m1"]
    assert joined.django.connection is not first


def test_the_first_connect_inside_a_block_loses_nothing(joined: Joined) -> None:
    # The dialect's probes end in a ROLLBACK; on the lender's connection it would undo the note.
    joined.engine.dispose()
    with transaction.atomic(using=joined.alias):
        joined.add_note("before")
        add(joined, "m1")
    assert (memories(joined), joined.notes()) == (["m1"], ["before"])


def test_a_checkout_is_possible_while_a_select_is_unfinished(joined: Joined) -> None:
    for record_id in ("m1", "m2"):
        add(joined, record_id)
    with joined.store_engine.read() as outer:
        rows = outer.execute(sa.select(joined.tables.memory.c.record_id))
        assert rows.fetchone() is not None
        assert memories(joined) == ["m1", "m2"]
        rows.close()


def test_the_lenders_own_type_handler_is_left_alone(joined: Joined) -> None:
    memories(joined)
    assert getattr(joined.django.connection, "outputtypehandler", None) is None


def test_the_lent_connection_cannot_end_what_is_djangos(joined: Joined) -> None:
    memories(joined)
    lent = DjangoConnection(joined.django.connection)
    with transaction.atomic(using=joined.alias):
        joined.add_note("kept")
        lent.rollback()
        lent.close()
    lent.commit()
    assert joined.notes() == ["kept"]


def test_slow_work_is_refused_in_a_callers_block_and_not_in_a_test_cases(joined: Joined) -> None:
    engine = joined.store_engine
    engine.refuse_in_transaction("embedding")
    with transaction.atomic(using=joined.alias), pytest.raises(StateError, match="embedding"):
        engine.refuse_in_transaction("embedding")
    with joined.store_engine.write(), pytest.raises(StateError):
        joined.store_engine.refuse_in_transaction("embedding")
    rolled_back = TestCase._enter_atomics.__func__(_Case([joined.alias]))
    try:
        engine.refuse_in_transaction("embedding")
        assert engine.in_transaction
        with transaction.atomic(using=joined.alias), pytest.raises(StateError):
            engine.refuse_in_transaction("embedding")
    finally:
        TestCase._rollback_atomics.__func__(_Case([joined.alias]), rolled_back)
    assert not engine.in_transaction


class _Case:
    """What Django's TestCase asks of itself to open its rollback blocks."""

    def __init__(self, aliases: list[str]) -> None:
        self.aliases = aliases

    def _databases_names(self, include_mirrors: bool = True) -> list[str]:
        return self.aliases


def test_manual_commits_count_as_a_callers_transaction(joined: Joined) -> None:
    transaction.set_autocommit(False, using=joined.alias)
    try:
        with pytest.raises(StateError):
            joined.store_engine.refuse_in_transaction("embedding")
    finally:
        transaction.rollback(using=joined.alias)
        transaction.set_autocommit(True, using=joined.alias)


@pytest.mark.parametrize("database", ["oracle"], indirect=True)
def test_a_lost_connection_ends_the_block_and_is_known_to_django(joined: Joined) -> None:
    assert joined.recorder is not None
    for use in (memories, lambda joined: add(joined, "lost")):
        memories(joined)
        dead = joined.django.connection
        joined.recorder.next_error = (3113, "end-of-file on communication channel")
        with pytest.raises(StoreUnavailableError):
            use(joined)
        assert not joined.django.in_atomic_block
        # What Django does between requests; it asks only a connection that is known to have failed.
        joined.django.close_if_unusable_or_obsolete()
        assert joined.django.connection is not dead
    add(joined, "m1")
    assert memories(joined) == ["m1"]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_a_busy_file_is_worth_a_retry_and_leaves_no_block_open(joined: Joined) -> None:
    with joined.django.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 20")
    with closing(sqlite3.connect(joined.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(RetryableError):
            add(joined, "m1")
        assert not joined.django.in_atomic_block
    add(joined, "m2")
    assert memories(joined) == ["m2"]
