"""Keyset pages: a page costs the same at any depth.

A page's statement first finds the keys of its rows along an index that has their order, then
fetches the rows by key. For a person who may see a few users, the keys come from one ordered walk
a user, merged: a condition ``user_id IN (…)`` would sort every row of those users for each page.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.inspection.selection import Criteria
from oracleagentmemory.inspection.sources import Source
from oracleagentmemory.storage.filters import Filter
from oracleagentmemory.storage.statements import bind

#: ``newest`` starts at the newest row, the others at a cursor.
Direction: TypeAlias = Literal["newest", "older", "newer"]
# Above this many visible users, one walk over all rows beats a walk a user.
_MAX_WALKS = 32
# Filters that leave few rows, which are then found by their own index and sorted.
_NARROW = frozenset({"thread_id", "ids", "words"})
_SHAPES = 512
_LIMIT = sa.bindparam("limit", type_=sa.Integer())


class PageStatements:
    """The statements of one kind of page, each built once for its shape."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._cached = functools.lru_cache(_SHAPES)(self._build)

    def rows(self, criteria: Criteria, direction: Direction) -> sa.Select[Any]:
        """Select at most ``:limit`` rows beyond the cursor, nearest first."""
        return self._statement("rows", criteria, direction)

    def keys(self, criteria: Criteria, direction: Direction) -> sa.Select[Any]:
        """Select their order columns and ids alone."""
        return self._statement("keys", criteria, direction)

    def values(self, criteria: Criteria) -> sa.Select[Any]:
        """Select what facets count of the newest rows."""
        return self._statement("values", criteria, "newest")

    def binds(self, criteria: Criteria) -> dict[str, Any]:
        """The values that both statements need beside cursor and limit."""
        values = criteria.binds()
        if _walks(criteria):
            values |= {f"user_id_{i}": u for i, u in enumerate(values.pop("user_ids"))}
        return values

    def _statement(self, what: str, criteria: Criteria, direction: Direction) -> sa.Select[Any]:
        arguments = (what, criteria.shape(), _walks(criteria), direction)
        if criteria.metadata is not None:
            return self._build(*arguments, criteria.metadata)
        return self._cached(*arguments)

    def _build(
        self,
        what: str,
        shape: frozenset[str],
        walks: int,
        direction: Direction,
        metadata: Filter | None = None,
    ) -> sa.Select[Any]:
        more = self.source.faceted if what == "values" else []
        keys = (
            self._merged_keys(shape, walks, direction, metadata, more)
            if walks
            else self._walk(shape, direction, metadata, more)
        )
        return self._with_rows(keys.subquery("page_key"), direction) if what == "rows" else keys

    def _with_rows(self, keys: sa.Subquery, direction: Direction) -> sa.Select[Any]:
        source, state = self.source, self.source.state.c
        same = source.table.c.record_id == keys.c.record_id
        noted = state.fingerprint.label("noted_fingerprint")
        content = state.content_hash.label("noted_content")
        notes = (state.version, state.updated_at, state.effective_at, noted, content)
        return (
            sa.select(*source.columns, *notes)
            .select_from(source.noted(keys.join(source.table, same)))
            .order_by(*ordered([keys.c[column.name] for column in source.order], direction))
        )

    def _merged_keys(
        self,
        shape: frozenset[str],
        walks: int,
        direction: Direction,
        metadata: Filter | None,
        more: list[sa.Column[Any]],
    ) -> sa.Select[Any]:
        user_id = self.source.table.c.user_id
        each = [
            self._walk(shape - {"user_ids"}, direction, metadata, more).where(
                user_id == bind(f"user_id_{number}", user_id)
            )
            for number in range(walks)
        ]
        # Each walk is wrapped: a part of a UNION takes no ORDER BY of its own.
        parts = [sa.select(*walk.subquery(f"walk_{i}").c) for i, walk in enumerate(each)]
        merged = sa.union_all(*parts).subquery("walks")
        order = ordered([merged.c[column.name] for column in self.source.order], direction)
        return sa.select(*merged.c).order_by(*order).limit(_LIMIT)

    def _walk(
        self,
        shape: frozenset[str],
        direction: Direction,
        metadata: Filter | None,
        more: list[sa.Column[Any]],
    ) -> sa.Select[Any]:
        source = self.source
        by_user = "user_id" in shape and not shape & _NARROW
        key = (*source.order, source.table.c.record_id)
        columns = {column.name: column for column in (*key, *more)}
        return (
            sa.select(*columns.values())
            .select_from(source.rows_for(shape))
            .where(*source.conditions(shape, metadata, user_by_index=by_user))
            .where(*beyond(source.order, direction))
            .order_by(*ordered(source.order, direction))
            .limit(_LIMIT)
        )


def _walks(criteria: Criteria) -> int:
    """How many walks are merged; 0 for a single walk over whatever the conditions leave."""
    users = criteria.user_ids or ()
    return 0 if criteria.shape() & _NARROW or len(users) > _MAX_WALKS else len(users)


def ordered(
    columns: Iterable[ColumnElement[Any]], direction: Direction
) -> list[ColumnElement[Any]]:
    """The order of a walk, nearest rows first."""
    return [column.asc() if direction == "newer" else column.desc() for column in columns]


def beyond(order: tuple[sa.Column[Any], ...], direction: Direction) -> list[ColumnElement[bool]]:
    """The keyset condition; with two columns in the form that both databases can seek on."""
    if direction == "newest":
        return []
    first, last = order[0], order[-1]
    at_first, at_last = (bind(f"at_{column.name}", column) for column in (first, last))
    up = direction == "newer"
    if first is last:
        return [first > at_first if up else first < at_first]
    reached = first >= at_first if up else first <= at_first
    passed = last <= at_last if up else last >= at_last
    return [reached, sa.not_(sa.and_(first == at_first, passed))]
