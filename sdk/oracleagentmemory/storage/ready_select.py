"""Short reads without SQLAlchemy's cost of a call, which is several times that of the read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler

__all__ = ["ReadySelect"]

_Processor = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Plan:
    """A SELECT as SQLite's driver takes it.

    Attributes:
        binds: In the order of the marks: name, how to make its value if the caller gives none,
            and how the value is written.
        results: By place, how a value is read; columns that need nothing are left out.
    """

    sql: str
    binds: tuple[tuple[str, Callable[[], Any], _Processor | None], ...]
    results: tuple[tuple[int, _Processor], ...]


class ReadySelect:
    """A Core SELECT that on SQLite is compiled once and run by the driver itself.

    Types convert as they do in Core. On other databases Core runs it.
    """

    def __init__(self, statement: sa.Select[Any]) -> None:
        self.statement = statement
        self._plan: _Plan | None = None

    def rows(
        self, connection: sa.Connection, parameters: Mapping[str, Any]
    ) -> Sequence[Sequence[Any]]:
        """Return all rows."""
        if connection.dialect.name != "sqlite":
            return connection.execute(self.statement, parameters).all()
        plan = self._plan or self._compile(connection.dialect)
        values = []
        for name, default, write in plan.binds:
            value = parameters[name] if name in parameters else default()
            values.append(value if write is None else write(value))
        try:
            cursor = connection.connection.cursor()
            rows = cursor.execute(plan.sql, values).fetchall()
            cursor.close()
        except sqlite3.Error:
            # Once more by Core, whose errors are translated.
            return connection.execute(self.statement, parameters).all()
        return [_read(row, plan.results) for row in rows] if plan.results else rows

    def _compile(self, dialect: Dialect) -> _Plan:
        compiled = self.statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)  # noqa: S101 - a SELECT compiles to nothing else
        binds: list[tuple[str, Callable[[], Any], _Processor | None]] = []
        for name in compiled.positiontup or ():
            bind = compiled.binds[name]
            default = bind.callable or partial(getattr, bind, "value")
            write = cast("_Processor | None", compiled._bind_processors.get(name))
            binds.append((bind.key, default, write))
        readers = [
            column.type._cached_result_processor(dialect, None)
            for column in compiled._result_columns
        ]
        results = [(place, read) for place, read in enumerate(readers) if read is not None]
        self._plan = _Plan(str(compiled), tuple(binds), tuple(results))
        return self._plan


def _read(row: Sequence[Any], results: tuple[tuple[int, _Processor], ...]) -> Sequence[Any]:
    values = list(row)
    for place, read in results:
        if values[place] is not None:
            values[place] = read(values[place])
    return values
