"""Rows and records: what a stored row looks like to callers, and its fingerprint."""

from __future__ import annotations

import hashlib
import json
import unicodedata
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from oracleagentmemory.apis.message import MessageContent, TextContent
from oracleagentmemory.apis.records import (
    AgentProfileRecord,
    FactRecord,
    GuidelineRecord,
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
from oracleagentmemory.errors import NotYetError
from oracleagentmemory.storage.kinds import MEMORY, MESSAGE, PROFILE, SUMMARY, THREAD, Kind
from oracleagentmemory.storage.retention import parse_time

_STATUS = {"valid": RecordStatus.VALID, "invalid": RecordStatus.INVALID}
_MEMORY_CLASSES: dict[str, type[MemoryRecord]] = {
    "memory": MemoryRecord,
    "guideline": GuidelineRecord,
    "fact": FactRecord,
    "preference": PreferenceRecord,
}
#: Columns that name the row or its place, or that machines change: no part of a fingerprint.
_UNHASHED = frozenset({"record_id", "actor_id", "order_seq", "created_at", "runtime_state"})


def message_parts(content: str | Sequence[MessageContent]) -> list[dict[str, Any]]:
    """Return message content as the JSON array that is stored.

    Raises:
        NotYetError: If a part is an image, which this version does not store.
    """
    if isinstance(content, str):
        return [{"type": "text", "text": content, "id": str(uuid.uuid4())}]
    parts = []
    for part in content:
        if not isinstance(part, TextContent):
            raise NotYetError("image parts of messages are not stored by this version")
        stored = {"type": "text", "text": part.text, "id": part.id}
        if part.timestamp is not None:
            stored["timestamp"] = part.timestamp
        parts.append(stored)
    return parts


def message_content(parts: Sequence[Mapping[str, Any]]) -> str | list[MessageContent]:
    """Return stored message content: its text when it is one text part, else its parts."""
    if not parts:
        return ""
    if len(parts) == 1 and parts[0].get("type") == "text":
        return str(parts[0].get("text", ""))
    return [_part(part) for part in parts]


def _part(part: Mapping[str, Any]) -> MessageContent:
    if part.get("type") == "image":
        # The bytes and the format are in the document row, which this version does not read.
        raise NotYetError("messages with images are not read by this version")
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
    """Build the record of a row that holds all columns of its kind's table."""
    return _BUILDERS[kind.name](row)


def _message(row: Any) -> Record:
    return MessageRecord(
        id=row.record_id,
        content=message_content(row.content or ()),
        timestamp=shown_time(row.timestamp, row.created_at),
        metadata=row.metadata,
        status=_STATUS[row.status],
        thread_id=row.thread_id,
        user_id=row.user_id,
        agent_id=row.agent_id,
        role=row.message_role,
        seq_no=row.order_seq,
    )


def _memory(row: Any) -> Record:
    return _MEMORY_CLASSES.get(row.memory_type, MemoryRecord)(
        id=row.record_id,
        content=row.content,
        timestamp=shown_time(row.timestamp, row.created_at),
        metadata=row.metadata,
        status=_STATUS[row.status],
        thread_id=row.thread_id,
        user_id=row.user_id,
        agent_id=row.agent_id,
    )


def _profile(row: Any) -> Record:
    chosen = UserProfileRecord if row.actor_type == "user" else AgentProfileRecord
    return chosen(
        id=row.actor_id,
        content=row.information,
        timestamp=row.created_at.isoformat(),
        metadata=row.metadata,
        status=_STATUS[row.status],
    )


def _thread(row: Any) -> Record:
    return ThreadRecord(
        id=row.record_id,
        timestamp=row.created_at.isoformat(),
        metadata=row.metadata,
        thread_id=row.record_id,
        user_id=row.user_id,
        agent_id=row.agent_id,
        runtime_config=row.runtime_config,
        runtime_state=row.runtime_state,
    )


def _summary(row: Any) -> Record:
    reserved = (row.metadata or {}).get(RESERVED_KEY, {})
    return ThreadSummaryRecord(
        id=row.record_id,
        content=row.content,
        timestamp=row.created_at.isoformat(),
        metadata=row.metadata,
        status=_STATUS[row.status],
        thread_id=row.thread_id,
        user_id=row.user_id,
        agent_id=row.agent_id,
        _covered_through_seq_no=int(reserved.get("summary_last_message_order_seq", 0)),
    )


_BUILDERS: dict[str, Callable[[Any], Record]] = {
    MESSAGE.name: _message,
    MEMORY.name: _memory,
    PROFILE.name: _profile,
    THREAD.name: _thread,
    SUMMARY.name: _summary,
}


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def fingerprint(kind: str, fields: Mapping[str, Any]) -> str:
    """Hash a row in a form that does not depend on the database that returned it.

    Args:
        kind: The record kind, such as `message`.
        fields: Column values; ids, order and creation time do not count.

    Returns:
        32 hexadecimal digits.
    """
    canonical = {
        name: _canonical_field(value)
        for name, value in fields.items()
        if name not in _UNHASHED and value is not None and value != ""
    }
    text = _ENCODER.encode([kind, canonical])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _canonical_field(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return hashlib.blake2b(value, digest_size=16).hexdigest()
    return value.isoformat() if isinstance(value, datetime) else _canonical_json(value)


def _canonical_json(value: Any) -> Any:
    # Oracle gives 1.0 back as 1.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _canonical_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical_json(inner) for inner in value]
    return value


def row_fingerprint(kind: Kind, row: Any) -> str:
    """Return the fingerprint of a row that holds all columns of its kind's table."""
    return fingerprint(kind.name, row._mapping)


def content_hash(text: str) -> str:
    """Hash a text so that spelling of case and white space does not count."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    words = " ".join(plain.casefold().split())
    return hashlib.blake2b(words.encode(), digest_size=16).hexdigest()
