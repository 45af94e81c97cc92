"""The databases that the contract suite runs on.

Another one joins by an entry here: a function that opens a store over a fresh database in a
folder, its connections closed by the caller's `close()`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore

#: Opens the store of a folder; called again it opens the same data. Keywords are those that the
#: constructors share: embedder, vector_dim, memory_retention_config.
Open = Callable[..., SQLMemoryStore]


def open_sqlite(folder: Path, **options: Any) -> SQLMemoryStore:
    return SQLiteMemoryStore(folder / "memory.sqlite3", **options)


BACKENDS: dict[str, Open] = {"sqlite": open_sqlite}
