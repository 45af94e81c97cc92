from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oracleagentmemory.core import SQLiteMemoryStore
from tests.sdk.search.stores import Clock, WordEmbedder, open_store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SQLiteMemoryStore]:
    opened = open_store(tmp_path, WordEmbedder(), clock)
    yield opened
    opened.close()
