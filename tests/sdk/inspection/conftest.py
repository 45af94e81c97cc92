"""A world of records on a store in a real file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core.sqlitememorystore import SQLiteMemoryStore
from tests.sdk.inspection.world import World


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteMemoryStore]:
    """An empty store without an embedder."""
    store = SQLiteMemoryStore(tmp_path / "memory.sqlite3")
    yield store
    store.close()


@pytest.fixture
def world(store: Any) -> World:
    """Records of several users, agents and threads, some of them expired."""
    return World(store)
