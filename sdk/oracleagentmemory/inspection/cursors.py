"""Cursors: the text that says where in a list a page starts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection.results import RowKind

#: Kinds whose pages go by time of creation and id.
_BY_TIME = ("thread", "relation")
# The largest number that both databases can compare an order number with.
_MAX_SEQ = 2**63 - 1


def cursor_text(kind: RowKind | Literal["relation"], key: tuple[Any, ...]) -> str:
    """Return the cursor of a row by the values of its order columns."""
    if kind not in _BY_TIME:
        return str(key[0])
    created_at, record_id = key
    return f"{created_at.astimezone(UTC).isoformat(timespec='microseconds')}~{record_id}"


def parse_cursor(kind: RowKind | Literal["relation"], text: str) -> dict[str, Any]:
    """Return the bind values of a cursor, by the names of the order columns.

    Raises:
        InvalidInputError: If it is no cursor of this kind of record.
    """
    if kind not in _BY_TIME:
        return {"at_order_seq": _number(text, kind)}
    moment, _, record_id = text.partition("~")
    try:
        created_at = datetime.fromisoformat(moment)
        if created_at.tzinfo is None:
            raise ValueError
        created_at = created_at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInputError(f"{text!r:.80} is no cursor of a {kind} page") from None
    return {"at_created_at": created_at, "at_record_id": check_id(record_id, "a cursor's id")}


def change_number(text: str) -> int:
    """Return the number that a cursor of a page of changes names.

    Raises:
        InvalidInputError: If it is no such cursor.
    """
    return _number(text, "change")


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text[:20]) > _MAX_SEQ:
        raise InvalidInputError(f"{text!r:.80} is no cursor of a {what} page")
    return int(text)


def is_cursor(kind: RowKind | Literal["change", "relation"], text: str) -> bool:
    """Whether a page of this kind accepts ``text`` as a cursor."""
    try:
        if kind == "change":
            change_number(text)
        else:
            parse_cursor(kind, text)
    except InvalidInputError:
        return False
    return True
