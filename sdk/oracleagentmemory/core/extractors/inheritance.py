"""Metadata that memories take over from the messages they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oracleagentmemory.apis.validation import RESERVED_KEY


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What memories take over.

    Attributes:
        metadata: The keys on which all messages agree.
        disagreeing: Keys that are not taken over, since messages differ in them or lack them.
    """

    metadata: dict[str, Any]
    disagreeing: tuple[str, ...] = ()


def inherited_metadata(
    of_messages: Sequence[Mapping[str, Any] | None], setting: bool | Sequence[str]
) -> Inheritance:
    """Return the metadata that memories take over from their messages.

    Args:
        of_messages: The metadata of each message.
        setting: ``memory_extraction_inherit_message_metadata``: ``True`` for every key,
            ``False`` for none, or the keys. The SDK's own key is never taken over.
    """
    if setting is False or not of_messages:
        return Inheritance({})
    each = [metadata or {} for metadata in of_messages]
    present = dict.fromkeys(key for metadata in each for key in metadata)
    wanted = present if setting is True else [key for key in setting if key in present]
    agreed: dict[str, Any] = {}
    disagreeing: list[str] = []
    for key in wanted:
        if key == RESERVED_KEY:
            continue
        values = {_canonical(metadata[key]) if key in metadata else None for metadata in each}
        if len(values) == 1:
            agreed[key] = each[0][key]
        else:
            disagreeing.append(key)
    return Inheritance(agreed, tuple(dict.fromkeys(disagreeing)))


def _canonical(value: Any) -> str:
    """Return a text that is equal for values that JSON readers take as equal: 1 is 1.0."""
    return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
