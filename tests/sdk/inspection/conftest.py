"""A world of records on every database that the contract suite runs on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.backends import BACKENDS
from tests.sdk.inspection.world import World


@pytest.fixture(params=list(BACKENDS))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SQLMemoryStore]:
    """An empty store without an embedder."""
    store = BACKENDS[request.param](tmp_path)
    yield store
    store.close()


@pytest.fixture
def world(store: SQLMemoryStore) -> World:
    """Records of several users, agents and threads, some of them expired."""
    return World(store)
