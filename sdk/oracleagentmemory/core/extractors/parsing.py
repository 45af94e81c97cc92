"""What a model found in messages: read piece by piece, so that a bad piece costs only itself.

Scope (user, agent, thread) and record ids are never read from an answer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from oracleagentmemory.apis.records import MEMORY_TYPES
from oracleagentmemory.apis.validation import ID_MAX_BYTES, TIMESTAMP_MAX_BYTES
from oracleagentmemory.core.extractors.normalise import normalised_text
from oracleagentmemory.core.extractors.payloads import IMPORTANCES, LINK_TYPES, MEMORY_SCOPES
from oracleagentmemory.core.llms.answers import read_answer

#: Memories that one answer may hold.
MAX_MEMORIES = 100
#: A longer text is no memory but a copy of the messages.
MAX_TEXT_CHARACTERS = 20_000
_MAX_ENTITIES = 50
_MAX_ENTITY_CHARACTERS = 200
_MAX_RAW_CHARACTERS = 1_000

_TEXT_KEYS = ("text", "content", "memory_text")
_TYPE_KEYS = ("record_type", "memory_type", "type")


@dataclass(frozen=True, slots=True)
class Lost:
    """A piece of an answer that could not be used.

    Attributes:
        reason: What is wrong with it.
        raw: The piece, as JSON where it is some; at most 1,000 characters.
    """

    reason: str
    raw: str


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory that a model found.

    Attributes:
        timestamp: As the model gave it.
        reserved: What goes under the metadata key of the SDK; only what the model gave.
        links: Numbers of candidates, from 1, with the type of link.
    """

    text: str
    record_type: str
    timestamp: str | None = None
    reserved: dict[str, Any] = field(default_factory=dict)
    links: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedExtraction:
    """What an answer holds.

    Attributes:
        memories: In the order of the answer; of equal ones the first, with all their links.
        lost: Pieces that could not be used, in order.
        warning: What a caller should be warned of: nothing could be read, or there was too much.
    """

    memories: tuple[FoundMemory, ...]
    lost: tuple[Lost, ...]
    warning: str | None = None


def parse_extraction(raw: object, *, candidates: int = 0, cut: bool = False) -> ParsedExtraction:
    """Return the memories of an answer; never raises.

    Args:
        candidates: How many numbered candidates the prompt had; 0 where links are not asked for.
        cut: Whether the provider says that the answer was ended by its length.
    """
    answer = read_answer(raw, keep_cut=False)
    lost: list[Lost] = []
    if answer.value is None:
        blank = not isinstance(raw, str) or not raw.strip()
        reason = "the answer is empty" if blank else "the answer holds no JSON"
        lost.append(lost_piece(reason, raw))
        return ParsedExtraction((), tuple(lost), f"no memories could be read: {reason}")
    found: dict[tuple[str, str], FoundMemory] = {}
    over = 0
    pieces = list(_pieces(answer.value, lost))
    for piece, record_type in pieces:
        memory = _memory(piece, record_type, candidates, lost)
        if memory is None:
            continue
        key = (memory.record_type, normalised_text(memory.text))
        if key in found:
            links = dict.fromkeys([*found[key].links, *memory.links])
            found[key] = replace(found[key], links=tuple(links))
        elif len(found) < MAX_MEMORIES:
            found[key] = memory
        else:
            over += 1
            lost.append(lost_piece(f"only the first {MAX_MEMORIES} memories are kept", piece))
    if answer.cut or (cut and not _is_whole(raw)):
        lost.append(Lost("the answer was cut off", str(raw)[-_MAX_RAW_CHARACTERS:]))
    return ParsedExtraction(tuple(found.values()), tuple(lost), _warning(over, found, lost))


def _warning(over: int, found: Collection[object], lost: Collection[Lost]) -> str | None:
    if over:
        return f"only the first {MAX_MEMORIES} memories of an answer are kept; {over} are lost"
    if lost and not found:
        return f"no memories could be read: {next(iter(lost)).reason}"
    return None


def _is_whole(raw: object) -> bool:
    return isinstance(raw, str) and raw.rstrip("` \n\r\t").endswith(("}", "]"))


def lost_piece(reason: str, piece: object) -> Lost:
    """Return a piece as lost."""
    try:
        raw = piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raw = repr(type(piece))
    return Lost(reason, raw[:_MAX_RAW_CHARACTERS])


def _pieces(value: object, lost: list[Lost], depth: int = 0) -> Iterator[tuple[object, str | None]]:
    """Yield what may be a memory, with the type that its place says."""
    if isinstance(value, list) and depth < 4:
        for one in value:
            yield from _pieces(one, lost, depth + 1)
    elif not isinstance(value, Mapping):
        yield value, None
    elif "memories" in value:
        inner = value["memories"]
        if inner is not None:
            yield from _pieces(inner, lost, depth + 1)
    elif _text_of(value)[0] is not None or _names_a_memory(value):
        yield value, None
    else:
        yield from _pieces_of_object(value, lost, depth)


def _pieces_of_object(
    value: Mapping[str, Any], lost: list[Lost], depth: int
) -> Iterator[tuple[object, str | None]]:
    """Yield from an object that is no memory itself: lists by type, or a wrapper."""
    by_type = {one + "s": one for one in ("guideline", "fact", "preference")}
    groups = [name for name in value if name.lower() in by_type]
    for name in groups:
        of_group = value[name] if isinstance(value[name], list) else [value[name]]
        yield from ((one, by_type[name.lower()]) for one in of_group if one is not None)
    inner = [one for one in value.values() if isinstance(one, Mapping) and "memories" in one]
    if not groups and inner and depth < 4:
        yield from _pieces(inner[0], lost, depth + 1)
    elif not groups:
        lost.append(lost_piece("the answer names no memories", value))


