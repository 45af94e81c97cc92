"""Relations between memories: their labels and what calls ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oracleagentmemory._notset import _NotSetMarker
from oracleagentmemory.apis.message import get_or_generate_id
from oracleagentmemory.apis.records import MetadataValue
from oracleagentmemory.apis.relations import OPPOSITE_TYPES, RecordRelation
from oracleagentmemory.apis.validation import check_id, check_metadata
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.kinds import MEMORY
from oracleagentmemory.storage.store.drafts import check_timestamp, spread

#: A selection names the stored relation by all of these, or by its id alone.
TUPLE_PARTS = (
    "source_record_id",
    "source_record_type",
    "target_record_id",
    "target_record_type",
    "relation_type",
)


@dataclass(frozen=True, slots=True)
class RelationDraft:
    """A relation to be."""

    relation_id: str
    source_id: str
    source_type: str
    target_id: str
    target_type: str
    relation_type: str
    opposite_type: str
    timestamp: str | None
    metadata: MetadataValue

    @property
    def ends(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Id and type of the source and of the target."""
        return (self.source_id, self.source_type), (self.target_id, self.target_type)


def relation_drafts(
    source_ids: Any,
    source_types: Any,
    target_ids: Any,
    target_types: Any,
    relation_types: Any,
    opposite_types: Any,
    relation_ids: Any,
    timestamps: Any,
    metadata: Any,
) -> list[RelationDraft]:
    """Check the arguments of `add_relations` and return its relations.

    Raises:
        InvalidInputError: If a value cannot be stored, lengths differ, a relation has one memory
            at both ends, or two of the batch contradict each other.
    """
    sources = list(source_ids) if isinstance(source_ids, list | tuple) else [source_ids]
    count = len(sources)
    columns = {
        "source_record_types": source_types,
        "target_record_ids": target_ids,
        "target_record_types": target_types,
        "relation_types": relation_types,
        "opposite_relation_types": opposite_types,
        "relation_ids": relation_ids,
        "timestamps": timestamps,
        "metadata": metadata,
    }
    spreads = [spread(value, count, name, "source ids") for name, value in columns.items()]
    drafts = [_draft(*row) for row in zip(sources, *spreads, strict=True)]
    _refuse_contradictions(drafts)
    return drafts


def _draft(
    source_id: Any,
    source_type: Any,
    target_id: Any,
    target_type: Any,
    relation_type: Any,
    opposite: Any,
    relation_id: Any,
    timestamp: Any,
    metadata: Any,
) -> RelationDraft:
    for value, what in ((source_type, "source"), (target_type, "target")):
        if value not in MEMORY.types:
            known = ", ".join(MEMORY.types)
            raise InvalidInputError(f"{what}_record_types must be one of {known}: {value!r:.80}")
    check_id(source_id, "source_record_ids")
    check_id(target_id, "target_record_ids")
    if source_id == target_id:
        raise InvalidInputError(f"the memory {source_id!r} cannot be related to itself")
    check_id(relation_type, "relation_types")
    if opposite is not None:
        check_id(opposite, "opposite_relation_types")
    chosen_id = None if relation_id is None else check_id(relation_id, "relation_ids")
    return RelationDraft(
        relation_id=get_or_generate_id() if chosen_id is None else chosen_id,
        source_id=source_id,
        source_type=source_type,
        target_id=target_id,
        target_type=target_type,
        relation_type=relation_type,
        opposite_type=opposite_label(relation_type, opposite or relation_type),
        timestamp=check_timestamp(timestamp),
        metadata=check_metadata(metadata),
    )


def _refuse_contradictions(drafts: list[RelationDraft]) -> None:
    """Refuse what one batch may not hold twice or both ways round."""
    ids: set[str] = set()
    stored: set[tuple[str, str, str]] = set()
    pairs: set[tuple[str, str]] = set()
    for draft in drafts:
        if draft.relation_id in ids:
            raise InvalidInputError(f"relation_ids holds {draft.relation_id!r} twice")
        refuse_conflict(draft, pairs, stored)
        ids.add(draft.relation_id)
        pairs.add((draft.source_id, draft.target_id))
        stored.add((draft.source_id, draft.target_id, draft.relation_type))


