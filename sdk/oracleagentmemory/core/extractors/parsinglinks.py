"""How a model links new memories to existing ones: read link by link."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import unescape

from oracleagentmemory.core.extractors.parsing import (
    MAX_TEXT_CHARACTERS,
    Lost,
    lost_piece,
    member_of,
)
from oracleagentmemory.core.extractors.payloads import LIFECYCLE_LINK_TYPES, LINK_TYPES
from oracleagentmemory.core.llms.answers import read_answer

_SOURCE_KEYS = ("source_memory_id", "source_id", "memory_id", "id")


@dataclass(frozen=True, slots=True)
class LinkResolution:
    """What becomes of one new memory.

    Attributes:
        links: Ids of existing memories with the type of link, each pair once.
        updated_text: A better text for the new memory; only beside a link that makes its target
            invalid, whose content it takes up.
    """

    links: tuple[tuple[str, str], ...]
    updated_text: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedLinks:
    """The links of an answer.

    Attributes:
        resolutions: By the id of the new memory; only memories with links.
        lost: Pieces that could not be used, in order.
        warning: What a caller should be warned of: nothing could be read.
    """

    resolutions: dict[str, LinkResolution]
    lost: tuple[Lost, ...]
    warning: str | None = None


def parse_links(raw: object, source_ids: Sequence[str], target_ids: Collection[str]) -> ParsedLinks:
    """Return the links of an answer; never raises.

    Args:
        source_ids: The new memories that the prompt asked about.
        target_ids: The existing memories that it showed; no other can be linked to.
    """
    answer = read_answer(raw, keep_cut=False)
    if answer.value is None:
        blank = not isinstance(raw, str) or not raw.strip()
        reason = "the answer is empty" if blank else "the answer holds no JSON"
        return ParsedLinks({}, (lost_piece(reason, raw),), f"no links could be read: {reason}")
    lost: list[Lost] = []
    resolutions: dict[str, LinkResolution] = {}
    for name, value in _by_source(answer.value, source_ids):
        source = _known(name, source_ids)
        if source is None:
            lost.append(lost_piece("a source is none of the new memories", {str(name): value}))
        elif value is not None:
            _resolve(source, value, target_ids, resolutions, lost)
    if answer.cut:
        lost.append(Lost("the answer was cut off", str(raw)[-1_000:]))
    warning = f"no links could be read: {lost[0].reason}" if lost and not resolutions else None
    return ParsedLinks(resolutions, tuple(lost), warning)


def _by_source(value: object, source_ids: Sequence[str]) -> list[tuple[object, object]]:
    """Return each source that an answer names, with what it says of it."""
    if isinstance(value, Mapping) and "source_resolutions" in value:
        value = value["source_resolutions"]
    if value is None:
        return []
    only = source_ids[0] if len(source_ids) == 1 else None
    if isinstance(value, Mapping):
        if "links" in value or "target_memory_id" in value:
            return [(_named_source(value, only), value)]
        return list(value.items())
    listed = value if isinstance(value, list) else [value]
    return [(_named_source(one, only), one) for one in listed]


def _named_source(value: object, otherwise: str | None) -> object:
    if not isinstance(value, Mapping):
        return otherwise
    return next((value[key] for key in _SOURCE_KEYS if key in value), otherwise)


def _resolve(
    source: str,
    value: object,
    target_ids: Collection[str],
    resolutions: dict[str, LinkResolution],
    lost: list[Lost],
) -> None:
    """Add what an answer says of one source to the resolutions."""
    fields: Mapping[str, Any] = value if isinstance(value, Mapping) else {"links": value}
    given = fields if "target_memory_id" in fields else fields.get("links")
    links = [
        link for one in _listed(given) if (link := _link(source, one, target_ids, lost)) is not None
    ]
    before = resolutions.get(source, LinkResolution(()))
    every = tuple(dict.fromkeys([*before.links, *links]))
    if not every:
        return
    text = _updated_text(fields.get("updated_source_memory_text"), lost)
    has_place = any(kind in LIFECYCLE_LINK_TYPES for _, kind in every)
    resolutions[source] = LinkResolution(
        every, (text or before.updated_text) if has_place else None
    )


def _listed(value: object) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _link(
    source: str, value: object, target_ids: Collection[str], lost: list[Lost]
) -> tuple[str, str] | None:
    fields: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    kind = member_of(fields.get("link_type"), LINK_TYPES)
    target = _known(fields.get("target_memory_id"), target_ids)
    if kind is None:
        lost.append(lost_piece("a link has no known link_type", value))
    elif fields.get("target_memory_id") == source or target == source:
        lost.append(lost_piece("a memory cannot be linked to itself", value))
    elif target is None:
        lost.append(lost_piece("a link names a memory that was not shown", value))
    else:
        return target, kind
    return None


def _known(name: object, ids: Collection[str]) -> str | None:
    """Return the id that a model means; it may give it as the prompt escapes it."""
    if isinstance(name, int) and not isinstance(name, bool) and name.bit_length() < 64:
        name = str(name)
    if not isinstance(name, str):
        return None
    return next((one for one in (name, name.strip(), unescape(name)) if one in ids), None)


def _updated_text(value: object, lost: list[Lost]) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARACTERS:
        lost.append(lost_piece("an updated text is no text of a memory", value))
        return None
    return value.strip() or None
