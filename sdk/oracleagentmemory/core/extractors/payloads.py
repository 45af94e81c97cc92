"""JSON schemas of the answers that extraction asks models for.

Every key is required and no other allowed, as strict structured output wants it; what may be
missing is ``null``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oracleagentmemory.apis.records import MEMORY_TYPES
from oracleagentmemory.apis.relations import OPPOSITE_TYPES
from oracleagentmemory.storage.lifecycle import LIFECYCLE_REASONS

#: Whom or what a memory is about.
MEMORY_SCOPES = ("user", "environment", "agent", "multi_agent")
LINK_TYPES = tuple(OPPOSITE_TYPES)
#: Links that make their target invalid.
LIFECYCLE_LINK_TYPES = frozenset(LIFECYCLE_REASONS)
IMPORTANCES = range(1, 6)

_STRING: Mapping[str, Any] = {"type": "string"}


def extraction_schema(*, with_links: bool = False) -> dict[str, Any]:
    """Return the schema of an extraction's answer.

    Args:
        with_links: Whether memories name links to the prompt's numbered candidates.
    """
    memory: dict[str, Any] = {
        "id": _nullable(_STRING),
        "text": dict(_STRING),
        "record_type": _one_of(MEMORY_TYPES),
        "scope": _nullable(_one_of(MEMORY_SCOPES)),
        "entities": _nullable({"type": "array", "items": dict(_STRING)}),
        "timestamp": _nullable(_STRING),
        "valid_to": _nullable(_STRING),
        "importance": _nullable(
            {"type": "integer", "minimum": IMPORTANCES[0], "maximum": IMPORTANCES[-1]}
        ),
    }
    if with_links:
        link = _object(
            {
                "target_candidate_index": {"type": "integer", "minimum": 1},
                "link_type": _one_of(LINK_TYPES),
            }
        )
        memory["links"] = _nullable({"type": "array", "items": link})
    memories = {"type": "array", "items": _object(memory)}
    title = "ExtractedMemoriesWithLinks" if with_links else "ExtractedMemories"
    return {"title": title, **_object({"thoughts": _nullable(_STRING), "memories": memories})}


def link_schema(source_ids: Iterable[str]) -> dict[str, Any]:
    """Return the schema of the links of new memories: one answer for each id."""
    link = _object({"target_memory_id": dict(_STRING), "link_type": _one_of(LINK_TYPES)})
    resolution = _object(
        {
            "updated_source_memory_text": _nullable(_STRING),
            "links": {"type": "array", "items": link},
        }
    )
    asked = _object({source_id: _nullable(resolution) for source_id in source_ids})
    return {"title": "ResolvedLinks", **_object({"source_resolutions": asked})}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _one_of(values: Iterable[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [{"type": "null"}, dict(schema)]}
