"""A world of records on every database that the contract suite runs on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oracleagentmemory.core import SearchStrategy
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.backends import BACKENDS, forget
from tests.sdk.inspection.world import World


@pytest.fixture(params=list(BACKENDS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SQLMemoryStore]:
    """An empty store without an embedder."""
    # An Oracle store that is made without a dimension has no vectors at all.
    # Words are looked for in the text index, which a store for vectors alone lacks there.
    strategy = SearchStrategy.KEYWORD
    store = BACKENDS[request.param](tmp_path, vector_dim=2, search_strategy=strategy)
    yield store
    store.close()
    forget(request.param, tmp_path)


@pytest.fixture
def world(store: SQLMemoryStore) -> World:
    """Records of several users, agents and threads, some of them expired."""
    return World(store)
