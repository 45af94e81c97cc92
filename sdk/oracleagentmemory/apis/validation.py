"""Checks of caller text, ids and metadata, made before any I/O.

Each check returns its value, so that it can stand where the value is used. ``what`` names the
argument in the error. Values are never shown in full: they may be long or private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from oracleagentmemory._notset import _NotSetMarker
from oracleagentmemory.errors import InvalidInputError, WrongTypeError

ID_MAX_BYTES = 128
ROLE_MAX_BYTES = 30
TIMESTAMP_MAX_BYTES = 64
#: The metadata key that belongs to the SDK.
RESERVED_KEY = "$agent_memory"
# Deeper than any real metadata; far from the recursion limits of json and of the databases.
_MAX_DEPTH = 64


def check_text(value: object, what: str, *, max_bytes: int | None = None) -> str:
    """Return ``value`` when both databases can store it as text.

    Raises:
        WrongTypeError: If it is not a ``str``.
        InvalidInputError: If it holds NUL or a lone surrogate, or has more than ``max_bytes``
            bytes of UTF-8.
    """
    if not isinstance(value, str):
        raise WrongTypeError(f"{what} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise InvalidInputError(
            f"{what} holds a NUL character at position {value.index(chr(0))}; remove it"
        )
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{what} holds a lone surrogate at position {error.start}, which is no valid text"
        ) from None
    if max_bytes is not None and size > max_bytes:
        raise InvalidInputError(f"{what} has {size} bytes of UTF-8; at most {max_bytes} are stored")
    return value


def check_id(value: object, what: str, *, max_bytes: int = ID_MAX_BYTES) -> str:
    """Return ``value`` when it can be an id: a non-empty text of at most ``max_bytes`` bytes.

    Raises:
        WrongTypeError: If it is not a ``str``.
        InvalidInputError: If it is empty, too long, or no storable text.
    """
    text = check_text(value, what, max_bytes=max_bytes)
    if not text:
        raise InvalidInputError(f"{what} must not be empty")
    return text


def check_flag(value: object, what: str) -> None:
    """Raise ``WrongTypeError`` unless ``value`` is a ``bool`` or omitted: ``"no"`` is true."""
    if not isinstance(value, bool | _NotSetMarker):
        raise WrongTypeError(f"{what} must be True or False, not {type(value).__name__}")


def check_metadata(value: object, what: str = "metadata") -> dict[str, Any] | None:
    """Return ``value`` when it is ``None`` or a JSON object that both databases can store.

    Raises:
        InvalidInputError: If it is no mapping, or holds a key that is not a ``str``, a value that
            JSON lacks (also NaN and infinities), NUL, a lone surrogate, or a cycle.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise InvalidInputError(f"{what} must be a dict or None, not {type(value).__name__}")
    _check_json(value, what, 0)
    return value


def check_json(value: object, what: str) -> None:
    """Raise ``InvalidInputError`` unless ``value`` is JSON that both databases can store."""
    _check_json(value, what, 0)


def _check_json(value: object, where: str, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise InvalidInputError(f"{where[:80]} is nested deeper than {_MAX_DEPTH} levels")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        check_text(value, where)
    elif isinstance(value, int | float):
        _check_number(value, where)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise InvalidInputError(f"{where} has a key that is not a str: {key!r:.80}")
            check_text(key, f"a key of {where}")
            _check_json(inner, f"{where}[{key!r:.80}]", depth + 1)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _check_json(inner, f"{where}[{index}]", depth + 1)
    else:
        raise InvalidInputError(f"{where} is a {type(value).__name__}, which JSON cannot hold")


def _check_number(value: float, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"{where} is {value}, which JSON cannot hold")
    # Python refuses to print integers of more than 4300 digits.
    if isinstance(value, int) and value.bit_length() > 1024:
        raise InvalidInputError(f"{where} is an integer of more than 1024 bits")
