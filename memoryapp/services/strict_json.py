"""JSON from outside: what two readers could understand in two ways is refused."""

from __future__ import annotations

import json
from typing import Any


def parse(text: str | bytes) -> Any:
    """Return the value of a JSON text; bytes are UTF-8.

    Raises: ValueError for what is no JSON, for NaN and the infinities, which no database keeps, for
    a name that an object holds twice, and for nesting beyond all use.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_one_of_each)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _one_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice!r:.80} stands twice in one object")
    return value
