"""How a stored record changes: record, audit entry and revision in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import inspector, store
from memoryapp.services import audit, revisions
from memoryapp.services.lookup import Kind, writable_row
from oracleagentmemory.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memoryapp.models import AuditEntry
    from oracleagentmemory.inspection import Row
    from oracleagentmemory.storage.writes import Prepared


def apply_update(
    access: Access,
    kind: Kind,
    record_id: str,
    prepared: Prepared[int],
    *,
    reason: str,
    detail: Mapping[str, object] | None = None,
    then: Callable[[AuditEntry, Row], None] | None = None,
) -> Row:
    """Apply a prepared update and return the new row.

    ``then`` is called in the same transaction, to note what changed with the record.
    """
    with transaction.atomic():
        before = writable_row(access, kind, record_id)
        _require_one(store().write(prepared), kind, record_id)
        after = inspector().record(kind, record_id)
        if after is None:
            raise NotFoundError(f"{kind} {record_id!r} not found")
        entry = audit.record(
            access,
            "update",
            kind,
            record_id,
            user_id=before.record.user_id,
            reason=reason,
            detail={**(detail or {}), "fields": revisions.changed(before, after)},
        )
        revisions.record(entry, kind, before, after)
        if then is not None:
            then(entry, after)
    return after


def apply_delete(
    access: Access,
    kind: Kind,
    record_id: str,
    prepared: Prepared[int],
    *,
    reason: str,
    detail: Mapping[str, object] | None = None,
) -> AuditEntry:
    """Apply a prepared delete and return its audit entry."""
    with transaction.atomic():
        before = writable_row(access, kind, record_id)
        _require_one(store().write(prepared), kind, record_id)
        entry = audit.record(
            access,
            "delete",
            kind,
            record_id,
            user_id=before.record.user_id,
            reason=reason,
            detail=detail,
        )
        revisions.record(entry, kind, before, None)
    return entry


def _require_one(changed: int, kind: Kind, record_id: str) -> None:
    if changed == 0:
        raise NotFoundError(f"{kind} {record_id!r} not found")
