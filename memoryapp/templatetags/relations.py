"""Words of relations, and of what they make of a memory."""

from __future__ import annotations

from django import template

from oracleagentmemory.apis.records import Record
from oracleagentmemory.apis.relations import OPPOSITE_TYPES
from oracleagentmemory.apis.validation import RESERVED_KEY

register = template.Library()

_BUILT_IN = OPPOSITE_TYPES.keys() | set(OPPOSITE_TYPES.values())
_BY = {"caller": "Made invalid by hand."}


@register.filter
def label_text(label: str) -> str:
    """A label as a person reads it; one of the caller's own as it is."""
    return label.replace("_", " ") if label in _BUILT_IN else label


@register.filter
def invalid_reason(record: Record) -> str:
    """Why a memory is invalid, as far as that was noted; empty for a valid one."""
    if record.status != "invalid":
        return ""
    noted = (record.metadata or {}).get(RESERVED_KEY)
    if not isinstance(noted, dict):
        return ""
    by = noted.get("invalidated_by")
    reasons = (_BY.get(by) if isinstance(by, str) else None, noted.get("invalidation_reason"))
    return " ".join(str(one) for one in reasons if one)
