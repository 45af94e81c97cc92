"""Databases of their own for the joined engine: a SQLite file, and Oracle on the recorder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryapp.environment import database_settings
from memoryapp.joined import joined_engine
from oracleagentmemory.storage.engine import StoreEngine
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.layout import ManagedTables
from tests.joined.recorded.base import RECORDERS
from tests.oracle import lint
from tests.oracle.driver import Connection, Recorder, watch
from tests.oracle.replay import Answer
from tests.oracle.stores import GOLDEN, LOCKED

INSERT_NOTE = "INSERT INTO joined_note (body) VALUES (%s)"
DIMENSION = 8
SELECT_NOTES = "SELECT body FROM joined_note ORDER BY body"


@dataclass
class Joined:
    """One database, the engine on Django's connection to it, and a plain Django-side table."""

    alias: str
    engine: sa.Engine
    tables: ManagedTables
    path: Path
    recorder: Recorder | None = None

    @property
    def store_engine(self) -> StoreEngine:
        return StoreEngine(self.engine)

    @property
    def django(self) -> BaseDatabaseWrapper:
        return connections[self.alias]

    def add_note(self, body: str) -> None:
        """Write a row as the app's own tables are written."""
        with self.django.cursor() as cursor:
            cursor.execute(INSERT_NOTE, [body])

    def notes(self) -> list[str]:
        with self.django.cursor() as cursor:
            cursor.execute(SELECT_NOTES)
            return [row[0] for row in cursor.fetchall()]


def open_alias(alias: str, settings: dict[str, Any]) -> None:
    """Add a database to Django's, complete with its defaults."""
    complete = connections.configure_settings({"default": {}, alias: settings})
    connections.settings[alias] = complete[alias]


@pytest.fixture
def joined(database: Joined) -> Joined:
    """A database with the tables of the layout."""
    if database.recorder is None:
        with database.engine.connect() as connection:
            database.tables.metadata.create_all(connection)
    return database


@pytest.fixture(params=["sqlite", "oracle"])
def database(
    request: pytest.FixtureRequest, tmp_path: Path, django_db_blocker: Any
) -> Iterator[Joined]:
    """A database without a store in it, but for the tables that the recorder always has."""
    alias = f"joined_{request.param}"
    with django_db_blocker.unblock():
        if request.param == "sqlite":
            database = _sqlite(alias, tmp_path)
        else:
            database = _oracle(alias, tmp_path)
        try:
            yield database
        finally:
            database.django.close()
            del connections.settings[alias]
            delattr(connections._connections, alias)
            if database.recorder is not None:
                database.recorder.sqlite.dispose()


def _sqlite(alias: str, folder: Path) -> Joined:
    open_alias(alias, database_settings(f"sqlite:///{folder / 'joined.sqlite3'}"))
    tables = _tables()
    engine = joined_engine(alias)
    lint.watch(engine)
    with connections[alias].cursor() as cursor:
        cursor.execute("CREATE TABLE joined_note (body TEXT)")
    return Joined(alias, engine, tables, folder / "joined.sqlite3")


def _oracle(alias: str, folder: Path) -> Joined:
    tables = _tables()
    recorder = Recorder(
        folder / "recorded.sqlite3",
        list(tables.metadata.tables.values()),
        LOCKED,
    )
    for golden in ("vector_index", "trigger", "property_graph"):
        recorder.answer((GOLDEN / f"{golden}.sql").read_text())
    with recorder.sqlite.connect() as connection:
        connection.exec_driver_sql("CREATE TABLE joined_note (body TEXT)")
    recorder.handle(INSERT_NOTE.replace("%s", ":arg0"), _insert_note)
    recorder.handle(SELECT_NOTES, _select_notes)
    RECORDERS[alias] = recorder
    open_alias(alias, {"ENGINE": "tests.joined.recorded", "NAME": alias})
    engine = joined_engine(alias)
    lint.watch(engine)
    watch(engine)
    return Joined(alias, engine, tables, folder / "recorded.sqlite3", recorder)


def _tables() -> ManagedTables:
    tables = ManagedTables(dimension=DIMENSION)
    ExtraTables(tables)
    return tables


def _insert_note(session: Connection, binds: Mapping[str, Any]) -> Answer:
    session.execute_sqlite("INSERT INTO joined_note (body) VALUES (?)", (binds[":arg0"],))
    return Answer(row_count=1)


def _select_notes(session: Connection, binds: Mapping[str, Any]) -> Answer:
    rows = session.read_sqlite("SELECT body FROM joined_note ORDER BY body")
    return Answer([("BODY", None)], [rows])
