"""Before and after of every update and delete, tied to its audit entry."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from memoryapp.models import AuditEntry, Revision
from oracleagentmemory.apis.records import MessageRecord, Record, ScopedRecord
from oracleagentmemory.apis.relations import RecordRelation

Revised = Record | RecordRelation


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
    """Return the fields of a record or a relation as JSON."""
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
    return fields


def _content(content: object) -> object:
    """Text stays text; a message of several parts keeps each part's text."""
    if content is None or isinstance(content, str | dict):
        return content
    return [{"type": part.type, "text": getattr(part, "text", "")} for part in content]  # type: ignore[attr-defined]
