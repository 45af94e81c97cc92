"""The record classes that stores return."""

from __future__ import annotations

import builtins
import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from oracleagentmemory.apis.message import ImageMimeType, MessageContent
from oracleagentmemory.apis.relations import MemoryRecordType, RecordRelation

ThreadRecordType: TypeAlias = Literal["message", "memory", "guideline", "fact", "preference"]
MetadataValue: TypeAlias = dict[str, Any] | None

#: The four types that list_memories, update_memory and delete_memory cover.
MEMORY_TYPES: tuple[MemoryRecordType, ...] = ("memory", "guideline", "fact", "preference")

__all__ = [
    "MEMORY_TYPES",
    "AgentProfileRecord",
    "FactRecord",
    "GuidelineRecord",
    "ImageRecord",
    "MemoryRecord",
    "MemoryRecordType",
    "MessageRecord",
    "MetadataValue",
    "PreferenceRecord",
    "Record",
    "RecordStatus",
    "ScopedRecord",
    "ThreadRecord",
    "ThreadRecordType",
    "ThreadSummaryRecord",
    "UserProfileRecord",
    "build_record",
]


class RecordStatus(enum.StrEnum):
    """Whether a record still holds."""

    VALID = "valid"
    INVALID = "invalid"


@dataclass(frozen=True)
class Record:
    """A stored record.

    Attributes:
        timestamp: The caller's time as given, else the time of creation.
        linked_results: Pairs of a relation and the record at its other end; filled by searches
            that follow relations.
    """

    id: str
    record_type: str = "record"
    content: str | None = None
    timestamp: str | None = None
    metadata: MetadataValue = None
    status: RecordStatus = RecordStatus.VALID
    linked_results: Sequence[tuple[RecordRelation, Record]] = field(default_factory=tuple)


@dataclass(frozen=True)
class ScopedRecord(Record):
    """A record that may belong to a thread, a user and an agent."""

    thread_id: str | None = None
    user_id: str | None = None
    agent_id: str | None = None


@dataclass(frozen=True)
class MessageRecord(ScopedRecord):
    """One message of a thread; ``seq_no`` orders the messages of a thread."""

    record_type: str = field(default="message", init=False)
    content: str | Sequence[MessageContent] = ""  # type: ignore[assignment]
    role: str | None = None
    seq_no: int = field(kw_only=True)


@dataclass(frozen=True)
class MemoryRecord(ScopedRecord):
    """A memory."""

    record_type: str = field(default="memory", init=False)


@dataclass(frozen=True)
class GuidelineRecord(MemoryRecord):
    """A memory that says how to act."""

    record_type: str = field(default="guideline", init=False)


@dataclass(frozen=True)
class FactRecord(MemoryRecord):
    """A memory that states a fact."""

    record_type: str = field(default="fact", init=False)


@dataclass(frozen=True)
class PreferenceRecord(MemoryRecord):
    """A memory of what somebody prefers."""

    record_type: str = field(default="preference", init=False)


@dataclass(frozen=True)
class ImageRecord(ScopedRecord):
    """An image; its ``content`` is the description, its ``bytes`` are loaded only on request."""

    record_type: str = field(default="image", init=False)
    message_id: str | None = None
    mime_type: ImageMimeType = field(kw_only=True)
    bytes: builtins.bytes | None = None


@dataclass(frozen=True)
class UserProfileRecord(Record):
    """A user's profile; its id is the user id."""

    record_type: str = field(default="user_profile", init=False)


@dataclass(frozen=True)
class AgentProfileRecord(Record):
    """An agent's profile; its id is the agent id."""

    record_type: str = field(default="agent_profile", init=False)


@dataclass(frozen=True)
class ThreadRecord(ScopedRecord):
    """A thread with its saved configuration and the state of its extraction."""

    record_type: str = field(default="thread", init=False)
    runtime_config: dict[str, Any] | None = None
    runtime_state: dict[str, Any] | None = None


@dataclass(frozen=True)
class ThreadSummaryRecord(ScopedRecord):
    """A saved summary of a thread; its content is ``{"text", "topics"}``."""

    record_type: str = field(default="thread_summary", init=False)
    content: dict[str, object] | None = None  # type: ignore[assignment]
    _covered_through_seq_no: int = field(default=0, compare=False, repr=False)


_CLASSES: dict[str, type[Record]] = {
    "message": MessageRecord,
    "memory": MemoryRecord,
    "guideline": GuidelineRecord,
    "fact": FactRecord,
    "preference": PreferenceRecord,
    "image": ImageRecord,
    "user_profile": UserProfileRecord,
    "agent_profile": AgentProfileRecord,
    "thread": ThreadRecord,
    "thread_summary": ThreadSummaryRecord,
}


def build_record(
    record_type: str,
    record_id: str,
    *,
    content: str | dict[str, object] | Sequence[MessageContent] | None = None,
    thread_id: str | None = None,
    user_id: str | None = None,
    agent_id: str | None = None,
    role: str | None = None,
    seq_no: int | None = None,
    timestamp: str | None = None,
    metadata: MetadataValue = None,
    status: RecordStatus = RecordStatus.VALID,
    **kwargs: Any,
) -> Record:
    """Build the record of a type; an unknown type gives a plain :class:`Record`.

    Args:
        kwargs: Fields of that class alone, such as ``mime_type`` or ``runtime_config``.
    """
    fields: dict[str, Any] = {
        "content": content,
        "timestamp": timestamp,
        "metadata": metadata,
        "status": status,
        **kwargs,
    }
    chosen = _CLASSES.get(record_type)
    if chosen is None:
        return Record(record_id, record_type, **fields)
    if issubclass(chosen, ScopedRecord):
        fields |= {"thread_id": thread_id, "user_id": user_id, "agent_id": agent_id}
    if chosen is MessageRecord:
        fields |= {"role": role, "seq_no": 0 if seq_no is None else seq_no}
        fields["content"] = "" if content is None else content
    return chosen(record_id, **fields)
