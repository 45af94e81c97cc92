"""Oracle stores over the recording driver."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from oracleagentmemory.core import OracleDBMemoryStore, SchemaPolicy
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.layout import ManagedTables
from tests.oracle.ddl import compiled
from tests.oracle.driver import Connection, Handler, Recorder
from tests.oracle.replay import Answer

FILE = "oracle.sqlite3"
GOLDEN = Path(__file__).parent / "golden"
LOCKED = ("thread", "thread_summary", "message", "memory", "actor_profile", "document")

_recorders: dict[Path, Recorder] = {}
_made: dict[tuple[int | None, str | None], Path] = {}


def open_recorded(folder: Path, **options: Any) -> OracleDBMemoryStore:
    """Open the recorded store of a folder, made the first time.

    Its DDL runs once for each dimension and embedder of a run; later folders get a copy.
    """
    if folder not in _recorders:
        dimension, embedder = options.get("vector_dim"), options.get("embedder")
        key = (dimension, getattr(embedder, "embedder_id", None))
        if key not in _made:
            _made[key] = Path(tempfile.mkdtemp(prefix="recorded-oracle-"))
            atexit.register(shutil.rmtree, _made[key], ignore_errors=True)
            recorder = new_recorder(_made[key], dimension)
            open_on(recorder, embedder=embedder, vector_dim=dimension).close()
            recorder.sqlite.dispose()
        shutil.copy(_made[key] / FILE, folder / FILE)
        _recorders[folder] = Recorder(folder / FILE, _tables(dimension), LOCKED, create=False)
        _recorders[folder].answer((GOLDEN / "text_index.sql").read_text())
    return open_on(_recorders[folder], **options)


def forget_recorded(folder: Path) -> None:
    """Let go of the recorded database of a folder."""
    if (recorder := _recorders.pop(folder, None)) is not None:
        recorder.sqlite.dispose()


def open_on(recorder: Recorder, **options: Any) -> OracleDBMemoryStore:
    """Open a store on a recorder, which makes what is missing."""
    options.setdefault("schema_policy", SchemaPolicy.CREATE_IF_NECESSARY)
    recorder.answer("SET TRANSACTION READ ONLY")
    return OracleDBMemoryStore(options.pop("embedder", None), recorder.engine(), **options)


def new_recorder(folder: Path, dimension: int | None) -> Recorder:
    """Return an empty recorded database that knows the DDL of one store without a name."""
    tables = _tables(dimension)
    recorder = Recorder(folder / FILE, tables, LOCKED, create=False)
    for table in tables:
        recorder.handle(compiled(CreateTable(table)), _creates(table))
        for index in table.indexes:
            recorder.answer(compiled(CreateIndex(index)))
    for golden in ("vector_index", "text_index", "trigger", "property_graph"):
        recorder.answer((GOLDEN / f"{golden}.sql").read_text())
    return recorder


@cache
def _tables(dimension: int | None) -> list[sa.Table]:
    managed = ManagedTables(dimension=dimension, with_embedding=dimension is not None)
    return [*managed.record_tables, managed.stores, *ExtraTables(managed).tables]


def _creates(table: sa.Table) -> Handler:
    def create(session: Connection, _: object) -> Answer:
        session.recorder.create(table.name)
        return Answer()

    return create
