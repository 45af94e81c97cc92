"""The managed tables: the reference's layout, version 13, for both databases.

Names are lower-case throughout; Oracle folds them to upper case. Column order, types,
nullability, checks and keys are those of the reference, so either SDK opens the other's store.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from oracleagentmemory.storage.constructs import created_now, random_uid
from oracleagentmemory.storage.types import (
    BlankableText,
    Blob,
    Json,
    JsonText,
    LongText,
    Number,
    RequiredLongText,
    Text,
    Uid,
    UtcTime,
    Vector,
)

SCHEMA_VERSION = "13"
LIFECYCLE_STATES = ("CREATING", "CREATED", "UPGRADE_REQUIRED", "UPGRADING", "FAILED", "DROPPING")


def _key(name: str = "record_id") -> sa.Column[Any]:
    return sa.Column(name, Text(), primary_key=True)


def _order(name: str = "order_seq") -> sa.Column[Any]:
    # Oracle numbers the row itself; on SQLite the number comes from x_sequence.
    return sa.Column(name, Number(), sa.Identity(always=True), nullable=False)


def _scope(*, thread: bool = False) -> list[sa.Column[Any]]:
    names = ["user_id", "agent_id", "space_id"]
    return [sa.Column(name, Text()) for name in (["thread_id", *names] if thread else names)]


def _metadata(name: str = "metadata") -> sa.Column[Any]:
    return sa.Column(name, Json())


def _status() -> sa.Column[Any]:
    return sa.Column("status", Text(30), nullable=False, server_default=sa.text("'valid'"))


def _status_check() -> sa.CheckConstraint:
    return sa.CheckConstraint("status IN ('valid', 'invalid')")


def _created_at(name: str = "created_at") -> sa.Column[Any]:
    return sa.Column(name, UtcTime(), nullable=False, server_default=created_now())


class ManagedTables:
    """The tables of one store.

    Args:
        prefix: Lower-case object prefix with its underscore, or `""`.
        metadata: Where the tables register; one per store.
        dimension: Numbers per vector, None when unknown.
        with_embedding: False leaves the `embedding` column out (an Oracle store without vectors).
    """

    def __init__(
        self,
        prefix: str = "",
        metadata: sa.MetaData | None = None,
        *,
        dimension: int | None = None,
        with_embedding: bool = True,
    ) -> None:
        self.prefix = prefix
        self.metadata = sa.MetaData() if metadata is None else metadata
        self.thread = self._thread()
        self.thread_summary = self._thread_summary()
        self.actor_profile = self._actor_profile()
        self.message = self._message()
        self.document = self._document()
        self.memory = self._memory()
        self.memory_link = self._memory_link()
        self.record_chunks = self._record_chunks(dimension, with_embedding)
        self.stores = self._stores()

    @property
    def record_tables(self) -> tuple[sa.Table, ...]:
        """Every prefixed managed table, parents first."""
        return (
            self.thread,
            self.thread_summary,
            self.actor_profile,
            self.message,
            self.document,
            self.memory,
            self.memory_link,
            self.record_chunks,
        )

    def _table(self, name: str, *parts: Any) -> sa.Table:
        # implicit_returning would add RETURNING order_seq to every single insert on Oracle.
        return sa.Table(self.prefix + name, self.metadata, *parts, implicit_returning=False)

    def _parent(self, table: str, column: str, target: str) -> sa.ForeignKeyConstraint:
        parent, _, key = target.partition(".")
        return sa.ForeignKeyConstraint(
            [column],
            [f"{self.prefix}{parent}.{key}"],
            name=f"{self.prefix}{table}",
            ondelete="CASCADE",
        )

    def _thread(self) -> sa.Table:
        return self._table(
            "thread",
            _key(),
            *_scope(),
            _metadata(),
            _metadata("runtime_config"),
            _metadata("runtime_state"),
            _created_at(),
        )

    def _thread_summary(self) -> sa.Table:
        return self._table(
            "thread_summary",
            _key(),
            sa.Column("thread_id", Text(), nullable=False),
            *_scope(),
            sa.Column("content", Json(none_as_null=False), nullable=False),
            _metadata(),
            _status(),
            _created_at(),
            _status_check(),
            self._parent("thread_summary_thread_fk", "thread_id", "thread.record_id"),
        )

    def _actor_profile(self) -> sa.Table:
        return self._table(
            "actor_profile",
            _key("actor_id"),
            sa.Column("actor_type", Text(30), nullable=False),
            sa.Column("space_id", Text()),
            _order(),
            sa.Column("information", RequiredLongText(), nullable=False),
            _metadata(),
            _status(),
            _created_at(),
            sa.CheckConstraint("actor_type IN ('user', 'agent')"),
            _status_check(),
        )

    def _message(self) -> sa.Table:
        table = self._table(
            "message",
            _key(),
            _order(),
            *_scope(thread=True),
            sa.Column("message_role", BlankableText(30), nullable=False),
            sa.Column("content", Json(none_as_null=False), nullable=False),
            sa.Column("timestamp", Text(64)),
            _metadata(),
            sa.Column("expires_at", UtcTime()),
            _status(),
            _created_at(),
            _status_check(),
            self._parent("message_thread_fk", "thread_id", "thread.record_id"),
        )
        sa.Index(f"{self.prefix}message_thread_order_i", table.c.thread_id, table.c.order_seq)
        return table

    def _document(self) -> sa.Table:
        owners = ("message_id", "thread_id", "user_id", "agent_id", "space_id")
        return self._table(
            "document",
            _key(),
            _order(),
            sa.Column("message_id", Text()),
            *_scope(thread=True),
            sa.Column("document_type", Text(), nullable=False),
            sa.Column("description", LongText()),
            sa.Column("blob", Blob(), nullable=False),
            sa.Column("timestamp", Text(64)),
            _metadata(),
            _metadata("document_metadata"),
            _created_at(),
            sa.Column("expires_at", UtcTime()),
            _status(),
            sa.CheckConstraint(
                " OR ".join(f"{owner} IS NOT NULL" for owner in owners),
                name=f"{self.prefix}document_scope_ck",
            ),
            _status_check(),
            self._parent("document_message_fk", "message_id", "message.record_id"),
        )

    def _memory(self) -> sa.Table:
        return self._table(
            "memory",
            _key(),
            _order(),
            *_scope(thread=True),
            sa.Column("memory_type", Text(), nullable=False),
            sa.Column("content", LongText()),
            sa.Column("timestamp", Text(64)),
            _metadata(),
            sa.Column("expires_at", UtcTime()),
            _status(),
            _created_at(),
            _status_check(),
            self._parent("memory_thread_fk", "thread_id", "thread.record_id"),
        )

    def _memory_link(self) -> sa.Table:
        ends = ("source_memory_id", "target_memory_id")
        table = self._table(
            "memory_link",
            _key("relation_id"),
            sa.Column("source_memory_id", Text(), nullable=False),
            sa.Column("source_memory_user_id", Text()),
            sa.Column("target_memory_id", Text(), nullable=False),
            sa.Column("target_memory_user_id", Text()),
            sa.Column("relation_type", Text(), nullable=False),
            sa.Column("opposite_relation_type", Text()),
            _metadata(),
            sa.Column("timestamp", Text(64)),
            _created_at(),
            sa.UniqueConstraint(*ends, "relation_type", name=f"{self.prefix}memory_link_uq"),
            self._parent("memory_link_source_fk", "source_memory_id", "memory.record_id"),
            self._parent("memory_link_target_fk", "target_memory_id", "memory.record_id"),
            sa.CheckConstraint("source_memory_id <> target_memory_id"),
        )
        sa.Index(f"{self.prefix}memory_link_source_i", table.c.source_memory_id)
        sa.Index(f"{self.prefix}memory_link_target_i", table.c.target_memory_id)
        return table

    def _record_chunks(self, dimension: int | None, with_embedding: bool) -> sa.Table:
        embedding: list[sa.Column[Any]] = (
            [sa.Column("embedding", Vector(dimension))] if with_embedding else []
        )
        return self._table(
            "record_chunks",
            sa.Column("chunk_id", Number(), sa.Identity(always=True), primary_key=True),
            sa.Column("source_id", Text(), nullable=False),
            sa.Column("source_record_type", Text(30), nullable=False),
            sa.Column("source_emb_column", Text(30), nullable=False),
            sa.Column("chunk_seq", Number(), nullable=False, server_default=sa.text("1")),
            sa.Column("chunk_text", LongText()),
            *_scope(thread=True),
            _status(),
            *embedding,
            _status_check(),
        )

    def _stores(self) -> sa.Table:
        """Build the registry: one table a schema, shared by every store in it."""
        states = ", ".join(f"'{state}'" for state in LIFECYCLE_STATES)
        strict = sa.CheckConstraint(
            "store_config IS JSON STRICT", name="agent_memory_stores_config_json_ck"
        )
        return sa.Table(
            "agent_memory_stores",
            self.metadata,
            sa.Column("memory_store_uid", Uid(), nullable=False, server_default=random_uid()),
            sa.Column("owner_id", Text(), nullable=False),
            sa.Column("memory_store_name", Text(), nullable=False),
            sa.Column(
                "lifecycle_state",
                Text(30),
                nullable=False,
                server_default=sa.text("'CREATING'"),
            ),
            sa.Column("schema_version", Text(30), nullable=False),
            sa.Column("store_config", JsonText(), nullable=False),
            _created_at(),
            _created_at("updated_at"),
            sa.PrimaryKeyConstraint("memory_store_uid", name="agent_memory_stores_pk"),
            sa.UniqueConstraint(
                "owner_id", "memory_store_name", name="agent_memory_stores_owner_uk"
            ),
            sa.CheckConstraint(f"lifecycle_state IN ({states})"),
            strict.ddl_if(dialect="oracle"),
            implicit_returning=False,
        )
