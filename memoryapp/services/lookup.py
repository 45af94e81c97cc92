"""Finding one record within a caller's scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

from memoryapp.access import Access
from memoryapp.memory import inspector
from oracleagentmemory.errors import NotFoundError
from oracleagentmemory.inspection import Row, is_cursor

Kind = Literal["memory", "message", "thread", "image"]


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


class Cursors(TypedDict, total=False):
    """Where a page starts: at most one of the two."""

    before: str
    after: str


def cursors(
    kind: Kind | Literal["user", "agent", "change", "relation"], parameters: Mapping[str, str]
) -> Cursors:
    """Return ``before`` or ``after`` of a query string; odd values are as good as none."""

    def read(name: str) -> str | None:
        value = parameters.get(name, "")
        # Lists of users and agents go by id, and any id is a place in them.
        fits = kind == "user" or kind == "agent" or is_cursor(kind, value)
        return value if value and fits else None

    if before := read("before"):
        return {"before": before}
    if after := read("after"):
        return {"after": after}
    return {}
