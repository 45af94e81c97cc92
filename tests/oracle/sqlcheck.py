"""Check one Oracle statement without a server: binds, tokens, names.

What it cannot see: that Oracle accepts the parts that ``normalise`` rewrites (JSON paths, the
vector and text functions), and rules about types and grouping, which ``lint`` looks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import sqlalchemy as sa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from tests.oracle.normalise import normalise
from tests.oracle.tokens import bind_names, token_faults

_PSEUDO_COLUMNS = {"SYSTIMESTAMP", "ROWID", "SYSDATE"}


@cache
def _texts_known(columns: tuple[tuple[str, ...], ...]) -> dict[str, tuple[str, ...]]:
    """Return the faults of texts checked before against the same tables: parsing is slow."""
    return {}


class SqlFaultError(AssertionError):
    """A statement that Oracle would refuse, with every fault that was found."""

    def __init__(self, faults: Sequence[str], sql: str) -> None:
        super().__init__(f"{'; '.join(faults)}\n  in {sql}")
        self.faults = tuple(faults)


class SqlChecker:
    """Checks statements against the tables of one or several ``MetaData``."""

    def __init__(self, tables: Iterable[sa.Table]) -> None:
        self._columns = {
            table.name.upper(): [column.name.upper() for column in table.columns]
            for table in tables
        }
        mapping = {name: dict.fromkeys(columns, "CLOB") for name, columns in self._columns.items()}
        self._schema = MappingSchema(mapping, dialect="oracle")
        self._known = _texts_known(tuple(sorted((t, *c) for t, c in self._columns.items())))

    def check(self, sql: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Raise ``SqlFaultError`` when Oracle would refuse ``sql`` with any of these binds."""
        if sql not in self._known:
            self._known[sql] = self._find_text_faults(sql)
        faults = [*self._known[sql], *bind_faults(sql, rows)]
        if faults:
            raise SqlFaultError(faults, sql)

    def _find_text_faults(self, sql: str) -> tuple[str, ...]:
        faults = token_faults(sql)
        try:
            statement = sqlglot.parse_one(normalise(sql), dialect="oracle")
            if isinstance(statement, exp.Command):
                faults.append("a statement that cannot be parsed")
            else:
                faults += self._name_faults(statement)
        except SqlglotError as error:
            faults.append(str(error).splitlines()[0])
        return tuple(faults)

    def _name_faults(self, statement: exp.Expression) -> list[str]:
        if isinstance(statement, exp.Query):
            self._qualify(statement)
            return []
        table = statement.this.find(exp.Table) if statement.this else None
        if table is None:
            return ["a statement without a table"]
        known = self._columns.get(table.name.upper())
        if known is None:
            return [f"unknown table {table.name}"]
        faults = [f"unknown column {name}" for name in _own_columns(statement, table, known)]
        for query in statement.find_all(exp.Query):
            if query.find_ancestor(exp.Query) is None and not query.find(exp.Values):
                self._qualify(_beside(query, table))
        return faults

    def _qualify(self, query: exp.Expression) -> None:
        ctes = {cte.alias.upper() for cte in query.find_all(exp.CTE)}
        for table in query.find_all(exp.Table):
            if table.name.upper() not in self._columns.keys() | ctes | {"DUAL"}:
                raise SqlglotError(f"unknown table {table.name}")
        qualify(
            query.copy(),
            schema=self._schema,
            dialect="oracle",
            validate_qualify_columns=True,
            quote_identifiers=False,
        )


def bind_faults(sql: str, rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Say which binds are missing or too many in any row."""
    wanted = bind_names(sql)
    faults = []
    for row in rows or [{}]:
        given = {name.lstrip(":") for name in row}
        if missing := wanted - given:
            faults.append(f"unbound {sorted(missing)}")
        if extra := given - wanted:
            faults.append(f"bound but not in the statement {sorted(extra)}")
        if faults:
            break
    return faults


def _own_columns(
    statement: exp.Expression, table: exp.Table, known: Sequence[str]
) -> Iterable[str]:
    """Yield what an INSERT, UPDATE or DELETE names that its own table does not have."""
    insert_names = statement.this.expressions if isinstance(statement.this, exp.Schema) else []
    columns = [*insert_names, *_outside_queries(statement)]
    for column in columns:
        name = column.name.upper()
        qualifier = getattr(column, "table", "") or ""
        if qualifier and qualifier.upper() not in {table.name.upper(), table.alias.upper()}:
            yield f"{qualifier}.{name}"
        elif name not in known and name not in _PSEUDO_COLUMNS:
            yield name


def _outside_queries(statement: exp.Expression) -> list[exp.Column]:
    return [
        column
        for column in statement.find_all(exp.Column)
        if column.find_ancestor(exp.Query) is None
    ]


def _beside(query: exp.Expression, table: exp.Table) -> exp.Expression:
    """Wrap a subquery of an UPDATE or DELETE so that it may name columns of the outer table."""
    outer = exp.select("1").from_(table.copy())
    return outer.where(exp.Exists(this=query.copy()))
