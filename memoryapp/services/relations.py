"""Relations between memories: list, read and every change.

A caller meets a relation only when both its memories are in the caller's scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import client, inspector, store
from memoryapp.models import AuditEntry
from memoryapp.services import audit, revisions
from memoryapp.services.lookup import writable_row
from memoryapp.services.metadata import given_metadata
from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.relations import OPPOSITE_TYPES
from oracleagentmemory.errors import NotFoundError
from oracleagentmemory.inspection import Count, RelationPage, RelationRow, Row

NOT_SET = NOT_SET_MARKER
BUILT_IN_TYPES = tuple(OPPOSITE_TYPES)
_MOST = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationFilters:
    """What a list shows; None means any."""

    memory_id: str | None = None
    thread_id: str | None = None
    relation_type: str | None = None

    def arguments(self) -> dict[str, Any]:
        """The inspector's arguments."""
        return {
            "memory_id": self.memory_id,
            "thread_id": self.thread_id,
            "relation_type": self.relation_type,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A relation as it reads from one of its memories: its label there, and the other memory."""

    row: RelationRow
    label: str
    other: Row


def list_page(
    access: Access,
    filters: RelationFilters,
    *,
    before: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> RelationPage:
    """Return one page of relations, newest first.

    Those of memories that are invalid belong to it: a relation is often why they are.
    """
    return inspector().relations(
        **filters.arguments(), user_ids=access.user_ids, before=before, after=after, limit=limit
    )


def count(access: Access, filters: RelationFilters) -> Count:
    """Return how many relations the caller may see."""
    return inspector().relation_count(**filters.arguments(), user_ids=access.user_ids)


def get(access: Access, relation_id: str) -> RelationRow:
    """Return one relation. Raises: NotFoundError."""
    row = inspector().relation(relation_id, user_ids=access.user_ids)
    if row is None:
        raise NotFoundError(f"relation {relation_id!r} not found")
    return row


def seen_from(memory_id: str, rows: Iterable[RelationRow]) -> list[Seen]:
    """Return relations as they read from one memory."""
    return [_seen_from(memory_id, row) for row in rows]


def _seen_from(memory_id: str, row: RelationRow) -> Seen:
    if row.source.id == memory_id:
        return Seen(row=row, label=row.relation.relation_type, other=row.target)
    return Seen(row=row, label=row.relation.opposite_relation_type, other=row.source)


def add(
    access: Access,
    *,
    source_id: str,
    target_id: str,
    relation_type: str,
    opposite_relation_type: str | None = None,
    timestamp: str | None = None,
    metadata: dict[str, Any] | None = None,
    relation_id: str | None = None,
    reason: str = "",
) -> str:
    """Link two memories and return the relation's id.

    ``supersedes``, ``refines`` and ``duplicates`` make the target invalid.
    """
    source, target = (_writable_end(access, one) for one in (source_id, target_id))
    given: dict[str, Any] = {
        "opposite_relation_type": opposite_relation_type,
        "relation_id": relation_id,
        "timestamp": timestamp,
        "metadata": given_metadata(metadata),
    }
    prepared = client().prepare_link_records(
        source_id,
        source.record.record_type,
        target_id,
        target.record.record_type,
        relation_type,
        **{name: value for name, value in given.items() if value is not None},
    )
    with transaction.atomic():
        ends = [_writable_end(access, one) for one in (source_id, target_id)]
        new_id: str = store().write(prepared)
        row = get(access, new_id)
        entry = _record(access, "add", row, reason=reason)
        _record_settled(entry, ends)
    return new_id


def update(
    access: Access,
    relation_id: str,
    *,
    relation_type: str | _NotSetMarker = NOT_SET,
    opposite_relation_type: str | _NotSetMarker = NOT_SET,
    timestamp: str | _NotSetMarker | None = NOT_SET,
    metadata: dict[str, Any] | _NotSetMarker | None = NOT_SET,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> RelationRow:
    """Change the given fields and return the new row; a built-in type has a fixed opposite label.

    Raises: ConflictError, if the relation is no longer the one of ``if_fingerprint``.
    """
    row = _writable(access, relation_id)
    if not isinstance(metadata, _NotSetMarker):
        metadata = given_metadata(metadata, row.relation.metadata)
    prepared = store().prepare_update_relations(
        [relation_id],
        relation_type,
        opposite_relation_type,
        timestamp,
        metadata,
        if_fingerprint=if_fingerprint,
    )
    with transaction.atomic():
        before = _writable(access, relation_id)
        _require_one(len(store().write(prepared)), relation_id)
        after = get(access, relation_id)
        fields = revisions.changed(before.relation, after.relation)
        entry = _record(access, "update", after, reason=reason, fields=fields)
        revisions.record(entry, "relation", before.relation, after.relation)
        _record_settled(entry, (before.source, before.target))
    return after


def delete(
    access: Access, relation_id: str, *, if_fingerprint: str | None = None, reason: str = ""
) -> None:
    """Remove a relation; a memory that nothing else makes invalid is valid again."""
    _writable(access, relation_id)
    prepared = store().prepare_delete_relations([relation_id], if_fingerprint=if_fingerprint)
    with transaction.atomic():
        before = _writable(access, relation_id)
        _require_one(store().write(prepared), relation_id)
        entry = _record(access, "delete", before, reason=reason)
        revisions.record(entry, "relation", before.relation, None)
        _record_settled(entry, (before.source, before.target))


def all_of_memory(memory_id: str) -> list[RelationRow]:
    """Return every relation of a memory, whoever may see it: all go when the memory goes."""
    page = inspector().relations(memory_id=memory_id, limit=_MOST)
    rows = page.rows
    while page.older is not None:
        page = inspector().relations(memory_id=memory_id, limit=_MOST, before=page.older)
        rows += page.rows
    return rows


def record_removed(entry: AuditEntry, memory_id: str, rows: Sequence[RelationRow]) -> None:
    """Add a revision of each relation that went with a memory, and of what is valid again."""
    for row in rows:
        revisions.record(entry, "relation", row.relation, None)
    ends = {end.id: end for row in rows for end in (row.source, row.target) if end.id != memory_id}
    _record_settled(entry, ends.values())


def _writable_end(access: Access, memory_id: str) -> Row:
    return writable_row(access, "memory", memory_id)


def _writable(access: Access, relation_id: str) -> RelationRow:
    """Return a visible relation of two memories that the caller may change."""
    access.require_write()
    row = get(access, relation_id)
    for end in (row.source, row.target):
        access.require_scope(end.record.user_id, end.record.agent_id)
    return row


def _require_one(changed: int, relation_id: str) -> None:
    if changed == 0:
        raise NotFoundError(f"relation {relation_id!r} not found")


def _record(
    access: Access, action: str, row: RelationRow, *, reason: str, fields: list[str] | None = None
) -> AuditEntry:
    detail: dict[str, object] = {
        "source_id": row.source.id,
        "target_id": row.target.id,
        "relation_type": row.relation.relation_type,
    }
    if fields is not None:
        detail["fields"] = fields
    return audit.record(
        access,
        action,
        "relation",
        row.id,
        user_id=row.source.record.user_id,
        reason=reason,
        detail=detail,
    )


def _record_settled(entry: AuditEntry, ends: Iterable[Row]) -> None:
    """Add a revision of each memory whose status followed from the change."""
    for before in ends:
        after = inspector().record("memory", before.id)
        if after is not None and after.fingerprint != before.fingerprint:
            revisions.record(entry, "memory", before.record, after.record)
