"""What was changed, by whom as far as that is known, and what was changed outside the product."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q

from memoryapp.access import Access
from memoryapp.memory import inspector
from memoryapp.models import AuditEntry
from memoryapp.services.lookup import Kind
from oracleagentmemory.apis.records import ImageRecord, Record
from oracleagentmemory.inspection import Change, OutsidePage, RelationRow, Row

KINDS: tuple[Kind, ...] = ("memory", "message", "thread", "image")
# An audit entry is written in the transaction of its change, a moment after it.
_EARLIEST, _LATEST = timedelta(seconds=-2), timedelta(seconds=30)
_MOST_ENTRIES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A change with what else is known of it.

    Attributes:
        row: The record as it is now; None when it is gone or has no page.
        relation: The same of a change of a relation.
        entry: The audit entry of the change; None when it was made with the SDK alone, or as one
            of many in an import.
    """

    change: Change
    row: Row | None
    relation: RelationRow | None
    entry: AuditEntry | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPage:
    """One page, newest first; ``is_recorded`` is False where the store notes no changes."""

    changes: list[Known]
    older: str | None
    newer: str | None
    is_recorded: bool


def list_page(
    access: Access, *, before: str | None = None, after: str | None = None, limit: int = 50
) -> KnownPage:
    """Return one page of the changes in this caller's scope."""
    page = inspector().changes(user_ids=access.user_ids, before=before, after=after, limit=limit)
    rows: dict[str, dict[str, Row]] = {kind: _rows(access, kind, page.changes) for kind in KINDS}
    relations = _relations(access, page.changes)
    entries = _entries(page.changes, [row.record for row in rows["image"].values()])
    return KnownPage(
        changes=[
            Known(
                change=change,
                row=rows.get(change.record_kind, {}).get(change.record_id),
                relation=relations.get(change.record_id) if _is_relation(change) else None,
                entry=_entry_of(change, rows["image"].get(change.record_id), entries),
            )
            for change in page.changes
        ],
        older=page.older,
        newer=page.newer,
        is_recorded=page.is_recorded,
    )


def outside_page(access: Access, kind: Kind, *, before: str | None = None) -> OutsidePage:
    """Return records in this caller's scope that something else wrote, of 1,000 compared."""
    return inspector().changed_outside(kind, user_ids=access.user_ids, before=before)


def _rows(access: Access, kind: Kind, changes: Iterable[Change]) -> dict[str, Row]:
    ids = {change.record_id for change in changes if change.record_kind == kind}
    if not ids:
        return {}
    page = inspector().page(kind, ids=ids, user_ids=access.user_ids, limit=len(ids))
    return {row.id: row for row in page.rows}


def _is_relation(change: Change) -> bool:
    return change.record_kind == "memory_link"


def _relations(access: Access, changes: Iterable[Change]) -> dict[str, RelationRow]:
    ids = {change.record_id for change in changes if _is_relation(change)}
    if not ids:
        return {}
    page = inspector().relations(ids=ids, user_ids=access.user_ids, limit=len(ids))
    return {row.id: row for row in page.rows}


def _entries(changes: list[Change], images: Iterable[Record]) -> list[AuditEntry]:
    """The audit entries that may belong to the changes; an image comes with its message."""
    if not changes:
        return []
    ids = {change.record_id for change in changes}
    ids |= {one.message_id for one in images if isinstance(one, ImageRecord) and one.message_id}
    named = Q(record_id__in=ids)
    several = Q(noun="message", action="add", record_id="")
    times = [change.changed_at for change in changes]
    span = (min(times) + _EARLIEST, max(times) + _LATEST)
    return list(AuditEntry.objects.filter(named | several, at__range=span)[:_MOST_ENTRIES])


def _entry_of(change: Change, image: Row | None, entries: list[AuditEntry]) -> AuditEntry | None:
    """The nearest entry that tells of the change."""
    near = [
        (abs(entry.at - change.changed_at), entry)
        for entry in entries
        if (_tells_of(entry, change) or _tells_of_message(entry, change, image))
        and _EARLIEST <= entry.at - change.changed_at <= _LATEST
    ]
    return min(near, key=lambda one: one[0], default=(None, None))[1]


def _tells_of_message(entry: AuditEntry, change: Change, image: Row | None) -> bool:
    """Whether an entry of a message tells of the change of an image that is a part of it."""
    if change.record_kind != "image" or entry.noun != "message":
        return False
    # An edited message gains, changes and loses images.
    if entry.action not in (change.operation, "update"):
        return False
    if change.record_id in entry.detail.get("image_ids", ()):
        return True
    record = None if image is None else image.record
    return isinstance(record, ImageRecord) and record.message_id == entry.record_id


def _tells_of(entry: AuditEntry, change: Change) -> bool:
    action = "delete" if change.operation == "scope" else change.operation
    if entry.action != action:
        return False
    if change.record_kind == "message" and entry.noun == "message" and not entry.record_id:
        return change.record_id in entry.detail.get("message_ids", ())
    kinds = {"profile": ("user_profile", "agent_profile"), "memory_link": ("relation",)}
    nouns = kinds.get(change.record_kind, (change.record_kind,))
    return entry.noun in nouns and entry.record_id == change.record_id
