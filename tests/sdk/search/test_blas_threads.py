"""How many threads BLAS may use is the host application's to say: no search changes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from threadpoolctl import LibController, ThreadpoolController

from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.storage import retrieval
from tests.sdk.search.stores import add, ids

SEARCHES = 4
#: What the host application has set; no search would choose it.
HOSTS_THREADS = 3


@pytest.fixture
def blas_threads() -> Iterator[Callable[[], set[int]]]:
    """Tell how many threads BLAS may use, at first what the host application says."""
    controller = ThreadpoolController().select(user_api="blas")
    if not controller.lib_controllers:
        pytest.skip("this numpy has no BLAS whose threads can be counted")
    with controller.limit(limits=HOSTS_THREADS):
        yield lambda: {library.get_num_threads() for library in controller.lib_controllers}


@pytest.fixture
def limit_changes(
    blas_threads: Callable[[], set[int]], monkeypatch: pytest.MonkeyPatch
) -> list[int]:
    """Note every change of the setting that goes through threadpoolctl."""
    changes: list[int] = []
    classes = {type(one) for one in ThreadpoolController().select(user_api="blas").lib_controllers}

    def noting(kind: type[LibController]) -> Callable[[Any, int], None]:
        change = kind.set_num_threads

        def set_num_threads(library: Any, count: int) -> None:
            changes.append(count)
            change(library, count)

        return set_num_threads

    for kind in classes:
        monkeypatch.setattr(kind, "set_num_threads", noting(kind))
    return changes


def test_overlapping_searches_never_change_how_many_threads_blas_may_use(
    store: SQLiteMemoryStore,
    blas_threads: Callable[[], set[int]],
    limit_changes: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add(store, "red car", "blue sea")
    product = retrieval._similarities
    at_once = threading.Barrier(SEARCHES, timeout=60)
    seen: list[set[int]] = []

    def beside_the_others(*arguments: Any) -> Any:
        at_once.wait()
        seen.append(blas_threads())
        similarities = product(*arguments)
        at_once.wait()
        seen.append(blas_threads())
        return similarities

    monkeypatch.setattr(retrieval, "_similarities", beside_the_others)
    with ThreadPoolExecutor(SEARCHES) as pool:
        alone = list(pool.map(partial(ids, store), ["red car"] * SEARCHES))
    read_together = store.read_together(
        [lambda: ids(store, "red car") for _ in range(SEARCHES)], SEARCHES
    )
    assert alone == read_together == [["ann:red car", "ann:blue sea"]] * SEARCHES
    assert seen == [{HOSTS_THREADS}] * (4 * SEARCHES)
    assert blas_threads() == {HOSTS_THREADS}
    assert limit_changes == []


def test_the_hosts_setting_is_there_after_searches_that_fail_beside_others(
    store: SQLiteMemoryStore,
    blas_threads: Callable[[], set[int]],
    limit_changes: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add(store, "red car")
    at_once = threading.Barrier(SEARCHES, timeout=60)

    def fails(*_: Any) -> Any:
        at_once.wait()
        raise MemoryError

    with monkeypatch.context() as patched, ThreadPoolExecutor(SEARCHES) as pool:
        patched.setattr(retrieval, "_similarities", fails)
        searches = [pool.submit(ids, store, "red car") for _ in range(SEARCHES)]
        for search in searches:
            assert isinstance(search.exception(), MemoryError)
    assert blas_threads() == {HOSTS_THREADS}
    assert limit_changes == []
    assert ids(store, "red car") == ["ann:red car"]
