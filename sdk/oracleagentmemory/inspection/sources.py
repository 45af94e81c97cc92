"""Where each kind of record is read: its table, its state row, and its conditions as SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.inspection.texts import Texts
from oracleagentmemory.storage.constructs import unindexed
from oracleagentmemory.storage.filters import Filter, metadata_matches
from oracleagentmemory.storage.kinds import IMAGE, MEMORY, MESSAGE, kind_of
from oracleagentmemory.storage.statements import bind, columns_of, visible
from oracleagentmemory.storage.types import UtcTime

if TYPE_CHECKING:
    from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore

Condition = ColumnElement[bool]
#: Parts of a shape that ask for words.
WORDS = frozenset({"words", "each_words"})
_FACETED = ("memory_type", "status", "user_id", "agent_id")
_SEARCHED = {kind.name: kind.types for kind in (MEMORY, MESSAGE, IMAGE)}


class Source:
    """The table of one kind of record, left-joined with what our SDK notes about its rows.

    Attributes:
        columns: What is read of a row: all of it, but of an image's bytes their number.
        order: The columns that order rows by age; unique together.
        effective_at: Effective time; for rows that another SDK wrote, the time of creation.
        faceted: The columns whose values facets count.
    """

    def __init__(self, kind: str, store: SQLMemoryStore, texts: Texts) -> None:
        self.kind = kind
        self.tables = store.tables
        self.table: sa.Table = kind_of(kind).table(store.tables)
        self.columns = columns_of(kind_of(kind), self.table, with_bytes=False)
        self.state: sa.FromClause = store.extras.record_state
        if not store.has_extras:
            self.state = _nothing_like(store.extras.record_state)
        self.faceted = [self.table.c[name] for name in _FACETED if name in self.table.c]
        self._texts = texts
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

    def few(
        self, shape: frozenset[str], metadata: Filter | None, *columns: ColumnElement[Any]
    ) -> sa.Select[Any]:
        """Select ids and columns of at most ``:limit`` rows, any of them, the cheapest way.

        Rows with words are collected from the index: to ask it for each row would take longer.
        """
        narrow = bool(shape & {"thread_id", "ids", *WORDS})
        conditions = self.conditions(shape - WORDS, metadata, user_by_index=not narrow)
        rows: sa.FromClause = self.table
        record_id = self.table.c.record_id
        chosen = sa.select(record_id, *columns)
        if shape & WORDS:
            found, source_id, matching = self._texts.found(_SEARCHED[self.kind])
            rows = found.join(self.table, record_id == source_id)
            conditions += matching
            chosen = chosen.distinct()  # a record has several chunks
        rows = self.noted(rows) if shape & {"since", "until"} else rows
        limit = sa.bindparam("limit", type_=sa.Integer())
        return chosen.select_from(rows).where(*conditions).limit(limit)

    def visible(self) -> list[Condition]:
        """The condition that hides expired rows, and images of expired messages."""
        kind = kind_of(self.kind)
        return [visible(kind, self.tables)] if kind.expires else []

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
        if name in WORDS:
            return self._holds_words(one_by_one=name == "each_words")
        column = self._column(name.removeprefix("no_"))
        if column is self.table.c.user_id and not user_by_index:
            column = unindexed(column)
        return _OPERATORS.get(name, _equal_or_null)(column, name)

    def _holds_words(self, *, one_by_one: bool) -> Condition:
        found, source_id, matching = self._texts.found(_SEARCHED[self.kind])
        record_id = self.table.c.record_id
        sources = sa.select(source_id).select_from(found).where(*matching)
        if not one_by_one:
            return record_id.in_(sources)
        return sources.where(source_id == record_id).correlate(self.table).exists()

    def _column(self, name: str) -> ColumnElement[object]:
        c = self.table.c
        if name in ("since", "until"):
            return self.effective_at
        if name == "ids" or (name == "thread_id" and self.kind == "thread"):
            return c.record_id
        columns: dict[str, str] = {"user_ids": "user_id", "memory_types": "memory_type"}
        return c[columns.get(name, name)]


def _nothing_like(table: sa.Table) -> sa.Subquery:
    """Columns as those of a table that is not there, without rows."""
    columns = [sa.cast(sa.null(), column.type).label(column.name) for column in table.c]
    nowhere = sa.literal(1, sa.Integer()) == 0
    return sa.select(*columns).where(nowhere).subquery("unrecorded")


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