def _names_a_memory(value: Mapping[str, Any]) -> bool:
    """Whether an object is a memory by its keys, whatever its text."""
    keys = (*_TEXT_KEYS, *_TYPE_KEYS, *MEMORY_TYPES)
    return any(key in value for key in keys)


def _text_of(value: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the text of a memory and the type that the text's key says."""
    for key in _TEXT_KEYS:
        if isinstance(value.get(key), str):
            return value[key], None
    for key in MEMORY_TYPES:
        if isinstance(value.get(key), str):
            return value[key], key
    return None, None


def _memory(
    piece: object, record_type: str | None, candidates: int, lost: list[Lost]
) -> FoundMemory | None:
    """Return the memory of a piece; ``None`` when it is blank, or lost and said so."""
    fields: Mapping[str, Any] = piece if isinstance(piece, Mapping) else {"text": piece}
    text, of_key = _text_of(fields)
    if text is None:
        lost.append(lost_piece("a memory has no text", piece))
        return None
    if not text.strip():
        return None
    if len(text) > MAX_TEXT_CHARACTERS:
        reason = f"a memory of {len(text)} characters is longer than {MAX_TEXT_CHARACTERS}"
        lost.append(lost_piece(reason, piece))
        return None
    return FoundMemory(
        text.strip(),
        _record_type(fields, record_type or of_key, lost),
        _short_text(fields, "timestamp", TIMESTAMP_MAX_BYTES, lost),
        _reserved(fields, lost),
        _candidate_links(fields.get("links"), candidates, lost) if candidates else (),
    )


def _record_type(fields: Mapping[str, Any], otherwise: str | None, lost: list[Lost]) -> str:
    given = next((fields[key] for key in _TYPE_KEYS if fields.get(key) is not None), None)
    if given is None:
        return otherwise or "memory"
    known = member_of(given, MEMORY_TYPES)
    if known is None:
        lost.append(lost_piece("a record_type is unknown; the memory is a plain one", given))
        return otherwise or "memory"
    return known


def _reserved(fields: Mapping[str, Any], lost: list[Lost]) -> dict[str, Any]:
    """Return what is noted under the SDK's own metadata key."""
    given = {
        "extraction_id": _short_text(fields, "id", ID_MAX_BYTES, lost),
        "scope": _scope(fields.get("scope"), lost),
        "valid_to": _short_text(fields, "valid_to", TIMESTAMP_MAX_BYTES, lost),
        "importance": _importance(fields.get("importance"), lost),
        "entities": _entities(fields.get("entities"), lost),
    }
    return {name: value for name, value in given.items() if value is not None}


def _short_text(
    fields: Mapping[str, Any], name: str, max_bytes: int, lost: list[Lost]
) -> str | None:
    value = fields.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 64:
        value = str(value)
    if value is None or value == "":
        return None
    if isinstance(value, str) and len(value.strip().encode()) <= max_bytes:
        return value.strip() or None
    lost.append(lost_piece(f"{name} is no text of at most {max_bytes} bytes", value))
    return None


def _scope(value: object, lost: list[Lost]) -> str | None:
    if value is None or value == "":
        return None
    known = member_of(value, MEMORY_SCOPES)
    if known is None:
        lost.append(lost_piece("a scope is unknown", value))
    return known


def _importance(value: object, lost: list[Lost]) -> int | None:
    if value is None:
        return None
    number = whole_number(value)
    if number in IMPORTANCES:
        return number
    lost.append(lost_piece(f"importance is not from {IMPORTANCES[0]} to {IMPORTANCES[-1]}", value))
    return None


def _entities(value: object, lost: list[Lost]) -> list[str] | None:
    if value is None:
        return None
    listed = value if isinstance(value, list) else [value]
    kept: list[str] = []
    for one in listed:
        if not isinstance(one, str) or len(one) > _MAX_ENTITY_CHARACTERS:
            lost.append(lost_piece("an entity is no short text", one))
        elif one.strip() and one.strip() not in kept:
            kept.append(one.strip())
    for one in kept[_MAX_ENTITIES:]:
        lost.append(lost_piece(f"only the first {_MAX_ENTITIES} entities are kept", one))
    return kept[:_MAX_ENTITIES]


def _candidate_links(
    value: object, candidates: int, lost: list[Lost]
) -> tuple[tuple[int, str], ...]:
    if value is None:
        return ()
    links: list[tuple[int, str]] = []
    for one in value if isinstance(value, list) else [value]:
        fields: Mapping[str, Any] = one if isinstance(one, Mapping) else {}
        index = whole_number(fields.get("target_candidate_index"))
        kind = member_of(fields.get("link_type"), LINK_TYPES)
        if kind is None:
            lost.append(lost_piece("a link has no known link_type", one))
        elif index is None or not 1 <= index <= candidates:
            lost.append(lost_piece(f"a link names no candidate from 1 to {candidates}", one))
        else:
            links.append((index, kind))
    return tuple(dict.fromkeys(links))


def member_of(value: object, members: Collection[str]) -> str | None:
    """Return the member that a model means, whatever the case and the spaces."""
    if not isinstance(value, str):
        return None
    name = value.strip().lower().replace("-", "_").replace(" ", "_")
    return name if name in members else None


def whole_number(value: object) -> int | None:
    """Return a whole number, given as one, as ``4.0`` or as digits."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal():
        value = int(value.strip()[:18])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
