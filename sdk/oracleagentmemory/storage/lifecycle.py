"""What relations, and callers, make of a memory's status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oracleagentmemory.apis.records import MetadataValue, RecordStatus
from oracleagentmemory.apis.validation import RESERVED_KEY

#: Marks a memory that was made invalid by hand: whatever relations go, it stays so.
BY_HAND = {"invalidated_by": "caller"}
#: The types that make their target invalid, and what is noted there.
LIFECYCLE_REASONS = {
    "supersedes": "Superseded by another memory.",
    "refines": "Refined by another memory.",
    "duplicates": "Duplicated by another memory.",
}


def settled(metadata: MetadataValue, ended_by: str | None) -> tuple[str, MetadataValue]:
    """Return a memory's status and metadata as its relations call for.

    Args:
        metadata: As stored; a mark of a caller in it keeps the memory invalid.
        ended_by: The type of a relation that ends the memory, None without one.
    """
    reserved = _reserved(metadata)
    after = {key: value for key, value in reserved.items() if key != "invalidation_reason"}
    if ended_by is not None:
        after["invalidation_reason"] = LIFECYCLE_REASONS[ended_by]
    is_invalid = ended_by is not None or "invalidated_by" in reserved
    status = RecordStatus.INVALID if is_invalid else RecordStatus.VALID
    return status.value, metadata if after == reserved else _with_reserved(metadata, after)


def marked_by_hand(metadata: MetadataValue, status: RecordStatus) -> MetadataValue:
    """Note that a caller made a memory invalid, or take the note away."""
    reserved = _reserved(metadata)
    if status is RecordStatus.INVALID:
        return _with_reserved(metadata, {**reserved, **BY_HAND})
    if "invalidated_by" not in reserved:
        return metadata
    del reserved["invalidated_by"]
    return _with_reserved(metadata, reserved)


def _reserved(metadata: MetadataValue) -> dict[str, Any]:
    stored = (metadata or {}).get(RESERVED_KEY)
    # A caller may have put anything there: creation does not refuse it, as in the reference.
    return dict(stored) if isinstance(stored, Mapping) else {}


def _with_reserved(metadata: MetadataValue, reserved: dict[str, Any]) -> MetadataValue:
    rest = {key: value for key, value in (metadata or {}).items() if key != RESERVED_KEY}
    return ({**rest, RESERVED_KEY: reserved} if reserved else rest) or None
