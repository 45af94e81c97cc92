from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.storage.vector_reads import VectorReads
from tests.sdk.search.stores import Clock, WordEmbedder, open_store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SQLiteMemoryStore]:
    opened = open_store(tmp_path, WordEmbedder(), clock)
    yield opened
    opened.close()


@pytest.fixture
def scope_reads(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The users whose whole scope was read from the database."""
    users: list[str | None] = []
    scope = VectorReads.scope

    def counted(self: VectorReads, connection: sa.Connection, user_id: str | None) -> Any:
        users.append(user_id)
        return scope(self, connection, user_id)

    monkeypatch.setattr(VectorReads, "scope", counted)
    return users
