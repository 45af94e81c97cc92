"""The managed layout of the reference SDK, schema version 13, as facts.

Written from the description of that layout, not from our tables: ``test_layout`` compares the DDL
that our tables compile to with what stands here, in both directions. Names are lower-case and
without a prefix; a column's order is the order of its table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

IDENTITY = "NUMBER GENERATED ALWAYS AS IDENTITY"
ZONED = "TIMESTAMP(6) WITH TIME ZONE"
ID = "VARCHAR2(128)"
NOW = "SYSTIMESTAMP"
DIMENSION = 256


@dataclass(frozen=True)
class Column:
    """One column: its type as Oracle text, nullability and default."""

    name: str
    type: str
    nullable: bool = True
    default: str | None = None


@dataclass(frozen=True)
class ForeignKey:
    """A foreign key of one column."""

    name: str
    column: str
    table: str
    referred: str
    on_delete: str = "CASCADE"


@dataclass(frozen=True)
class Key:
    """A primary or unique key; ``name`` is None where the database makes one."""

    columns: tuple[str, ...]
    name: str | None = None


@dataclass(frozen=True)
class Check:
    """A check constraint, its condition in upper-case words with single spaces."""

    condition: str
    name: str | None = None


@dataclass(frozen=True)
class Table:
    """All that the layout says of one table."""

    name: str
    columns: tuple[Column, ...]
    primary_key: Key
    checks: frozenset[Check] = frozenset()
    unique_keys: frozenset[Key] = frozenset()
    foreign_keys: frozenset[ForeignKey] = frozenset()


@dataclass(frozen=True)
class Index:
    """A b-tree index."""

    name: str
    table: str
    columns: tuple[str, ...] = field(default=())


def _required(name: str, type_: str = ID, default: str | None = None) -> Column:
    return Column(name, type_, nullable=False, default=default)


def _optional(*names: str, type_: str = ID) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name in names)


RECORD_ID = _required("record_id")
ORDER_SEQ = _required("order_seq", IDENTITY)
STATUS = _required("status", "VARCHAR2(30)", "'valid'")
CREATED_AT = _required("created_at", ZONED, NOW)
UPDATED_AT = _required("updated_at", ZONED, NOW)
METADATA = Column("metadata", "JSON")
TIMESTAMP = Column("timestamp", "VARCHAR2(64)")
EXPIRES_AT = Column("expires_at", ZONED)
SCOPE = _optional("user_id", "agent_id", "space_id")
THREAD_AND_SCOPE = _optional("thread_id", "user_id", "agent_id", "space_id")
STATUS_CHECK = Check("STATUS IN ('valid', 'invalid')")

_THREAD = Table(
    "thread",
    (
        RECORD_ID,
        *SCOPE,
        METADATA,
        *_optional("runtime_config", "runtime_state", type_="JSON"),
        CREATED_AT,
    ),
    Key(("record_id",)),
)
_THREAD_SUMMARY = Table(
    "thread_summary",
    (
        RECORD_ID,
        _required("thread_id"),
        *SCOPE,
        _required("content", "JSON"),
        METADATA,
        STATUS,
        CREATED_AT,
    ),
    Key(("record_id",)),
    checks=frozenset({STATUS_CHECK}),
    foreign_keys=frozenset(
        {ForeignKey("thread_summary_thread_fk", "thread_id", "thread", "record_id")}
    ),
)
_ACTOR_PROFILE = Table(
    "actor_profile",
    (
        _required("actor_id"),
        _required("actor_type", "VARCHAR2(30)"),
        Column("space_id", ID),
        ORDER_SEQ,
        _required("information", "CLOB"),
        METADATA,
        STATUS,
        CREATED_AT,
    ),
    Key(("actor_id",)),
    checks=frozenset({STATUS_CHECK, Check("ACTOR_TYPE IN ('user', 'agent')")}),
)
_MESSAGE = Table(
    "message",
    (
        RECORD_ID,
        ORDER_SEQ,
        *THREAD_AND_SCOPE,
        _required("message_role", "VARCHAR2(30)"),
        _required("content", "JSON"),
        TIMESTAMP,
        METADATA,
        EXPIRES_AT,
        STATUS,
        CREATED_AT,
    ),
    Key(("record_id",)),
    checks=frozenset({STATUS_CHECK}),
    foreign_keys=frozenset({ForeignKey("message_thread_fk", "thread_id", "thread", "record_id")}),
)
_DOCUMENT = Table(
    "document",
    (
        RECORD_ID,
        ORDER_SEQ,
        Column("message_id", ID),
        *THREAD_AND_SCOPE,
        _required("document_type"),
        Column("description", "CLOB"),
        _required("blob", "BLOB"),
        TIMESTAMP,
        METADATA,
        Column("document_metadata", "JSON"),
        CREATED_AT,
        EXPIRES_AT,
        STATUS,
    ),
    Key(("record_id",)),
    checks=frozenset(
        {
            STATUS_CHECK,
            Check(
                "MESSAGE_ID IS NOT NULL OR THREAD_ID IS NOT NULL OR USER_ID IS NOT NULL"
                " OR AGENT_ID IS NOT NULL OR SPACE_ID IS NOT NULL",
                "document_scope_ck",
            ),
        }
    ),
    foreign_keys=frozenset(
        {ForeignKey("document_message_fk", "message_id", "message", "record_id")}
    ),
)
_MEMORY = Table(
    "memory",
    (
        RECORD_ID,
        ORDER_SEQ,
        *THREAD_AND_SCOPE,
        _required("memory_type"),
        Column("content", "CLOB"),
        TIMESTAMP,
        METADATA,
        EXPIRES_AT,
        STATUS,
        CREATED_AT,
    ),
    Key(("record_id",)),
    checks=frozenset({STATUS_CHECK}),
    foreign_keys=frozenset({ForeignKey("memory_thread_fk", "thread_id", "thread", "record_id")}),
)
_MEMORY_LINK = Table(
    "memory_link",
    (
        _required("relation_id"),
        _required("source_memory_id"),
        Column("source_memory_user_id", ID),
        _required("target_memory_id"),
        Column("target_memory_user_id", ID),
        _required("relation_type"),
        Column("opposite_relation_type", ID),
        METADATA,
        TIMESTAMP,
        CREATED_AT,
    ),
    Key(("relation_id",)),
    checks=frozenset({Check("SOURCE_MEMORY_ID <> TARGET_MEMORY_ID")}),
    unique_keys=frozenset(
        {Key(("source_memory_id", "target_memory_id", "relation_type"), "memory_link_uq")}
    ),
    foreign_keys=frozenset(
        {
            ForeignKey("memory_link_source_fk", "source_memory_id", "memory", "record_id"),
            ForeignKey("memory_link_target_fk", "target_memory_id", "memory", "record_id"),
        }
    ),
)
_RECORD_CHUNKS = Table(
    "record_chunks",
    (
        _required("chunk_id", IDENTITY),
        _required("source_id"),
        _required("source_record_type", "VARCHAR2(30)"),
        _required("source_emb_column", "VARCHAR2(30)"),
        _required("chunk_seq", "NUMBER", "1"),
        Column("chunk_text", "CLOB"),
        *THREAD_AND_SCOPE,
        STATUS,
        Column("embedding", f"VECTOR({DIMENSION})"),
    ),
    Key(("chunk_id",)),
    checks=frozenset({STATUS_CHECK}),
)
_STORES = Table(
    "agent_memory_stores",
    (
        _required("memory_store_uid", "RAW(16)", "SYS_GUID()"),
        _required("owner_id"),
        _required("memory_store_name"),
        _required("lifecycle_state", "VARCHAR2(30)", "'CREATING'"),
        _required("schema_version", "VARCHAR2(30)"),
        _required("store_config", "CLOB"),
        CREATED_AT,
        UPDATED_AT,
    ),
    Key(("memory_store_uid",), "agent_memory_stores_pk"),
    checks=frozenset(
        {
            Check("STORE_CONFIG IS JSON STRICT", "agent_memory_stores_config_json_ck"),
            Check(
                "LIFECYCLE_STATE IN ('CREATING', 'CREATED', 'UPGRADE_REQUIRED', 'UPGRADING',"
                " 'FAILED', 'DROPPING')"
            ),
        }
    ),
    unique_keys=frozenset({Key(("owner_id", "memory_store_name"), "agent_memory_stores_owner_uk")}),
)

REGISTRY = _STORES.name
TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        _THREAD,
        _THREAD_SUMMARY,
        _ACTOR_PROFILE,
        _MESSAGE,
        _DOCUMENT,
        _MEMORY,
        _MEMORY_LINK,
        _RECORD_CHUNKS,
        _STORES,
    )
}
INDEXES: frozenset[Index] = frozenset(
    {
        Index("message_thread_order_i", "message", ("thread_id", "order_seq")),
        Index("memory_link_source_i", "memory_link", ("source_memory_id",)),
        Index("memory_link_target_i", "memory_link", ("target_memory_id",)),
    }
)
# The layout lacks these; ours are additive and carry the name prefix of the SDK-only objects.
EXTRA_INDEXES: frozenset[tuple[str, tuple[str, ...]]] = frozenset(
    {
        ("memory", ("order_seq",)),
        ("message", ("order_seq",)),
        ("memory", ("user_id", "order_seq")),
        ("message", ("user_id", "order_seq")),
        ("memory", ("thread_id",)),
        ("message", ("thread_id",)),
        ("memory", ("user_id", "expires_at")),
        ("message", ("user_id", "expires_at")),
        ("record_chunks", ("source_record_type", "source_id")),
        ("record_chunks", ("user_id", "chunk_id")),
        ("record_chunks", ("thread_id",)),
        ("document", ("message_id",)),
        ("thread_summary", ("thread_id",)),
    }
)
