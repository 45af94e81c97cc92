"""What was written through our SDK, and what something else wrote."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.inspection.page_statements import Direction
from oracleagentmemory.inspection.pages import Pages
from oracleagentmemory.inspection.results import Change, ChangePage, OutsidePage, Row
from oracleagentmemory.inspection.selection import Criteria
from oracleagentmemory.storage.extras import UNSCOPED, ExtraTables
from oracleagentmemory.storage.statements import bind

# Above this many scopes, one walk over all changes beats a walk a scope.
_MAX_WALKS = 32
_BATCH = 200
_LIMIT = sa.bindparam("limit", type_=sa.Integer())


class Changes:
    """Reads the log of changes."""

    def __init__(self, extras: ExtraTables) -> None:
        self._table = extras.change
        self._statement = functools.cache(self._build)

    def page(
        self,
        connection: sa.Connection,
        scopes: Sequence[str] | None,
        direction: Direction,
        at: int | None,
        limit: int,
    ) -> ChangePage:
        """Return a page of the changes in some scopes; None is all."""
        found = self._read(connection, scopes, direction, at, limit + 1)
        changes, more = found[:limit], len(found) > limit
        if direction == "newer":
            changes.reverse()
        first, last = (changes[at_].number if changes else at for at_ in (0, -1))
        newer, older = False, more
        if direction == "older":
            newer = bool(self._read(connection, scopes, "newer", first, 1))
        elif direction == "newer":
            newer, older = more, bool(self._read(connection, scopes, "older", last, 1))
        return ChangePage(
            changes=changes,
            older=str(last) if older else None,
            newer=str(first) if newer else None,
            is_recorded=True,
        )

    def _read(
        self,
        connection: sa.Connection,
        scopes: Sequence[str] | None,
        direction: Direction,
        at: int | None,
        limit: int,
    ) -> list[Change]:
        walks = None if scopes is None else len(scopes) if len(scopes) <= _MAX_WALKS else 0
        binds: dict[str, Any] = {"limit": limit}
        if at is not None:
            binds["at"] = at
        if walks:
            binds |= {f"scope_{number}": scope for number, scope in enumerate(scopes or ())}
        elif scopes is not None:
            binds["scopes"] = list(scopes)
        rows = connection.execute(self._statement(walks, direction), binds)
        return [_change(row) for row in rows]

    def _build(self, walks: int | None, direction: Direction) -> sa.Select[Any]:
        """Select changes of all scopes (None), of ``:scopes`` (0) or of that many walks."""
        c = self._table.c
        if walks is None:
            return self._walk(direction)
        if not walks:
            scopes = bind("scopes", c.scope_key, expanding=True)
            return self._walk(direction).where(c.scope_key.in_(scopes))
        parts = [
            self._walk(direction).where(c.scope_key == bind(f"scope_{number}", c.scope_key))
            for number in range(walks)
        ]
        if walks == 1:
            return parts[0]
        wrapped = [sa.select(*part.subquery(f"walk_{n}").c) for n, part in enumerate(parts)]
        merged = sa.union_all(*wrapped).subquery("walks").c
        order = _ordered(merged.change_id, direction)
        return sa.select(*merged).order_by(order).limit(_LIMIT)

    def _walk(self, direction: Direction) -> sa.Select[Any]:
        number = self._table.c.change_id
        walk = sa.select(*self._table.c).order_by(_ordered(number, direction)).limit(_LIMIT)
        if direction == "newest":
            return walk
        at = bind("at", number)
        return walk.where(number > at if direction == "newer" else number < at)


def outside_page(
    connection: sa.Connection,
    pages: Pages,
    criteria: Criteria,
    cursor: str | None,
    *,
    limit: int,
    scan: int,
) -> OutsidePage:
    """Compare at most ``scan`` records with their notes until ``limit`` differ."""
    rows: list[Row] = []
    scanned, at, is_end = 0, cursor, False
    while not is_end and scanned < scan and len(rows) < limit:
        direction: Direction = "newest" if at is None else "older"
        page = pages.page(connection, criteria, direction, at, min(_BATCH, scan - scanned))
        is_end = page.older is None
        for row in page.rows:
            scanned, at = scanned + 1, pages.cursor(row)
            if row.is_changed_outside:
                rows.append(row)
            if len(rows) == limit:
                is_end = is_end and row is page.rows[-1]
                break
    return OutsidePage(rows=rows, scanned=scanned, older=None if is_end else at, is_recorded=True)


def _ordered(column: ColumnElement[Any], direction: Direction) -> ColumnElement[Any]:
    return column.asc() if direction == "newer" else column.desc()


def _change(row: sa.Row[Any]) -> Change:
    return Change(
        number=row.change_id,
        user_id=None if row.scope_key == UNSCOPED else row.scope_key.removeprefix("u:"),
        record_kind=row.record_kind,
        record_id=row.record_id,
        operation=row.operation,
        fingerprint=row.fingerprint,
        changed_at=row.changed_at,
        process=row.process,
    )
