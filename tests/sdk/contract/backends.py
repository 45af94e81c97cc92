"""The databases that the contract suite runs on.

Another one joins by an entry here: a function that opens a store over a fresh database in a
folder, its connections closed by the caller's `close()`.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.oracle import lint, live
from tests.oracle.stores import forget_recorded, open_recorded

#: Opens the store of a folder; called again it opens the same data. Keywords are those that the
#: constructors share: embedder, vector_dim, memory_retention_config.
Open = Callable[..., SQLMemoryStore]


_empty: dict[tuple[int | None, str | None], Path] = {}


def open_sqlite(folder: Path, **options: Any) -> SQLMemoryStore:
    """Open the SQLite store of a folder, made the first time.

    Its DDL runs once for each dimension and embedder of a run; later folders get a copy.
    """
    file = folder / "memory.sqlite3"
    if not file.exists() and options.keys() == {"vector_dim", "embedder"}:
        key = (options["vector_dim"], getattr(options["embedder"], "embedder_id", None))
        if key not in _empty:
            made = Path(tempfile.mkdtemp(prefix="empty-sqlite-"))
            atexit.register(shutil.rmtree, made, ignore_errors=True)
            SQLiteMemoryStore(made / file.name, **options).close()
            _empty[key] = made / file.name
        shutil.copy(_empty[key], file)
    store = SQLiteMemoryStore(file, **options)
    lint.watch(store.engine.engine)
    return store


#: Oracle means the recording driver; a live database joins when one is configured.
BACKENDS: dict[str, Open] = {"sqlite": open_sqlite, "oracle": open_recorded}
if live.configured():
    BACKENDS["oracle-live"] = live.open_live


def forget(backend: str, folder: Path) -> None:
    """Let go of what a backend keeps of a folder beside its files."""
    if backend == "oracle":
        forget_recorded(folder)
    elif backend == "oracle-live":
        live.drop_live(folder)
