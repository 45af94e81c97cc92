"""Run the Core statement that Oracle was given on SQLite, and say what Oracle would answer."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import sqlalchemy as sa
from oracledb.errors import _Error as DriverError
from sqlalchemy.sql.dml import Insert, UpdateBase
from sqlalchemy.sql.elements import ClauseElement
from sqlalchemy.types import TypeEngine

from tests.oracle.answers import stored_as

Row = Mapping[str, Any]
_CODES = {
    "UNIQUE constraint failed": (1, "unique constraint violated"),
    "FOREIGN KEY constraint failed": (2291, "integrity constraint violated - parent key not found"),
    "NOT NULL constraint failed": (1400, "cannot insert NULL"),
    "CHECK constraint failed": (2290, "check constraint violated"),
}
TOO_LONG = "too_long"


@dataclass
class Answer:
    """Columns as (name, driver type) and rows of driver values, or a number of changed rows.

    ``groups`` holds the rows that each execution of an executemany returned.
    """

    columns: list[tuple[str, Any]] = field(default_factory=list)
    groups: list[list[tuple[Any, ...]]] = field(default_factory=list)
    row_count: int = 0

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return [row for group in self.groups for row in group]


class Identities:
    """The next number of each identity column: never given twice, kept through a rollback."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def next(self, column: sa.Column[Any]) -> int:
        name = f"{column.table.name}.{column.name}"
        self._last[name] = self._last.get(name, 0) + 1
        return self._last[name]


def raise_ora(code: int, text: str) -> NoReturn:
    """Raise an error of the database as the driver does, in the class it picks for the code."""
    error = DriverError(f"ORA-{code:05}: {text}", code=code)
    raise error.exc_type(error)


def raise_driver(text: str) -> NoReturn:
    """Raise an error of the driver itself; its code tells the class."""
    error = DriverError(text)
    raise error.exc_type(error)


def replay(
    connection: sa.Connection,
    statement: ClauseElement,
    rows: Sequence[Row],
    identities: Identities,
) -> Answer:
    """Run ``statement`` with ``rows`` on ``connection`` and return Oracle's answer."""
    statement, rows = _with_identity(statement, rows, identities)
    returns = isinstance(statement, UpdateBase) and bool(statement._returning)
    runs: Sequence[Any] = rows if returns and rows else [list(rows) or None]
    answer = Answer()
    for parameters in runs:
        try:
            result = connection.execute(statement, parameters)
        except sa.exc.IntegrityError as error:
            _raise_integrity(error)
        if result.returns_rows:
            names, group = _driver_rows(result)
            answer.columns = names
            answer.groups.append(group)
        answer.row_count += max(result.rowcount, 0)
        result.close()
    return answer


def _with_identity(
    statement: ClauseElement, rows: Sequence[Row], identities: Identities
) -> tuple[ClauseElement, Sequence[Row]]:
    """Number new rows as GENERATED ALWAYS does; refuse a number that the statement brings."""
    if not isinstance(statement, Insert):
        return statement, rows
    if statement._multi_values:
        raise AssertionError("only INSERT … VALUES of one row is known to the recorder")
    generated = [column for column in statement.table.columns if column.identity is not None]
    named = {str(getattr(key, "name", key)) for key in statement._values or ()}
    for column in generated:
        if column.name in named or any(column.name in row for row in rows):
            raise_ora(32795, "cannot insert into a generated always identity column")
    if not generated:
        return statement, rows
    if statement.select is not None:
        raise AssertionError("INSERT … SELECT into a numbered table is not known to the recorder")
    if rows:
        return statement, [
            {**row, **{column.name: identities.next(column) for column in generated}}
            for row in rows
        ]
    numbers = {column.name: identities.next(column) for column in generated}
    return statement.values(**numbers), rows


def _driver_rows(result: Any) -> tuple[list[tuple[str, Any]], list[tuple[Any, ...]]]:
    entries = result.context.compiled._result_columns
    types: list[TypeEngine[Any]] = [entry.type for entry in entries]
    raw = result.cursor.fetchall()
    cells = [
        [stored_as(value, type_) for value, type_ in zip(row, types, strict=True)] for row in raw
    ]
    columns = []
    for position, entry in enumerate(entries):
        database = cells[0][position][0] if cells else stored_as(None, entry.type)[0]
        columns.append((entry.keyname.upper(), database))
    return columns, [tuple(value for _, value in row) for row in cells]


def _raise_integrity(error: sa.exc.IntegrityError) -> NoReturn:
    text = str(error.orig)
    if TOO_LONG in text:
        raise_ora(12899, f"value too large for column ({text})")
    for start, (code, meaning) in _CODES.items():
        if text.startswith(start):
            raise_ora(code, f"{meaning} ({text})")
    raise AssertionError(f"no Oracle error known for {text!r}") from error


def sqlite_copies(tables: Sequence[sa.Table]) -> dict[str, sa.Table]:
    """Return the tables as SQLite gets them: with the byte lengths that Oracle checks by itself."""
    metadata = sa.MetaData()
    for table in tables:
        copy = table.to_metadata(metadata)
        _drop_oracle_only(table.constraints, copy.constraints)
        _drop_oracle_only(table.indexes, copy.indexes)
        for column in copy.columns:
            if (limit := getattr(column.type, "length", None)) is not None:
                size = f"length(CAST({column.name} AS BLOB)) <= {limit}"
                name = f"{copy.name}_{column.name}_{TOO_LONG}"
                copy.append_constraint(sa.CheckConstraint(size, name=name))
    return dict(metadata.tables)


def _drop_oracle_only(originals: set[Any], copies: set[Any]) -> None:
    # A copy forgets that its original is made on one database only.
    names = {part.name for part in originals if part._ddl_if is not None}
    for part in [part for part in copies if part.name and part.name in names]:
        copies.remove(part)


def sqlite_engine(path: str, register: Any) -> sa.Engine:
    """Return an engine whose transactions the recorder begins and ends itself."""
    engine = sa.create_engine(
        f"sqlite:///{path}",
        poolclass=sa.NullPool,
        hide_parameters=True,
        connect_args={"timeout": 20, "check_same_thread": False},
    )

    @sa.event.listens_for(engine, "connect")
    def connect(raw: sqlite3.Connection, _record: object) -> None:
        raw.isolation_level = None
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "foreign_keys = ON"):
            raw.execute(f"PRAGMA {pragma}").close()
        register(raw)

    return engine


def words(sql: str) -> str:
    """Return ``sql`` with single spaces, to compare statements as texts."""
    return re.sub(r"\s+", " ", sql).strip()
