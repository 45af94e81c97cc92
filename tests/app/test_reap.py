"""A connection does not outlive the thread that opened it."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryapp import reap

pytestmark = pytest.mark.django_db(transaction=True)


def open_in_a_thread() -> BaseDatabaseWrapper:
    """Use the database in a thread that ends without closing its connection."""
    opened: list[BaseDatabaseWrapper] = []

    def work() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        opened.append(connections["default"])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return opened[0]


def test_connection_of_an_ended_thread_is_closed_by_the_next_one() -> None:
    first = open_in_a_thread()
    assert first.connection is not None
    second = open_in_a_thread()
    assert first.connection is None
    assert second.connection is not None
    second.inc_thread_sharing()
    second.close()


def test_connection_of_a_living_thread_stays_open() -> None:
    connection.ensure_connection()
    mine = connection.connection
    other = open_in_a_thread()
    assert connection.connection is mine
    other.inc_thread_sharing()
    other.close()
    assert reap._THREADS.is_dir()
