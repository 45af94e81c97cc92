"""What a dump reads: records in their order, and in portions what belongs to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.apis.upkeep import DumpScope
from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.storage.dump import (
    CHANGE,
    CHUNK,
    DUMPED_KINDS,
    GROUP,
    RELATION,
    SOURCE,
    STATE,
    DumpFormat,
    DumpHeader,
    encode_line,
)
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.fingerprints import fingerprint, marked_image
from oracleagentmemory.storage.kinds import IMAGE, MEMORY, PROFILE, SUMMARY, THREAD, Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.statements import bind, columns_of, in_lists

#: What restores and repairs note as the kind of record changed; such notes are in no dump.
WHOLE_STORE = "store"
#: Where a summary says how far it reaches.
COVERED = "summary_last_message_order_seq"


class DumpReads:
    """Writes the lines of one dump.

    Args:
        scope: Which records; None for the whole store with the log of its changes.
        has_extras: Whether the SDK-only tables exist.
    """

    def __init__(
        self,
        tables: ManagedTables,
        extras: ExtraTables,
        scope: DumpScope | None,
        *,
        has_extras: bool,
    ) -> None:
        self.tables = tables
        self.extras = extras
        self.scope = scope
        self.has_extras = has_extras
        self.form = DumpFormat(tables, extras)
        self._chunks = self._select_chunks()
        image = tables.document.c
        of_id = image.record_id == bind("id", image.record_id)
        self._bytes = sa.select(image.blob).where(of_id)

    def lines(self, connection: sa.Connection, header: DumpHeader) -> Iterator[bytes]:
        """Yield every line of the dump, as the connection sees the store."""
        yield header.to_line()
        count = 0
        for line in self._rows(connection):
            count += 1
            yield line
        yield encode_line({"end": count})

    def _rows(self, connection: sa.Connection) -> Iterator[bytes]:
        for kind in DUMPED_KINDS:
            statement = self._select_records(kind)
            if statement is None:
                continue
            with connection.execute(statement) as records:
                for portion in records.partitions(GROUP):
                    yield from self._portion(connection, kind, portion)
        relations = self._select_relations()
        if relations is not None:
            yield from self._plain(connection, RELATION, relations)
        if self.scope is None and self.has_extras:
            yield from self._plain(connection, CHANGE, self._select_changes())

    def _plain(
        self, connection: sa.Connection, name: str, statement: sa.Select[Any]
    ) -> Iterator[bytes]:
        with connection.execute(statement) as rows:
            for portion in rows.partitions(GROUP):
                yield from (self.form.encode(name, dict(row._mapping)) for row in portion)

    def _portion(
        self, connection: sa.Connection, kind: Kind, records: Sequence[Any]
    ) -> Iterator[bytes]:
        """Yield some records, then their states, chunks and sources."""
        for record in records:
            columns = dict(record._mapping)
            if kind is IMAGE:  # read one by one: a portion of them may be more than memory holds
                data = connection.execute(self._bytes, {"id": record.record_id}).scalar_one()
                columns["blob"] = bytes(data)
            if kind is SUMMARY:
                columns["metadata"] = self._with_position(connection, record)
            yield self.form.encode(kind.table_name, columns)
        ids = [record._mapping[kind.key] for record in records]
        if self.has_extras:
            yield from self._states(connection, kind, records, ids)
        if kind.text is not None:
            rows = connection.execute(self._chunks, {"ids": ids, "types": kind.types})
            yield from self._in_order(CHUNK, ids, rows, "source_id")
        if self.has_extras and kind is MEMORY:
            source = self.extras.source
            among = source.c.memory_id.in_(ids)
            rows = connection.execute(sa.select(source).where(among).order_by(source.c.message_id))
            yield from self._in_order(SOURCE, ids, rows, "memory_id")

    def _states(
        self, connection: sa.Connection, kind: Kind, records: Sequence[Any], ids: list[str]
    ) -> Iterator[bytes]:
        state = self.extras.record_state
        mine = (state.c.record_kind == kind.name, state.c.record_id.in_(ids))
        states = {
            row.record_id: row._mapping for row in connection.execute(sa.select(state).where(*mine))
        }
        for record_id, record in zip(ids, records, strict=True):
            if record_id not in states:
                continue
            columns = dict(states[record_id])
            # Ids and positions may change on the way: only a fingerprint that tells of a change
            # from outside is worth keeping.
            row = record._mapping
            hashed = marked_image(row, columns["content_hash"]) if kind is IMAGE else row
            if columns["fingerprint"] == fingerprint(kind.name, hashed):
                columns["fingerprint"] = None
            yield self.form.encode(STATE, columns)

    def _in_order(self, name: str, ids: Sequence[str], rows: Any, owner: str) -> Iterator[bytes]:
        """Yield rows in the order of the records they belong to."""
        by_owner: dict[str, list[Any]] = defaultdict(list)
        for row in rows:
            by_owner[row._mapping[owner]].append(row._mapping)
        for record_id in ids:
            yield from (self.form.encode(name, row) for row in by_owner[record_id])

    def _with_position(self, connection: sa.Connection, summary: Any) -> Any:
        """Return a summary's metadata that counts the messages it covers, instead of a number."""
        reserved = (summary.metadata or {}).get(RESERVED_KEY)
        covered = reserved.get(COVERED) if isinstance(reserved, Mapping) else None
        if reserved is None or isinstance(covered, bool) or not isinstance(covered, int):
            return summary.metadata
        message = self.tables.message.c
        covers = (message.thread_id == summary.thread_id, message.order_seq <= covered)
        count = connection.execute(sa.select(sa.func.count()).where(*covers)).scalar_one()
        return {**summary.metadata, RESERVED_KEY: {**reserved, COVERED: count}}

    # -- statements -----------------------------------------------------------------------------

    def _select_records(self, kind: Kind) -> sa.Select[Any] | None:
        """Select a kind's records in their order; None when the scope holds none."""
        table = kind.table(self.tables)
        order = [table.c[kind.order]]
        if kind.order != "order_seq":
            order.append(table.c[kind.key])
        columns = columns_of(kind, table, with_bytes=False)
        statement = sa.select(*columns).order_by(*order)
        if self.scope is None:
            return statement
        chosen = self._chosen(kind)
        return statement.where(sa.or_(*chosen)) if chosen else None

    def _select_chunks(self) -> sa.Select[Any]:
        chunks, tokens = self.tables.record_chunks, self.extras.chunk_token
        among = (
            chunks.c.source_id.in_(bind("ids", chunks.c.source_id, expanding=True)),
            chunks.c.source_record_type.in_(
                bind("types", chunks.c.source_record_type, expanding=True)
            ),
        )
        statement = sa.select(chunks)
        if self.has_extras:
            with_tokens = chunks.outerjoin(tokens, tokens.c.chunk_id == chunks.c.chunk_id)
            statement = sa.select(chunks, tokens.c.token_ids).select_from(with_tokens)
        return statement.where(*among).order_by(chunks.c.chunk_seq, chunks.c.chunk_id)

    def _select_relations(self) -> sa.Select[Any] | None:
        """Select the relations of the dumped memories, whichever end those are."""
        link, memory = self.tables.memory_link, self.tables.memory
        statement = sa.select(link).order_by(link.c.created_at, link.c.relation_id)
        if self.scope is None:
            return statement
        chosen = self._chosen(MEMORY)
        if not chosen:
            return None
        ids = sa.select(memory.c.record_id).where(sa.or_(*chosen))
        ends = (link.c.source_memory_id.in_(ids), link.c.target_memory_id.in_(ids))
        return statement.where(sa.or_(*ends))

    def _select_changes(self) -> sa.Select[Any]:
        change = self.extras.change
        mine = change.c.record_kind != WHOLE_STORE
        return sa.select(change).where(mine).order_by(change.c.change_id)

    def _chosen(self, kind: Kind) -> list[ColumnElement[bool]]:
        """Return the conditions on a kind's table of which one must hold (none: no record)."""
        assert self.scope is not None  # noqa: S101 - a whole store has no condition
        scope, table = self.scope, kind.table(self.tables)
        wanted = _among(table.c[kind.key], scope.record_ids)
        if kind is PROFILE:
            of_users = _among(table.c.actor_id, scope.user_ids)
            return [*wanted, *(sa.and_(table.c.actor_type == "user", one) for one in of_users)]
        if kind is THREAD:
            named = _among(table.c.record_id, scope.thread_ids)
            owned = _among(table.c.user_id, scope.user_ids)
            return [*wanted, *named, *owned, *self._spoken_in()]
        threads = self._chosen(THREAD)
        in_threads: list[ColumnElement[bool]] = [
            table.c.thread_id.in_(sa.select(self.tables.thread.c.record_id).where(sa.or_(*threads)))
            for _ in threads[:1]
        ]
        if kind is SUMMARY:
            return in_threads
        if kind is IMAGE:
            wanted += _among(table.c.message_id, scope.record_ids)
        return [*in_threads, *_among(table.c.user_id, scope.user_ids), *wanted]

    def _spoken_in(self) -> list[ColumnElement[bool]]:
        """Threads that hold a message of one of the users."""
        assert self.scope is not None  # noqa: S101 - as above
        message, thread = self.tables.message.c, self.tables.thread.c
        return [
            thread.record_id.in_(
                sa.select(message.thread_id).where(message.thread_id.is_not(None), by_user)
            )
            for by_user in _among(message.user_id, self.scope.user_ids)
        ]


def _among(column: sa.ColumnElement[Any], ids: Collection[str]) -> list[ColumnElement[bool]]:
    # Databases limit the length of an IN list.
    return [column.in_(part) for part in in_lists(list(ids))]
