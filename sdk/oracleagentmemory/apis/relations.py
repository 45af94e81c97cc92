"""Relations between records and the memory links among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

MemoryRecordType: TypeAlias = Literal["memory", "guideline", "fact", "preference"]
MemoryLinkType: TypeAlias = Literal[
    "supersedes", "contradicts", "refines", "supports", "duplicates"
]
MemoryLinkOppositeType: TypeAlias = Literal[
    "is_superseded_by", "contradicts", "is_refined_by", "is_supported_by", "duplicates"
]
#: A built-in link type or a caller's own.
RelationType: TypeAlias = str

#: How each built-in relation reads from its target.
OPPOSITE_TYPES: dict[str, str] = {
    "supersedes": "is_superseded_by",
    "contradicts": "contradicts",
    "refines": "is_refined_by",
    "supports": "is_supported_by",
    "duplicates": "duplicates",
}


@dataclass(frozen=True)
class RecordRelation:
    """A stored, directed relation from a source record to a target record.

    Attributes:
        opposite_relation_type: The label of the same relation seen from the target.
        timestamp: The caller's time, ``None`` without one.
        created_at: When the relation was stored, ISO-8601.
    """

    id: str
    source_record_id: str
    source_record_type: str
    target_record_id: str
    target_record_type: str
    relation_type: str
    opposite_relation_type: str
    timestamp: str | None
    metadata: dict[str, Any] | None
    created_at: str


@dataclass(frozen=True)
class MemoryLink(RecordRelation):
    """A relation of a built-in type between two memory-like records."""

    source_record_type: MemoryRecordType
    target_record_type: MemoryRecordType
    relation_type: MemoryLinkType
    opposite_relation_type: MemoryLinkOppositeType

    @property
    def source_memory_id(self) -> str:
        """Id of the memory that the link starts from."""
        return self.source_record_id

    @property
    def target_memory_id(self) -> str:
        """Id of the memory that the link points to."""
        return self.target_record_id

    @property
    def link_type(self) -> MemoryLinkType:
        """The built-in type of the link."""
        return self.relation_type
