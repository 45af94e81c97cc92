from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.backends import BACKENDS, forget
from tests.sdk.search.stores import DIMENSION, Clock, WordEmbedder

MakeStore = Callable[..., SQLMemoryStore]


@pytest.fixture(params=list(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder()


@pytest.fixture
def make_store(backend: str, tmp_path: Path, clock: Clock) -> Iterator[MakeStore]:
    """Open the store of this test, as often as wanted: each time the same data."""
    opened: list[SQLMemoryStore] = []

    def make(**options: Any) -> SQLMemoryStore:
        options.setdefault("vector_dim", DIMENSION)
        store = BACKENDS[backend](tmp_path, **options)
        store.engine.clock = clock
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()
    forget(backend, tmp_path)


@pytest.fixture
def store(make_store: MakeStore, embedder: WordEmbedder) -> SQLMemoryStore:
    return make_store(embedder=embedder)
