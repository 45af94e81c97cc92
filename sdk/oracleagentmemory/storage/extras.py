"""SDK-only tables and indexes: what the managed layout has no room for.

All names start with `<prefix>x_`. They are additive, can be dropped without losing a record, and
no foreign key reaches them: whoever deletes records names them.
"""

from __future__ import annotations

import sqlalchemy as sa

from oracleagentmemory.storage.constructs import created_now
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.types import Blob, Number, Text, UtcTime, Vector

#: Number of this module's layout; a change of it needs a step in `upgrades.py`.
EXTRAS_VERSION = 2
#: Scope key of records that belong to no user; no user's key can equal it (theirs start with u:).
UNSCOPED = "-"


def scope_key(user_id: str | None) -> str:
    """Return the text under which changes of one user's records are numbered."""
    return UNSCOPED if user_id is None else f"u:{user_id}"


class ExtraTables:
    """The SDK-only tables of one store, with the indexes the managed layout lacks."""

    def __init__(self, managed: ManagedTables) -> None:
        self.prefix = f"{managed.prefix}x_"
        self.metadata = managed.metadata
        self.sequence = self._sequence()
        self.record_state = self._record_state()
        self.change = self._change()
        self.chunk_token = self._chunk_token()
        self.new_vector = self._new_vector()
        self.source = self._source()
        self.text = self._text()
        self._index_managed(managed)

    @property
    def tables(self) -> tuple[sa.Table, ...]:
        """The tables that exist on both databases."""
        return (self.record_state, self.change, self.chunk_token, self.new_vector, self.source)

    def _table(self, name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
        return sa.Table(self.prefix + name, self.metadata, *parts, implicit_returning=False)

    def _sequence(self) -> sa.Table:
        """SQLite only: the one source of order, chunk and change numbers, never reused."""
        return self._table("sequence", sa.Column("last", Number(), nullable=False))

    def _record_state(self) -> sa.Table:
        table = self._table(
            "record_state",
            sa.Column("record_kind", Text(30), primary_key=True),
            sa.Column("record_id", Text(), primary_key=True),
            sa.Column("version", Number(), nullable=False),
            sa.Column("fingerprint", Text(64), nullable=False),
            sa.Column("content_hash", Text(64), nullable=False),
            sa.Column("updated_at", UtcTime(), nullable=False),
            sa.Column("effective_at", UtcTime(), nullable=False),
        )
        by_time = (table.c.record_kind, table.c.effective_at)
        sa.Index(f"{self.prefix}record_state_effective_i", *by_time)
        return table

    def _change(self) -> sa.Table:
        """Append-only; a scope's newest number is the version that caches compare."""
        table = self._table(
            "change",
            sa.Column("change_id", Number(), sa.Identity(always=True), primary_key=True),
            sa.Column("scope_key", Text(130), nullable=False),
            sa.Column("record_kind", Text(30), nullable=False),
            sa.Column("record_id", Text(), nullable=False),
            sa.Column("operation", Text(30), nullable=False),
            sa.Column("fingerprint", Text(64)),
            sa.Column("changed_at", UtcTime(), nullable=False, server_default=created_now()),
            sa.Column("process", Text()),
        )
        sa.Index(f"{self.prefix}change_scope_i", table.c.scope_key, table.c.change_id)
        return table

    def _chunk_token(self) -> sa.Table:
        """Sorted unique token ids of a chunk as little-endian uint32."""
        return self._table(
            "chunk_token",
            sa.Column("chunk_id", Number(), primary_key=True, autoincrement=False),
            sa.Column("token_ids", Blob(), nullable=False),
        )

    def _new_vector(self) -> sa.Table:
        """What a re-embedding has made so far; empty when none is under way."""
        return self._table(
            "new_vector",
            sa.Column("chunk_id", Number(), primary_key=True, autoincrement=False),
            sa.Column("embedding", Vector(), nullable=False),
            sa.Column("token_ids", Blob()),
        )

    def _source(self) -> sa.Table:
        table = self._table(
            "source",
            sa.Column("memory_id", Text(), primary_key=True),
            sa.Column("message_id", Text(), primary_key=True),
            sa.Column("job_id", Text()),
            sa.Column("model", Text()),
            sa.Column("prompt_version", Text(64)),
            sa.Column("recorded_at", UtcTime(), nullable=False, server_default=created_now()),
        )
        sa.Index(f"{self.prefix}source_message_i", table.c.message_id)
        return table

    def _text(self) -> sa.TableClause:
        """SQLite only, a full-text table whose row number is the chunk's number."""
        return sa.table(
            f"{self.prefix}text",
            sa.column("rowid", Number()),
            sa.column("scope", sa.Text()),
            sa.column("body", sa.Text()),
        )

    def _index_managed(self, managed: ManagedTables) -> None:
        # MESSAGE by thread is the reference's own message_thread_order_i.
        for table in (managed.memory, managed.message):
            c = table.c
            name = f"{self.prefix}{table.name.removeprefix(managed.prefix)}"
            sa.Index(f"{name}_order_i", c.order_seq)
            # With the expiry inside, counting a user's visible rows reads the index alone.
            sa.Index(f"{name}_user_i", c.user_id, c.order_seq, c.expires_at)
            sa.Index(f"{name}_agent_i", c.agent_id, c.order_seq, c.expires_at)
            sa.Index(
                f"{name}_expiry_i",
                c.user_id,
                c.expires_at,
                sqlite_where=c.expires_at.is_not(None),
            )
        chunks, thread = managed.record_chunks.c, managed.thread.c
        x = self.prefix
        sa.Index(f"{x}memory_thread_i", managed.memory.c.thread_id, managed.memory.c.order_seq)
        sa.Index(f"{x}chunks_source_i", chunks.source_id, chunks.source_record_type)
        sa.Index(f"{x}chunks_user_i", chunks.user_id, chunks.chunk_id)
        sa.Index(f"{x}chunks_thread_i", chunks.thread_id)
        document = managed.document.c
        sa.Index(f"{x}document_message_i", document.message_id)
        sa.Index(f"{x}document_order_i", document.order_seq)
        for name in ("user_id", "agent_id", "thread_id"):
            index = f"{x}document_{name.removesuffix('_id')}_i"
            sa.Index(index, document[name], document.order_seq, document.expires_at)
        sa.Index(f"{x}thread_summary_thread_i", managed.thread_summary.c.thread_id)
        page = (thread.created_at, thread.record_id)
        sa.Index(f"{x}thread_user_i", thread.user_id, *page)
        sa.Index(f"{x}thread_agent_i", thread.agent_id, *page)
        sa.Index(f"{x}thread_created_i", *page)
        link = managed.memory_link.c
        sa.Index(f"{x}memory_link_created_i", link.created_at, link.relation_id)
