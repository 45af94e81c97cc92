"""Several reads at the same time: order, bound, errors, and what is done for the threads."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator

import pytest

from oracleagentmemory.storage.readpool import ReadPool

word: contextvars.ContextVar[str] = contextvars.ContextVar("word", default="")


@pytest.fixture
def pool() -> Iterator[ReadPool]:
    pool = ReadPool()
    yield pool
    pool.release()


def test_results_come_in_order_however_the_reads_end(pool: ReadPool) -> None:
    second_is_done = threading.Event()

    def first() -> str:
        assert second_is_done.wait(20)
        return "first"

    def second() -> str:
        second_is_done.set()
        return "second"

    assert pool.run([first, second], 2, lambda: None) == ["first", "second"]


def test_no_more_run_than_are_allowed(pool: ReadPool) -> None:
    lock = threading.Lock()
    running: set[int] = set()
    most = []

    def read() -> str:
        with lock:
            running.add(threading.get_ident())
            most.append(len(running))
        return threading.current_thread().name

    names = pool.run([read] * 20, 2, lambda: None)
    assert max(most) <= 2
    assert len(set(names)) <= 2
    assert all(name.startswith("oracleagentmemory-read") for name in names)


def test_reads_see_the_callers_context_and_threads_are_cleared_after(pool: ReadPool) -> None:
    cleared: list[int] = []
    word.set("caller's")

    def clear() -> None:
        cleared.append(threading.get_ident())

    assert pool.run([word.get] * 3, 3, clear) == ["caller's"] * 3
    assert len(cleared) == 3
    assert threading.get_ident() not in cleared


def test_an_error_is_the_callers_and_the_pool_goes_on(pool: ReadPool) -> None:
    def fail() -> str:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        pool.run([fail, lambda: "fine"], 2, lambda: None)
    assert pool.run([lambda: "fine"] * 2, 2, lambda: None) == ["fine"] * 2
    pool.release()
    assert pool.run([lambda: "again"] * 2, 2, lambda: None) == ["again"] * 2
