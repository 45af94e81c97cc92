"""Which table holds which type of record, and how its columns are called."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.layout import ManagedTables


@dataclass(frozen=True)
class Kind:
    """One table of records.

    Attributes:
        name: The kind in `x_record_state` and `x_change`.
        table_name: The attribute of `ManagedTables`.
        types: Record types that the table holds.
        key: Its id column.
        text: The column whose text is searched, None when none is.
        type_column: The column that tells the types apart.
        expires: Whether records can have a time to live.
        order: The column that lists are ordered by.
    """

    name: str
    table_name: str
    types: tuple[str, ...]
    key: str = "record_id"
    text: str | None = "content"
    type_column: str | None = None
    expires: bool = False
    order: str = "order_seq"

    def table(self, tables: ManagedTables) -> sa.Table:
        """Return the kind's table."""
        table: sa.Table = getattr(tables, self.table_name)
        return table

    def stored_type(self, record_type: str) -> str:
        """Return what the type column holds for a record type."""
        return record_type.removesuffix("_profile") if self is PROFILE else record_type


MESSAGE = Kind("message", "message", ("message",), expires=True)
MEMORY = Kind(
    "memory",
    "memory",
    ("memory", "guideline", "fact", "preference"),
    type_column="memory_type",
    expires=True,
)
PROFILE = Kind(
    "profile",
    "actor_profile",
    ("user_profile", "agent_profile"),
    key="actor_id",
    text="information",
    type_column="actor_type",
)
THREAD = Kind("thread", "thread", ("thread",), text=None, order="created_at")
IMAGE = Kind(
    "image",
    "document",
    ("image",),
    text="description",
    type_column="document_type",
    expires=True,
)
SUMMARY = Kind(
    "thread_summary", "thread_summary", ("thread_summary",), text=None, order="created_at"
)
#: No record, and noted in `x_change` alone.
RELATION = Kind("memory_link", "memory_link", (), key="relation_id", text=None, order="created_at")

KINDS = (MESSAGE, MEMORY, PROFILE, THREAD, SUMMARY, IMAGE)
#: What a thread takes with it, children first.
PARTS_OF_THREAD = (IMAGE, MESSAGE, MEMORY, SUMMARY)
#: What may belong to a user or agent without a thread, children first.
PARTS_OF_ACTOR = (IMAGE, MESSAGE, MEMORY)
EXPIRING = (IMAGE, MESSAGE, MEMORY)
SEARCHED_TYPES = (*MESSAGE.types, *IMAGE.types, *MEMORY.types, *PROFILE.types)
_BY_TYPE = {record_type: kind for kind in KINDS for record_type in kind.types}


def kind_of(record_type: object) -> Kind:
    """Return the kind that holds a record type.

    Raises:
        InvalidInputError: If there is no such type.
    """
    kind = _BY_TYPE.get(record_type) if isinstance(record_type, str) else None
    if kind is None:
        known = ", ".join(_BY_TYPE)
        raise InvalidInputError(f"unknown record type {record_type!r:.80}; known are {known}")
    return kind


def can_exist(record_id: object) -> bool:
    """Tell whether a stored id can equal this one; what cannot be stored is never found.

    Raises:
        WrongTypeError: If it is no str.
    """
    try:
        check_id(record_id, "id")
    except InvalidInputError:
        return False
    return True
