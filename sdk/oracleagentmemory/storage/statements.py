"""The statements of a store, each built once: building them per call halves the write speed."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.storage.constructs import byte_length, utc_now
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.fingerprints import BYTE_COUNT
from oracleagentmemory.storage.kinds import IMAGE, Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.ready_select import ReadySelect
from oracleagentmemory.storage.rows import RECORD_COLUMNS

#: Columns that an update may change, by kind; every update statement sets them all.
CHANGEABLE = {
    "message": ("content", "timestamp", "metadata", "expires_at", "status"),
    "memory": ("content", "timestamp", "metadata", "expires_at", "status"),
    "profile": ("information", "metadata", "status"),
    "thread": ("metadata", "runtime_config", "runtime_state"),
    "thread_summary": ("content", "metadata", "status"),
    "image": (
        "description",
        "blob",
        "document_metadata",
        "timestamp",
        "metadata",
        "expires_at",
        "status",
    ),
}


T = TypeVar("T")
#: Values in one IN list; databases limit the parameters of a statement.
IN_LIST = 1000


def in_lists(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut values into parts that fit an IN list."""
    for start in range(0, len(values), IN_LIST):
        yield values[start : start + IN_LIST]


def padded_lists(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut values as `in_lists` does and repeat each part's last up to one of few lengths."""
    for part in in_lists(values):
        size = min(IN_LIST, 1 << (len(part) - 1).bit_length())
        yield [*part, *([part[-1]] * (size - len(part)))]


def bind(name: str, like: ColumnElement[Any], **options: Any) -> sa.BindParameter[Any]:
    """Return a bind parameter with the type of a column."""
    return sa.bindparam(name, type_=like.type, **options)


def not_expired(table: sa.FromClause) -> ColumnElement[bool]:
    """Return the condition that hides expired rows."""
    expires_at = table.c.expires_at
    return sa.or_(expires_at.is_(None), expires_at > utc_now())


def visible(kind: Kind, tables: ManagedTables) -> ColumnElement[bool]:
    """Return the condition that hides a kind's expired rows, and images of expired messages."""
    table = kind.table(tables)
    if kind is not IMAGE:
        return not_expired(table)
    parent = tables.message.alias("parent")  # of its own: a search joins messages too
    gone = sa.select(parent.c.record_id).where(
        parent.c.record_id == table.c.message_id, parent.c.expires_at <= utc_now()
    )
    return sa.and_(not_expired(table), ~gone.correlate(table).exists())


def columns_of(kind: Kind, table: sa.Table, *, with_bytes: bool) -> list[Any]:
    """Return what a read selects of a kind's table: all columns, of bytes only their number.

    Args:
        with_bytes: Whether bytes are read themselves.
    """
    if with_bytes or "blob" not in table.c:
        return list(table.c)
    rest = [column for column in table.c if column.name != "blob"]
    return [*rest, byte_length(table.c.blob).label(BYTE_COUNT)]


def changeable(kind: Kind, row: Any) -> dict[str, Any]:
    """Return the changeable columns of a row that were read; bytes are not."""
    names = [name for name in CHANGEABLE[kind.name] if name != "blob"]
    return {name: row._mapping[name] for name in names}


class Statements:
    """Every fixed statement over one store's tables, cached by what it depends on."""

    def __init__(self, tables: ManagedTables, extras: ExtraTables) -> None:
        self.tables = tables
        self.extras = extras
        self.insert = functools.cache(self._insert)
        self.select_one = functools.cache(self._select_one)
        self.select_many = functools.cache(self._select_many)
        self.update = functools.cache(self._update)
        self.existing = functools.cache(self._existing)
        self.select_found = functools.cache(self._select_found)

    def _insert(self, table: sa.TableClause) -> sa.Insert:
        return sa.insert(table)

    def _select_one(
        self,
        kind: Kind,
        *,
        locked: bool = False,
        expired: bool = False,
        with_bytes: bool = False,
    ) -> sa.Select[Any]:
        """Select a record by `:id` and, where the kind has types, `:type`."""
        table = kind.table(self.tables)
        statement = sa.select(*columns_of(kind, table, with_bytes=with_bytes)).where(
            table.c[kind.key] == bind("id", table.c[kind.key])
        )
        if kind.type_column is not None:
            column = table.c[kind.type_column]
            statement = statement.where(column == bind("type", column))
        if kind.expires and not expired:
            statement = statement.where(visible(kind, self.tables))
        return statement.with_for_update() if locked else statement

    def _select_many(self, kind: Kind) -> sa.Select[Any]:
        """Select the unexpired records among `:ids`, without bytes."""
        table = kind.table(self.tables)
        key = table.c[kind.key]
        columns = columns_of(kind, table, with_bytes=False)
        statement = sa.select(*columns).where(key.in_(bind("ids", key, expanding=True)))
        return statement.where(visible(kind, self.tables)) if kind.expires else statement

    def _select_found(self, kind: Kind, count: int) -> ReadySelect:
        """Select what the unexpired records among `:id_0`, `:id_1`, … are made of.

        A list of fixed length is compiled once; one that is expanded costs as much as the query.
        """
        table = kind.table(self.tables)
        key = table.c[kind.key]
        ids = [bind(f"id_{number}", key) for number in range(count)]
        columns = [table.c[name] for name in RECORD_COLUMNS[kind.name]]
        statement = sa.select(*columns).where(key.in_(ids))
        return ReadySelect(
            statement.where(visible(kind, self.tables)) if kind.expires else statement
        )

    @functools.cached_property
    def select_bytes(self) -> sa.Select[Any]:
        """Select the bytes of the image `:id`."""
        image = self.tables.document.c
        return sa.select(image.blob).where(image.record_id == bind("id", image.record_id))

    def _existing(self, kind: Kind, *, locked: bool = False) -> sa.Select[Any]:
        """Select which of `:ids` exist, expired ones too."""
        key = kind.table(self.tables).c[kind.key]
        statement = sa.select(key).where(key.in_(bind("ids", key, expanding=True)))
        return statement.with_for_update() if locked else statement

    def _update(self, kind: Kind, *, with_bytes: bool = False) -> sa.Update:
        """Set every changeable column of the record `:id_`, an image's bytes only if asked for."""
        table = kind.table(self.tables)
        names = [name for name in CHANGEABLE[kind.name] if with_bytes or name != "blob"]
        values = {name: bind(name, table.c[name]) for name in names}
        key = table.c[kind.key]
        return sa.update(table).where(key == bind("id_", key)).values(values)

    # -- retrieval rows of one record --------------------------------------------------------

    @functools.cached_property
    def chunks_of(self) -> sa.Select[Any]:
        """Select number, text and vector of a record's chunks, in order."""
        chunks = self.tables.record_chunks.c
        columns = [chunks.chunk_id, chunks.chunk_seq, chunks.chunk_text]
        return sa.select(*columns).where(*self._of_source()).order_by(chunks.chunk_seq)

    @functools.cached_property
    def set_chunk_status(self) -> sa.Update:
        chunks = self.tables.record_chunks
        status = bind("new_status", chunks.c.status)
        return sa.update(chunks).where(*self._of_source()).values(status=status)

    @functools.cached_property
    def set_chunk_vector(self) -> sa.Update:
        chunks = self.tables.record_chunks
        vector = bind("vector", chunks.c.embedding)
        same = chunks.c.chunk_id == bind("id", chunks.c.chunk_id)
        return sa.update(chunks).where(same).values(embedding=vector)

    def _of_source(self) -> tuple[ColumnElement[bool], ...]:
        chunks = self.tables.record_chunks.c
        return (
            chunks.source_id == bind("of_source_id", chunks.source_id),
            chunks.source_record_type == bind("source_type", chunks.source_record_type),
        )

    # -- SDK-only rows ----------------------------------------------------------------------

    @functools.cached_property
    def take_numbers(self) -> Any:
        """Advance the sequence by `:count` and return its last number (SQLite)."""
        last = self.extras.sequence.c.last
        count = bind("count", last)
        return sa.update(self.extras.sequence).values(last=last + count).returning(last)

    @functools.cached_property
    def with_state(self) -> sa.Select[Any]:
        """Select which of `:ids` of a `:kind` have a state."""
        state = self.extras.record_state.c
        among = state.record_id.in_(bind("ids", state.record_id, expanding=True))
        return sa.select(state.record_id).where(
            state.record_kind == bind("kind", state.record_kind), among
        )

    @functools.cached_property
    def noted_content(self) -> sa.Select[Any]:
        """Select what is noted of the content of the record `:id` of a `:kind`."""
        state = self.extras.record_state.c
        return sa.select(state.content_hash).where(
            state.record_kind == bind("kind", state.record_kind),
            state.record_id == bind("id", state.record_id),
        )

    @functools.cached_property
    def update_state(self) -> sa.Update:
        """Count a record's version up and note what it looks like now."""
        state = self.extras.record_state
        names = ("fingerprint", "content_hash", "updated_at", "effective_at")
        return (
            sa.update(state)
            .where(
                state.c.record_kind == bind("kind", state.c.record_kind),
                state.c.record_id == bind("id", state.c.record_id),
            )
            .values(
                version=state.c.version + 1, **{name: bind(name, state.c[name]) for name in names}
            )
        )
