"""Fingerprints: what a row looks like, in a few digits, without reading any image for it."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from oracleagentmemory.storage.kinds import IMAGE, MESSAGE, Kind
from oracleagentmemory.storage.rows import message_text

#: Columns that name the row or its place, or that machines change: no part of a fingerprint.
_UNHASHED = frozenset({"record_id", "actor_id", "order_seq", "created_at", "runtime_state"})

#: The column of a read that counts the bytes of an image instead of reading them.
BYTE_COUNT = "byte_count"
#: What is noted of bytes that our SDK did not write.
UNKNOWN_BYTES = "-"


class ImageMark(NamedTuple):
    """What stands for an image's bytes in a fingerprint, so that no fingerprint reads them.

    Attributes:
        byte_count: How many there are.
        digest: 32 hexadecimal digits that our SDK noted when it wrote them, else `-`.
    """

    byte_count: int
    digest: str

    @classmethod
    def of(cls, data: bytes) -> ImageMark:
        """Return the mark of bytes at hand."""
        return cls(len(data), hashlib.blake2b(data, digest_size=16).hexdigest())


def marked_image(columns: Mapping[str, Any], noted: str | None) -> dict[str, Any]:
    """Return an image's columns with a mark for its bytes.

    Args:
        columns: With `byte_count`, or with the bytes themselves.
        noted: What its state says of its content; None without a state.
    """
    marked = {name: value for name, value in columns.items() if name != BYTE_COUNT}
    count = columns[BYTE_COUNT] if BYTE_COUNT in columns else len(columns["blob"])
    return {**marked, "blob": ImageMark(int(count), noted or UNKNOWN_BYTES)}


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def fingerprint(kind: str, fields: Mapping[str, Any]) -> str:
    """Hash a row in a form that does not depend on the database that returned it.

    Args:
        kind: The record kind, such as `message`.
        fields: Column values, for an image's bytes themselves or their mark; ids, order and
            creation time do not count.

    Returns:
        32 hexadecimal digits.
    """
    canonical = {
        name: _canonical_field(value)
        for name, value in fields.items()
        if name not in _UNHASHED and value is not None and value != ""
    }
    text = _ENCODER.encode([kind, canonical])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _canonical_field(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        value = ImageMark.of(value)
    return value.isoformat() if isinstance(value, datetime) else _canonical_json(value)


def _canonical_json(value: Any) -> Any:
    # Oracle gives 1.0 back as 1.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _canonical_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical_json(inner) for inner in value]
    return value


def row_fingerprint(kind: Kind, row: Any) -> str:
    """Return the fingerprint of a row that holds all columns of its kind's table.

    That of an image is its own only when the row has the bytes and our SDK wrote them.
    """
    return fingerprint(kind.name, row._mapping)


def searched_text(kind: Kind, columns: Mapping[str, Any]) -> str:
    """Return what is searched for a row unless a caller gave another text."""
    if kind is MESSAGE:
        return message_text(columns["content"] or ())
    return str(columns.get(kind.text) or "") if kind.text else ""


def noted_content(kind: Kind, columns: Mapping[str, Any]) -> str:
    """Return what a state notes of a record's content: a hash of its text, or of an image's bytes.

    Args:
        columns: All of the record's, with an image's bytes or their mark.
    """
    if kind is not IMAGE:
        return content_hash(searched_text(kind, columns))
    blob = columns["blob"]
    return (blob if isinstance(blob, ImageMark) else ImageMark.of(blob)).digest


def content_hash(text: str) -> str:
    """Hash a text so that spelling of case and white space does not count."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    words = " ".join(plain.casefold().split())
    return hashlib.blake2b(words.encode(), digest_size=16).hexdigest()
