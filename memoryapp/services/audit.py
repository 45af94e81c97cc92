"""The audit log's writer. Call it inside the transaction of the change it tells of."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from memoryapp.access import Access
from memoryapp.models import AuditEntry


def record(
    access: Access,
    action: str,
    noun: str,
    record_id: str = "",
    *,
    user_id: str | None = None,
    reason: str = "",
    detail: Mapping[str, object] | None = None,
) -> AuditEntry:
    """Write one entry: who, what, which record, why.

    Raises: RuntimeError outside a transaction, where entry and change could part.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("an audit entry is written in the transaction of its change")
    return AuditEntry.objects.create(
        actor=access.actor,
        action=action,
        noun=noun,
        record_id=record_id,
        user_id=user_id or "",
        reason=reason.strip(),
        detail=dict(detail or {}),
    )
