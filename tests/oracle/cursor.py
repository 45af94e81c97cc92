"""The cursor of the recording driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import oracledb

from tests.oracle.answers import Var, without_handler
from tests.oracle.replay import Answer, Row

if TYPE_CHECKING:
    from tests.oracle.driver import Connection

_NUMBER_PRECISION = 0
_NUMBER_SCALE = -127


class Cursor:
    """A cursor as SQLAlchemy and Django use one.

    ``core`` and ``compiled`` are the Core statement with its parameters and its compiled form;
    both None for text.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.core: tuple[Any, Sequence[Row]] | None = None
        self.compiled: Any = None
        self.arraysize = 100
        self.prefetchrows = 2
        self.outputtypehandler: Any = None
        self.description: list[tuple[Any, ...]] | None = None
        self.rowcount = 0
        self.sizes: dict[str, Any] = {}
        self._rows: Iterator[tuple[Any, ...]] = iter(())

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self._rows

    def close(self) -> None:
        self._rows = iter(())

    def var(self, typ: Any, size: int = 0, arraysize: int = 1, **options: Any) -> Var:
        return Var(typ, size, arraysize, **options)

    def setinputsizes(self, *positional: Any, **named: Any) -> None:
        self.sizes = {f"arg{number}": size for number, size in enumerate(positional) if size}
        self.sizes |= named

    def execute(self, sql: str, parameters: Mapping[str, Any] | Sequence[Any] = ()) -> Cursor:
        self._run(sql, [_named(parameters)] if parameters else [])
        return self

    def executemany(self, sql: str, rows: Sequence[Mapping[str, Any] | Sequence[Any]]) -> None:
        self._run(sql, [_named(row) for row in rows])

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(self._rows, None)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        return [row for _, row in zip(range(size or self.arraysize), self._rows, strict=False)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self._rows)

    def _run(self, sql: str, rows: Sequence[Row]) -> None:
        answer = self.connection.run(self, sql, rows)
        self.sizes, self.core = {}, None
        self.rowcount = answer.row_count
        outs = {name: var for row in rows for name, var in row.items() if isinstance(var, Var)}
        if outs:
            self.description = None
            _fill(outs, answer)
            return
        self.description = [
            (name, database, None, None, _NUMBER_PRECISION, _NUMBER_SCALE, True)
            for name, database in answer.columns
        ] or None
        self._rows = self._fetched(answer)

    def _fetched(self, answer: Answer) -> Iterator[tuple[Any, ...]]:
        ways = [self._way(name, database) for name, database in answer.columns]
        rows = answer.rows
        return iter(
            [
                tuple(
                    var.fetched(value) if var is not None else without_handler(value, database)
                    for value, (database, var) in zip(row, ways, strict=True)
                )
                for row in rows
            ]
        )

    def _way(self, name: str, database: Any) -> tuple[Any, Var | None]:
        """Ask the type handler, the cursor's or else the connection's, how to fetch a column."""
        handler = self.outputtypehandler or self.connection.outputtypehandler
        database = database or oracledb.DB_TYPE_VARCHAR
        if handler is None:
            return database, None
        precision, scale = (
            (_NUMBER_PRECISION, _NUMBER_SCALE) if database is oracledb.DB_TYPE_NUMBER else (0, 0)
        )
        return database, handler(self, name, database, 0, precision, scale)


def _fill(outs: Mapping[str, Var], answer: Answer) -> None:
    """Put returned columns into the OUT variables: one list of values an execution."""
    for position, name in enumerate(sorted(outs, key=lambda name: int(name.rpartition("_")[2]))):
        var = outs[name]
        var.values = [[var.fetched(row[position]) for row in group] for group in answer.groups]


def _named(parameters: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if isinstance(parameters, Mapping):
        return dict(parameters)
    return {f"arg{number}": value for number, value in enumerate(parameters)}
