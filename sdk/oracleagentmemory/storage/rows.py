"""Rows and records: what a stored row looks like to callers."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from inspect import signature
from operator import attrgetter
from typing import Any

from oracleagentmemory.apis.message import ImageMimeType, MessageContent, TextContent
from oracleagentmemory.apis.records import (
    AgentProfileRecord,
    FactRecord,
    GuidelineRecord,
    ImageRecord,
    MemoryRecord,
    MessageRecord,
    PreferenceRecord,
    Record,
    RecordStatus,
    ThreadRecord,
    ThreadSummaryRecord,
    UserProfileRecord,
)
from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.storage.kinds import IMAGE, MEMORY, MESSAGE, PROFILE, SUMMARY, THREAD, Kind
from oracleagentmemory.storage.retention import parse_time

_STATUS = {"valid": RecordStatus.VALID, "invalid": RecordStatus.INVALID}
_MEMORY_CLASSES: dict[str, type[MemoryRecord]] = {
    "memory": MemoryRecord,
    "guideline": GuidelineRecord,
    "fact": FactRecord,
    "preference": PreferenceRecord,
}


def message_parts(content: str | Sequence[MessageContent]) -> list[dict[str, Any]]:
    """Return message content as the JSON array that is stored.

    An image part is the id of its image, whose row holds all else.
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content, "id": str(uuid.uuid4())}]
    parts = []
    for part in content:
        if not isinstance(part, TextContent):
            parts.append({"type": part.type, "id": part.id})
            continue
        stored = {"type": "text", "text": part.text, "id": part.id}
        if part.timestamp is not None:
            stored["timestamp"] = part.timestamp
        parts.append(stored)
    return parts


def message_content(
    parts: Sequence[Mapping[str, Any]], images: Mapping[str, MessageContent] | None = None
) -> str | list[MessageContent]:
    """Return stored message content: its text when it is one text part, else its parts.

    Args:
        images: The image parts by their ids; those that are not there are left out.
    """
    if len(parts) == 1 and parts[0].get("type") == "text":
        return str(parts[0].get("text", ""))
    known = images or {}
    found = [
        known.get(str(part.get("id"))) if part.get("type") == "image" else _text_part(part)
        for part in parts
    ]
    return [part for part in found if part is not None] or ""


