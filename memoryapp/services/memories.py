"""Memories: list, read and every change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import client, inspector, store
from memoryapp.services import audit, relations
from memoryapp.services.changes import apply_delete, apply_update
from memoryapp.services.lookup import visible_row, writable_row
from memoryapp.services.metadata import checked_filter, given_metadata
from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.records import RecordStatus
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import ANY, Count, Facets, Row

NOT_SET = NOT_SET_MARKER
MEMORY_TYPES = ("memory", "fact", "guideline", "preference")
MemoryType = Literal["memory", "fact", "guideline", "preference"]
Status = Literal["valid", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFilters:
    """What a list shows; None or empty means any. All words of ``text`` must occur."""

    memory_types: tuple[str, ...] = ()
    user_id: str | None = None
    agent_id: str | None = None
    thread_id: str | None = None
    status: Status | None = "valid"
    since: datetime | None = None
    until: datetime | None = None
    metadata: dict[str, Any] | None = None
    text: str | None = None

    def arguments(self) -> dict[str, Any]:
        """The inspector's arguments."""
        return {
            "memory_types": self.memory_types or None,
            "user_id": ANY if self.user_id is None else self.user_id,
            "agent_id": ANY if self.agent_id is None else self.agent_id,
            "thread_id": ANY if self.thread_id is None else self.thread_id,
            "status": self.status,
            "since": self.since,
            "until": self.until,
            "metadata_filter": checked_filter(self.metadata),
            "text": self.text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPage:
    """One page, newest first, with cursors and the count of all matches."""

    rows: list[Row]
    older: str | None
    newer: str | None
    count: Count


def list_page(
    access: Access,
    filters: MemoryFilters,
    *,
    before: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> MemoryPage:
    """Return one page of the memories this caller may see."""
    arguments = filters.arguments() | {"user_ids": access.user_ids}
    page = inspector().page("memory", **arguments, before=before, after=after, limit=limit)
    count = inspector().count("memory", **arguments)
    return MemoryPage(rows=page.rows, older=page.older, newer=page.newer, count=count)


def facets(access: Access, filters: MemoryFilters, *, top: int = 5) -> Facets:
    """Return what the matches are, types and statuses as if they were not filtered."""
    arguments = filters.arguments() | {"user_ids": access.user_ids}
    return inspector().facets("memory", top=top, alternatives=True, **arguments)


def get(access: Access, memory_id: str) -> Row:
    """Return one memory. Raises: NotFoundError."""
    return visible_row(access, "memory", memory_id)


def add(
    access: Access,
    *,
    content: str,
    memory_type: str = "memory",
    user_id: str | None = None,
    agent_id: str | None = None,
    thread_id: str | None = None,
    metadata: dict[str, Any] | None = None,
    timestamp: str | None = None,
    memory_id: str | None = None,
    ttl_days: int | _NotSetMarker | None = NOT_SET,
    reason: str = "",
) -> str:
    """Store a memory and return its id."""
    access.require_write()
    access.require_scope(user_id, agent_id)
    _require_text(content)
    if thread_id is not None:
        visible_row(access, "thread", thread_id)
    given: dict[str, Any] = {
        "memory_type": memory_type,
        "user_id": user_id,
        "agent_id": agent_id,
        "thread_id": thread_id,
        "metadata": given_metadata(metadata),
        "timestamp": timestamp,
        "memory_id": memory_id,
    }
    prepared = client().prepare_add_memory(
        content,
        ttl_days=ttl_days,
        **{name: value for name, value in given.items() if value is not None},
    )
    with transaction.atomic():
        new_id: str = store().write(prepared)
        audit.record(access, "add", "memory", new_id, user_id=user_id, reason=reason)
    return new_id


def update(
    access: Access,
    memory_id: str,
    *,
    content: str | _NotSetMarker = NOT_SET,
    metadata: dict[str, Any] | _NotSetMarker | None = NOT_SET,
    timestamp: str | _NotSetMarker | None = NOT_SET,
    status: str | _NotSetMarker = NOT_SET,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> Row:
    """Change the given fields and return the new row.

    Raises: ConflictError, if the memory is no longer the one of ``if_fingerprint``.
    """
    row = writable_row(access, "memory", memory_id)
    if isinstance(content, str):
        _require_text(content)
    if not isinstance(metadata, _NotSetMarker):
        metadata = given_metadata(metadata, row.record.metadata)
    given: dict[str, Any] = {
        "content": content,
        "metadata": metadata,
        "timestamp": timestamp,
        "status": RecordStatus(status) if isinstance(status, str) else status,
    }
    given = {name: value for name, value in given.items() if value is not NOT_SET}
    prepared = store().prepare_update(
        row.record.record_type, memory_id, **given, if_fingerprint=if_fingerprint
    )
    return apply_update(access, "memory", memory_id, prepared, reason=reason)


def set_status(
    access: Access,
    memory_id: str,
    status: Status,
    *,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> Row:
    """Make a memory valid or invalid by hand."""
    return update(access, memory_id, status=status, if_fingerprint=if_fingerprint, reason=reason)


def delete(
    access: Access, memory_id: str, *, if_fingerprint: str | None = None, reason: str = ""
) -> None:
    """Delete a memory with its vectors, text rows and relations."""
    row = writable_row(access, "memory", memory_id)
    prepared = store().prepare_delete(
        row.record.record_type, memory_id, if_fingerprint=if_fingerprint
    )
    with transaction.atomic():
        linked = relations.all_of_memory(memory_id)
        detail = {"relations": len(linked)} if linked else None
        entry = apply_delete(access, "memory", memory_id, prepared, reason=reason, detail=detail)
        relations.record_removed(entry, memory_id, linked)


def _require_text(content: str) -> None:
    if not content.strip():
        raise InvalidInputError("content is blank; a memory needs some text")