def refuse_conflict(
    draft: RelationDraft, pairs: set[tuple[str, str]], stored: set[tuple[str, str, str]]
) -> None:
    """Raise InvalidInputError when a relation cannot stand beside others.

    Args:
        pairs: Source and target of the others.
        stored: Source, target and type of the others.
    """
    source, target = draft.source_id, draft.target_id
    if (source, target, draft.relation_type) in stored:
        raise InvalidInputError(
            f"{source!r} has a relation {draft.relation_type!r} to {target!r} already"
        )
    if (target, source) in pairs:
        raise InvalidInputError(
            f"there is a relation from {target!r} to {source!r} already; a pair has one direction"
        )


def relation_changes(
    relation_ids: Any, relation_types: Any, opposite_types: Any, timestamps: Any, metadata: Any
) -> dict[str, dict[str, Any]]:
    """Check the arguments of `update_relations`; return the new values by relation.

    Raises:
        InvalidInputError: If nothing would change, lengths differ, or a value cannot be stored.
    """
    columns: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "relation_type": (relation_types, lambda one: check_id(one, "relation_types")),
        "opposite_relation_type": (
            opposite_types,
            lambda one: check_id(one, "opposite_relation_types"),
        ),
        "timestamp": (timestamps, check_timestamp),
        "metadata": (metadata, check_metadata),
    }
    given = {
        name: (value, check)
        for name, (value, check) in columns.items()
        if not isinstance(value, _NotSetMarker)
    }
    if not given:
        raise InvalidInputError("nothing to update: every field was omitted")
    ids = checked_ids(relation_ids)
    changes: dict[str, dict[str, Any]] = {one: {} for one in ids}
    if len(changes) < len(ids):
        raise InvalidInputError("relation_ids holds an id twice")
    for name, (value, check) in given.items():
        for one, new in zip(ids, spread(value, len(ids), name, "relation ids"), strict=True):
            changes[one][name] = check(new)
    return changes


def checked_ids(relation_ids: Any) -> list[str]:
    """Return one id or a list of them as a list."""
    ids = list(relation_ids) if isinstance(relation_ids, list | tuple) else [relation_ids]
    return [check_id(one, "relation_ids") for one in ids]


def selection(relation_id: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what names one relation: its id, or its five parts.

    Raises:
        InvalidInputError: If it is neither, or both.
    """
    given = {name: one for name, one in parts.items() if not isinstance(one, _NotSetMarker)}
    if not isinstance(relation_id, _NotSetMarker):
        if given:
            raise InvalidInputError("give relation_id alone, or the five other arguments")
        return {"relation_id": relation_id}
    if len(given) < len(TUPLE_PARTS):
        missing = ", ".join(name for name in TUPLE_PARTS if name not in given)
        raise InvalidInputError(f"a relation is named by relation_id or in full; missing {missing}")
    return given


def opposite_label(relation_type: str, other: str) -> str:
    """Return how a relation reads from its target; the built-in types have fixed labels."""
    return OPPOSITE_TYPES.get(relation_type, other)


def to_relation(row: Any) -> RecordRelation:
    """Build the relation of a row with the types of both its memories."""
    return relation_of(row._mapping, row.source_type, row.target_type)


def relation_of(
    columns: Mapping[Any, Any], source_type: str, target_type: str, prefix: str = ""
) -> RecordRelation:
    """Build a relation from columns whose names may begin with a prefix."""
    label = columns[f"{prefix}relation_type"]
    opposite = columns[f"{prefix}opposite_relation_type"] or label
    return RecordRelation(
        id=columns[f"{prefix}relation_id"],
        source_record_id=columns[f"{prefix}source_memory_id"],
        source_record_type=source_type,
        target_record_id=columns[f"{prefix}target_memory_id"],
        target_record_type=target_type,
        relation_type=label,
        opposite_relation_type=opposite_label(label, opposite),
        timestamp=columns[f"{prefix}timestamp"],
        metadata=columns[f"{prefix}metadata"],
        created_at=columns[f"{prefix}created_at"].isoformat(),
    )
