"""Metadata as callers see it, and as a filter."""

from __future__ import annotations

from typing import Any

from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import refuse_unknown_operators

MAX_FILTER_VALUES = 500


def own_metadata(metadata: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the caller's metadata, without the key that the SDK reserves."""
    if metadata is None:
        return None
    own = {key: value for key, value in metadata.items() if key != RESERVED_KEY}
    return own or (None if RESERVED_KEY in metadata else own)


def given_metadata(
    given: dict[str, Any] | None, stored: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return what a caller may write; the SDK keeps its own key, as stored.

    Raises: InvalidInputError, if the caller would change that key: who made a memory invalid and
    where it came from stand there. Sending back what was read is no change.
    """
    if given is None or RESERVED_KEY not in given:
        return given
    if stored is None or (RESERVED_KEY, given[RESERVED_KEY]) not in stored.items():
        raise InvalidInputError(f"metadata may not set {RESERVED_KEY!r}, which is reserved")
    return own_metadata(given)


def checked_filter(metadata_filter: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the filter.

    Raises: InvalidInputError for an unknown operator, which the SDK itself takes as a plain key,
    and for a filter so large that matching it with every record would keep the server busy.
    """
    if metadata_filter is not None:
        if _values(metadata_filter) > MAX_FILTER_VALUES:
            raise InvalidInputError(
                f"metadata_filter compares with more than {MAX_FILTER_VALUES} values"
            )
        refuse_unknown_operators(metadata_filter)
    return metadata_filter


def _values(part: object) -> int:
    """Count names and values; the depth is bounded by the SDK's check, so no recursion."""
    count, open_parts = 0, [part]
    while open_parts and count <= MAX_FILTER_VALUES:
        part = open_parts.pop()
        count += 1
        if isinstance(part, dict):
            open_parts.extend(part.values())
        elif isinstance(part, list):
            open_parts.extend(part)
    return count
