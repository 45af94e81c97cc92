"""Pages, counts and single rows of one kind of record."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import sqlalchemy as sa

from oracleagentmemory.apis.records import MessageRecord
from oracleagentmemory.inspection.cursors import cursor_text, parse_cursor
from oracleagentmemory.inspection.page_statements import Direction, PageStatements
from oracleagentmemory.inspection.results import COUNT_LIMIT, Count, Page, Row, RowKind
from oracleagentmemory.inspection.selection import Criteria
from oracleagentmemory.inspection.sources import Source
from oracleagentmemory.storage.attached import with_attached
from oracleagentmemory.storage.filters import Filter
from oracleagentmemory.storage.fingerprints import marked_image
from oracleagentmemory.storage.kinds import kind_of
from oracleagentmemory.storage.rows import effective_time, to_record


class Pages:
    """Reads one kind of record."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._kind = cast("RowKind", source.kind)
        self.statements = PageStatements(source)
        self._counting = functools.lru_cache(512)(self._count_statement)

    def page(
        self,
        connection: sa.Connection,
        criteria: Criteria,
        direction: Direction,
        cursor: str | None,
        limit: int,
    ) -> Page:
        """Return a page that starts beyond ``cursor``."""
        binds = self.statements.binds(criteria)
        if cursor is not None:
            binds |= parse_cursor(self._kind, cursor)
        statement = self.statements.rows(criteria, direction)
        found = connection.execute(statement, binds | {"limit": limit + 1}).all()
        rows, more = self._rows(connection, found[:limit]), len(found) > limit
        if direction == "newer":
            rows.reverse()
        first, last = (self.cursor(rows[at]) if rows else cursor for at in (0, -1))
        newer, older = False, more
        if direction == "older":
            newer = self._any(connection, criteria, "newer", first)
        elif direction == "newer":
            newer, older = more, self._any(connection, criteria, "older", last)
        return Page(
            rows=rows,
            older=last if older else None,
            newer=first if newer else None,
        )

    def count(self, connection: sa.Connection, criteria: Criteria) -> Count:
        """Count matching records up to the limit."""
        shape = criteria.shape()
        build = self._counting if criteria.metadata is None else self._count_statement
        statement = build(shape, criteria.metadata)
        binds = criteria.binds() | {"limit": COUNT_LIMIT + 1}
        return Count.of(connection.execute(statement, binds).scalar_one())

    def _count_statement(self, shape: frozenset[str], metadata: Filter | None) -> sa.Select[Any]:
        few = self._source.few(shape, metadata, self._source.table.c.record_id)
        return sa.select(sa.func.count()).select_from(few.subquery("few"))

    def _any(
        self,
        connection: sa.Connection,
        criteria: Criteria,
        direction: Direction,
        cursor: str | None,
    ) -> bool:
        if cursor is None:
            return False
        binds = self.statements.binds(criteria) | parse_cursor(self._kind, cursor)
        statement = self.statements.keys(criteria, direction)
        return connection.execute(statement, binds | {"limit": 1}).first() is not None

    def cursor(self, row: Row) -> str:
        """Return the cursor of a row."""
        key = (row.created_at, row.id) if row.seq is None else (row.seq,)
        return cursor_text(self._kind, key)

    def _rows(self, connection: sa.Connection, found: Sequence[sa.Row[Any]]) -> list[Row]:
        """Return rows, those of messages with their image parts."""
        rows = [self._row(row) for row in found]
        if self._kind != "message":
            return rows
        contents = [(cast("MessageRecord", row.record), row.columns["content"]) for row in rows]
        records = with_attached(connection, self._source.tables, contents)
        return [replace(row, record=one) for row, one in zip(rows, records, strict=True)]

    def _row(self, row: sa.Row[Any]) -> Row:
        names = [column.name for column in self._source.columns]
        columns = dict(zip(names, row, strict=False))
        if self._kind == "image":
            columns = marked_image(columns, row.noted_content)
        return Row(
            kind=self._kind,
            record=cast("Any", to_record(kind_of(self._kind), row)),
            seq=columns.get("order_seq"),
            columns=columns,
            version=row.version,
            created_at=row.created_at,
            effective_at=row.effective_at
            or effective_time(columns.get("timestamp"), row.created_at),
            updated_at=row.updated_at,
            expires_at=columns.get("expires_at"),
            noted_fingerprint=row.noted_fingerprint,
        )