def image_ids(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the ids of the images in stored message content."""
    return [str(part.get("id")) for part in parts or () if part.get("type") == "image"]


def _text_part(part: Mapping[str, Any]) -> MessageContent:
    text = str(part.get("text", ""))
    return TextContent(text, id=str(part.get("id", "")), timestamp=part.get("timestamp"))


def message_text(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the searchable text of stored message content."""
    return "\n".join(str(part["text"]) for part in parts if part.get("type") == "text")


def shown_time(timestamp: str | None, created_at: datetime) -> str:
    """Return the time a record shows: the caller's as given, else that of its creation."""
    return created_at.isoformat() if timestamp is None else timestamp


def effective_time(timestamp: str | None, created_at: datetime) -> datetime:
    """Return the time that charts and date filters use."""
    return parse_time(timestamp) or created_at


def to_record(kind: Kind, row: Any) -> Record:
    """Build the record of a row that holds all columns of its kind's table.

    An image comes with its bytes when the row has them.
    """
    record = _BUILDERS[kind.name](*_VALUES[kind.name](row))
    if isinstance(record, ImageRecord) and hasattr(row, "blob"):
        return replace(record, bytes=bytes(row.blob))
    return record


def selected_record(kind: Kind, row: Sequence[Any]) -> Record:
    """Build the record of a row that holds the kind's `RECORD_COLUMNS`."""
    return _BUILDERS[kind.name](*row)


def _message(
    record_id: str,
    content: Any,
    timestamp: str | None,
    created_at: datetime,
    metadata: Any,
    status: str,
    thread_id: str | None,
    user_id: str | None,
    agent_id: str | None,
    role: str,
    order_seq: int,
) -> Record:
    return MessageRecord(
        id=record_id,
        content=message_content(content or ()),
        timestamp=shown_time(timestamp, created_at),
        metadata=metadata,
        status=_STATUS[status],
        thread_id=thread_id,
        user_id=user_id,
        agent_id=agent_id,
        role=role,
        seq_no=order_seq,
    )


def _memory(
    record_id: str,
    content: str | None,
    timestamp: str | None,
    created_at: datetime,
    metadata: Any,
    status: str,
    thread_id: str | None,
    user_id: str | None,
    agent_id: str | None,
    memory_type: str,
) -> Record:
    return _MEMORY_CLASSES.get(memory_type, MemoryRecord)(
        id=record_id,
        content=content,
        timestamp=shown_time(timestamp, created_at),
        metadata=metadata,
        status=_STATUS[status],
        thread_id=thread_id,
        user_id=user_id,
        agent_id=agent_id,
    )


def _profile(
    actor_id: str,
    actor_type: str,
    information: str,
    created_at: datetime,
    metadata: Any,
    status: str,
) -> Record:
    chosen = UserProfileRecord if actor_type == "user" else AgentProfileRecord
    return chosen(
        id=actor_id,
        content=information,
        timestamp=created_at.isoformat(),
        metadata=metadata,
        status=_STATUS[status],
    )


def _thread(
    record_id: str,
    created_at: datetime,
    metadata: Any,
    user_id: str | None,
    agent_id: str | None,
    runtime_config: Any,
    runtime_state: Any,
) -> Record:
    return ThreadRecord(
        id=record_id,
        timestamp=created_at.isoformat(),
        metadata=metadata,
        thread_id=record_id,
        user_id=user_id,
        agent_id=agent_id,
        runtime_config=runtime_config,
        runtime_state=runtime_state,
    )


def _summary(
    record_id: str,
    content: Any,
    created_at: datetime,
    metadata: Any,
    status: str,
    thread_id: str | None,
    user_id: str | None,
    agent_id: str | None,
) -> Record:
    reserved = (metadata or {}).get(RESERVED_KEY, {})
    return ThreadSummaryRecord(
        id=record_id,
        content=content,
        timestamp=created_at.isoformat(),
        metadata=metadata,
        status=_STATUS[status],
        thread_id=thread_id,
        user_id=user_id,
        agent_id=agent_id,
        _covered_through_seq_no=int(reserved.get("summary_last_message_order_seq", 0)),
    )


def _image(
    record_id: str,
    description: str,
    timestamp: str | None,
    created_at: datetime,
    metadata: Any,
    status: str,
    thread_id: str | None,
    user_id: str | None,
    agent_id: str | None,
    message_id: str | None,
    document_metadata: Any,
) -> Record:
    return ImageRecord(
        id=record_id,
        content=description,
        timestamp=shown_time(timestamp, created_at),
        metadata=metadata,
        status=_STATUS[status],
        thread_id=thread_id,
        user_id=user_id,
        agent_id=agent_id,
        message_id=message_id,
        mime_type=mime_type_of(document_metadata),
    )


def mime_type_of(document_metadata: Any) -> ImageMimeType:
    """Return the format of a stored image."""
    return ImageMimeType(document_metadata["mime_type"])


_BUILDERS: dict[str, Callable[..., Record]] = {
    MESSAGE.name: _message,
    MEMORY.name: _memory,
    PROFILE.name: _profile,
    THREAD.name: _thread,
    SUMMARY.name: _summary,
    IMAGE.name: _image,
}
#: The columns that a kind's record is made of, in the order of its builder's arguments.
RECORD_COLUMNS: dict[str, tuple[str, ...]] = {
    name: tuple("message_role" if one == "role" else one for one in signature(build).parameters)
    for name, build in _BUILDERS.items()
}
_VALUES = {name: attrgetter(*columns) for name, columns in RECORD_COLUMNS.items()}
