"""Where each kind of record is read: its table, its state row, and its conditions as SQL."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.storage.constructs import unindexed
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.filters import Filter, metadata_matches
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.statements import bind, not_expired
from oracleagentmemory.storage.types import UtcTime

Condition = ColumnElement[bool]


class Source:
    """The table of one kind of record, left-joined with what our SDK notes about its rows.

    Attributes:
        order: The columns that order rows by age; unique together.
        effective_at: Effective time; for rows that another SDK wrote, the time of creation.
    """

    def __init__(self, kind: str, tables: ManagedTables, extras: ExtraTables) -> None:
        self.kind = kind
        self.table: sa.Table = getattr(tables, kind)
        self.state = extras.record_state
        c = self.table.c
        self.order = (c.created_at, c.record_id) if kind == "thread" else (c.order_seq,)
        self.effective_at: ColumnElement[object] = sa.func.coalesce(
            self.state.c.effective_at, c.created_at, type_=UtcTime()
        )

    def noted(self, rows: sa.FromClause) -> sa.Join:
        """Join ``rows`` (the table, or a join that ends in it) with the state rows."""
        state = self.state.c
        same = sa.and_(state.record_kind == self.kind, state.record_id == self.table.c.record_id)
        return rows.outerjoin(self.state, same)

    def rows_for(self, shape: frozenset[str]) -> sa.FromClause:
        """What the conditions of ``shape`` must be selected from."""
        return self.noted(self.table) if shape & {"since", "until"} else self.table

    def visible(self) -> list[Condition]:
        """The condition that hides expired rows."""
        return [not_expired(self.table)] if "expires_at" in self.table.c else []

    def conditions(
        self, shape: frozenset[str], metadata: Filter | None, *, user_by_index: bool = True
    ) -> list[Condition]:
        """The conditions of ``shape`` with a bind parameter named after each filter.

        Args:
            user_by_index: False keeps the user's index out of the plan, where the rows are
                reached in order or by a narrower index.
        """
        clauses = self.visible()
        for name in sorted(shape):
            clauses.append(self._condition(name, user_by_index))
        if metadata is not None:
            clauses.append(metadata_matches(self.table.c.metadata, metadata))
        return clauses

    def _condition(self, name: str, user_by_index: bool) -> Condition:
        column = self._column(name.removeprefix("no_"))
        if column is self.table.c.user_id and not user_by_index:
            column = unindexed(column)
        return _OPERATORS.get(name, _equal_or_null)(column, name)

    def _column(self, name: str) -> ColumnElement[object]:
        c = self.table.c
        if name in ("since", "until"):
            return self.effective_at
        if name == "ids" or (name == "thread_id" and self.kind == "thread"):
            return c.record_id
        columns: dict[str, str] = {"user_ids": "user_id", "memory_types": "memory_type"}
        return c[columns.get(name, name)]


def _equal_or_null(column: ColumnElement[object], name: str) -> Condition:
    return column.is_(None) if name.startswith("no_") else column == bind(name, column)


def _among(column: ColumnElement[object], name: str) -> Condition:
    return column.in_(bind(name, column, expanding=True))


def _from(column: ColumnElement[object], name: str) -> Condition:
    return column >= bind(name, column)


def _before(column: ColumnElement[object], name: str) -> Condition:
    return column < bind(name, column)


_OPERATORS: dict[str, Callable[[ColumnElement[object], str], Condition]] = {
    "user_ids": _among,
    "memory_types": _among,
    "ids": _among,
    "since": _from,
    "until": _before,
}
