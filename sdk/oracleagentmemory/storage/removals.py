"""Deleting sets of records with everything that hangs on them.

No foreign key reaches the SDK-only tables and the chunks, so every delete names them. A set is a
kind of record with a *selector*: the column that a caller's `:owner` is compared with.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.storage.constructs import utc_now
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.kinds import EXPIRING, Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.statements import bind

#: `record` and `records`: by id or by a list of ids. `thread`, `message`, `messages`: what goes
#: with that parent, or with one of a list. `user`, `agent`: rows of that actor. `user_threads`,
#: `agent_threads`: rows of the actor's threads, whoever they belong to.
Selector = Literal[
    "record",
    "records",
    "thread",
    "message",
    "messages",
    "user",
    "agent",
    "user_threads",
    "agent_threads",
]


class Removals:
    """The statements that delete a set of records, cached by kind and selector."""

    def __init__(self, tables: ManagedTables, extras: ExtraTables) -> None:
        self.tables = tables
        self.extras = extras
        self.lock = functools.cache(self._lock)
        self.texts = functools.cache(self._texts)
        self.tokens = functools.cache(self._tokens)
        self.chunks = functools.cache(self._chunks)
        self.extra_rows = functools.cache(self._extra_rows)
        self.records = functools.cache(self._records)
        self.expired = functools.cache(self._expired)

    def _lock(self, kind: Kind, selector: Selector) -> sa.Select[Any]:
        """Lock the set and select each record's id, user and thread."""
        table = kind.table(self.tables)
        scope = [
            table.c[name] if name in table.c else sa.null().label(name)
            for name in ("user_id", "thread_id")
        ]
        chosen = sa.select(table.c[kind.key].label("id"), *scope)
        return chosen.where(self._condition(kind, selector)).with_for_update()

    def _texts(self, kind: Kind, selector: Selector) -> sa.Delete:
        """Delete the set's keyword rows (SQLite)."""
        text = self.extras.text
        return sa.delete(text).where(text.c.rowid.in_(self._chunk_ids(kind, selector)))

    def _tokens(self, kind: Kind, selector: Selector) -> sa.Delete:
        """Delete the tokens of the set's retrieval rows."""
        tokens = self.extras.chunk_token
        return sa.delete(tokens).where(tokens.c.chunk_id.in_(self._chunk_ids(kind, selector)))

    def _chunks(self, kind: Kind, selector: Selector) -> sa.Delete:
        """Delete the set's retrieval rows."""
        return sa.delete(self.tables.record_chunks).where(*self._chunks_of(kind, selector))

    def _extra_rows(self, kind: Kind, selector: Selector) -> list[sa.Delete]:
        """Delete what is noted about the set's records."""
        table = kind.table(self.tables)
        ids = sa.select(table.c[kind.key]).where(self._condition(kind, selector))
        state, source = self.extras.record_state, self.extras.source
        of_kind = (state.c.record_kind == kind.name, state.c.record_id.in_(ids))
        statements = [sa.delete(state).where(*of_kind)]
        if kind.name in ("memory", "message"):
            column = source.c[f"{kind.name}_id"]
            statements.append(sa.delete(source).where(column.in_(ids)))
        return statements

    def _records(self, kind: Kind, selector: Selector) -> sa.Delete:
        """Delete the set's records, after all else."""
        return sa.delete(kind.table(self.tables)).where(self._condition(kind, selector))

    def _chunk_ids(self, kind: Kind, selector: Selector) -> sa.Select[Any]:
        chunk_id = self.tables.record_chunks.c.chunk_id
        return sa.select(chunk_id).where(*self._chunks_of(kind, selector))

    def _chunks_of(self, kind: Kind, selector: Selector) -> tuple[ColumnElement[bool], ...]:
        chunks = self.tables.record_chunks.c
        of_kind = chunks.source_record_type.in_(kind.types)
        if selector == "record":
            return (chunks.source_id == bind("owner", chunks.source_id), of_kind)
        key = kind.table(self.tables).c[kind.key]
        ids = sa.select(key).where(self._condition(kind, selector))
        return (chunks.source_id.in_(ids), of_kind)

    def _condition(self, kind: Kind, selector: Selector) -> ColumnElement[bool]:
        table = kind.table(self.tables)
        key = table.c[kind.key]
        if selector == "record":
            return key == bind("owner", key)
        if selector == "records":
            return key.in_(bind("owner", key, expanding=True))
        if selector.endswith("_threads"):
            threads = self.tables.thread.c
            actor = threads[f"{selector.removesuffix('_threads')}_id"]
            owned = sa.select(threads.record_id).where(actor == bind("owner", actor))
            parent = key if kind.table_name == "thread" else table.c.thread_id
            return parent.in_(owned)
        if selector == "messages":
            parent = table.c.message_id
            return parent.in_(bind("owner", parent, expanding=True))
        column = table.c[f"{selector}_id"]
        return column == bind("owner", column)

    def _expired(self, kind: Kind) -> sa.Select[Any]:
        """Select at most `:limit` expired records: id, user and thread."""
        table = kind.table(self.tables)
        columns = [table.c[kind.key].label("id"), table.c.user_id, table.c.thread_id]
        return (
            sa.select(*columns)
            .where(table.c.expires_at <= utc_now())
            .order_by(table.c.expires_at)
            .limit(sa.bindparam("limit", type_=sa.Integer()))
        )

    @functools.cached_property
    def count_expired(self) -> tuple[sa.Select[Any], ...]:
        """Count the expired records of each kind that expires."""
        tables = [kind.table(self.tables) for kind in EXPIRING]
        count = sa.func.count()
        return tuple(
            sa.select(count).select_from(table).where(table.c.expires_at <= utc_now())
            for table in tables
        )
