"""Finding one record within a caller's scope."""

from __future__ import annotations

from typing import Literal

from oracleagentmemory.errors import NotFoundError
from oracleagentmemory.inspection import Row

from memoryapp.access import Access
from memoryapp.memory import inspector

Kind = Literal["memory", "message", "thread"]


def visible_row(access: Access, kind: Kind, record_id: str) -> Row:
    """Return the record; one outside the caller's scope is not found, as if it did not exist."""
    row = inspector().record(kind, record_id)
    if row is None or not access.may_see(row.record.user_id):
        raise NotFoundError(f"{kind} {record_id!r} not found")
    return row


def writable_row(access: Access, kind: Kind, record_id: str) -> Row:
    """Return a visible record that the caller may change."""
    access.require_write()
    row = visible_row(access, kind, record_id)
    access.require_scope(row.record.user_id, row.record.agent_id)
    return row
