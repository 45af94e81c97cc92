"""Before and after of every update and delete, tied to its audit entry."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from memoryapp.models import AuditEntry, Revision
from oracleagentmemory.apis.message import ImageContent, MessageContent
from oracleagentmemory.apis.records import ImageRecord, MessageRecord, Record, ScopedRecord
from oracleagentmemory.apis.relations import RecordRelation
from oracleagentmemory.inspection import Row

#: A row of an image also says what its bytes are, which no revision holds themselves.
Revised = Record | RecordRelation | Row


def record(audit_entry: AuditEntry, kind: str, before: Revised, after: Revised | None) -> Revision:
    """Write one revision; ``after`` is None when the record was deleted."""
    return Revision.objects.create(
        kind=kind,
        record_id=before.id,
        before=snapshot(before),
        after=None if after is None else snapshot(after),
        audit_entry=audit_entry,
    )


def changed(before: Revised, after: Revised) -> list[str]:
    """Return the names of the fields that differ."""
    old, new = snapshot(before), snapshot(after)
    return [name for name in new if new[name] != old.get(name)]


def snapshot(source: Revised) -> dict[str, Any]:
    """Return the fields of a record or a relation as JSON; of an image's bytes a hash."""
    if isinstance(source, Row):
        return snapshot(source.record) | _bytes_of(source)
    if isinstance(source, RecordRelation):
        return asdict(source)
    fields: dict[str, Any] = {
        "record_type": source.record_type,
        "content": _content(source.content),
        "timestamp": source.timestamp,
        "metadata": source.metadata,
        "status": str(source.status),
    }
    if isinstance(source, ScopedRecord):
        fields |= {
            "user_id": source.user_id,
            "agent_id": source.agent_id,
            "thread_id": source.thread_id,
        }
    if isinstance(source, MessageRecord):
        fields["role"] = source.role
    if isinstance(source, ImageRecord):
        fields |= {"message_id": source.message_id, "mime_type": source.mime_type.value}
    return fields


def _bytes_of(row: Row) -> dict[str, Any]:
    if row.kind != "image":
        return {}
    mark = row.columns["blob"]
    return {"byte_count": mark.byte_count, "bytes_hash": mark.digest}


def _content(content: object) -> object:
    """Text stays text; a message of several parts keeps each, of an image all but its bytes."""
    if content is None or isinstance(content, str | dict):
        return content
    return [_part(part) for part in content]  # type: ignore[attr-defined]


def _part(part: MessageContent) -> dict[str, str | None]:
    if isinstance(part, ImageContent):
        return {
            "type": part.type,
            "id": part.id,
            "mime_type": part.mime_type.value,
            "description": part.description,
        }
    return {"type": part.type, "text": getattr(part, "text", "")}
