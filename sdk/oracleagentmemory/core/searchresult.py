"""Search results and their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, given
from oracleagentmemory.apis.message import ImageContent, TextContent
from oracleagentmemory.apis.records import MessageRecord, Record, RecordStatus, ScopedRecord
from oracleagentmemory.apis.relations import RecordRelation
from oracleagentmemory.apis.searchresult import SearchResult, SearchResultFormatConfig
from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.core.markup import Verbatim, block, element

__all__ = [
    "OracleSearchResult",
    "OracleSearchResultFormatConfig",
    "SearchResultFormatConfig",
    "text_of",
]

_DEFAULT_FORMAT = SearchResultFormatConfig()


@dataclass(frozen=True)
class OracleSearchResultFormatConfig(SearchResultFormatConfig):
    """Which parts of a result are written; timestamp, role and status when omitted.

    Attributes:
        show_distance: Write ``estimated_relevance``, 1 - distance, at least 0.
        show_metadata: Write one element a metadata key.
    """

    show_thread_id: Maybe[bool] = NOT_SET_MARKER
    show_distance: Maybe[bool] = NOT_SET_MARKER
    show_timestamp: Maybe[bool] = NOT_SET_MARKER
    show_role: Maybe[bool] = NOT_SET_MARKER
    show_user_id: Maybe[bool] = NOT_SET_MARKER
    show_agent_id: Maybe[bool] = NOT_SET_MARKER
    show_status: Maybe[bool] = NOT_SET_MARKER
    show_metadata: Maybe[bool] = NOT_SET_MARKER


def text_of(content: object) -> str:
    """Return a record's content as text; an image part counts by its description."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return str(content.get("text", ""))
    parts: list[str] = []
    for part in content if isinstance(content, Sequence) else ():
        if isinstance(part, TextContent):
            parts.append(part.text)
        elif isinstance(part, ImageContent):
            parts.append(part.description or "")
    return "\n".join(parts)


class OracleSearchResult(SearchResult):
    """A record that a search found.

    Attributes:
        distance: Cosine distance to the query, 0 to 2, smaller is nearer; of a query searched in
            chunks, derived from the fused rank; 1.0 for linked results.
    """

    def __init__(
        self,
        distance: float,
        record: Record,
        *,
        id: str | None = None,
        linked_results: list[tuple[RecordRelation, SearchResult]] | None = None,
        format_config: SearchResultFormatConfig = _DEFAULT_FORMAT,
    ) -> None:
        self.distance = distance
        self._record = record
        self._id = record.id if id is None else id
        self._format_config = format_config
        if linked_results is None:
            linked_results = [
                (relation, OracleSearchResult(1.0, linked, format_config=format_config))
                for relation, linked in record.linked_results
            ]
        self._linked_results = linked_results

    def __repr__(self) -> str:
        return f"OracleSearchResult(distance={self.distance!r}, record={self._record!r})"

    @property
    def id(self) -> str | None:
        """Id of the record."""
        return self._id

    @property
    def content(self) -> str:
        """Text of the record."""
        return text_of(self._record.content)

    @property
    def record(self) -> Record:
        """The record itself."""
        return self._record

    @property
    def status(self) -> RecordStatus | None:
        """Whether the record still holds."""
        return self._record.status

    @property
    def metadata(self) -> dict[str, Any] | None:
        """Metadata of the record."""
        return self._record.metadata

    @property
    def timestamp(self) -> str | None:
        """The record's time as given, else the time of its creation."""
        return self._record.timestamp

    @property
    def linked_results(self) -> list[tuple[RecordRelation, SearchResult]]:
        """Relations that the search followed and what stands at their other end."""
        return self._linked_results

    @property
    def formatted_content(self) -> str:
        """The result as XML-like text for a prompt; empty when it may not be shown."""
        return self.format_content()

    def format_content(
        self, format_config: Maybe[SearchResultFormatConfig] = NOT_SET_MARKER
    ) -> str:
        """Return the result as XML-like text for a prompt, all values escaped.

        Args:
            format_config: Which parts to write; omitted, the result's own.
        """
        config = given(format_config, self._format_config)
        with_invalid = given(config.include_invalid_results, True)
        hidden = not with_invalid and self.status is RecordStatus.INVALID
        links = list(self._link_blocks(config, with_invalid))
        if hidden and not links:
            return ""
        children = list(self._head(config))
        if not hidden:
            children.append(Verbatim(element("content", self.content)))
        if links:
            children.append(block("linked_records", links))
        return block(escape(self._record.record_type), children)

    def _head(self, config: SearchResultFormatConfig) -> Iterator[str]:
        record = self._record

        def shown(name: str, default: bool = False) -> bool:
            value: Maybe[bool] = getattr(config, f"show_{name}", NOT_SET_MARKER)
            return given(value, default)

        yield element("record_id", self._id)
        if shown("thread_id") and isinstance(record, ScopedRecord):
            yield from _optional("thread_id", record.thread_id)
        if shown("distance"):
            yield element("estimated_relevance", f"{max(0.0, 1.0 - self.distance):.3f}")
        if shown("timestamp", True):
            yield from _optional("timestamp", record.timestamp)
        if shown("role", True) and isinstance(record, MessageRecord):
            yield from _optional("role", record.role)
        if shown("user_id") and isinstance(record, ScopedRecord):
            yield from _optional("user_id", record.user_id)
        if shown("agent_id") and isinstance(record, ScopedRecord):
            yield from _optional("agent_id", record.agent_id)
        if shown("status", True):
            yield element("status", record.status.value)
        if shown("metadata"):
            yield from _metadata_elements(record.metadata or {})

    def _link_blocks(self, config: SearchResultFormatConfig, with_invalid: bool) -> Iterator[str]:
        for relation, linked in self._linked_results:
            if linked.status is RecordStatus.INVALID and not with_invalid:
                continue
            outgoing = relation.source_record_id == self._id
            seen_as = relation.relation_type if outgoing else relation.opposite_relation_type
            text = linked.format_content(config)
            yield block("linked_record", [element("relation_type", seen_as), text])


def _optional(tag: str, value: str | None) -> Iterator[str]:
    if value is not None:
        yield element(tag, value)


def _metadata_elements(metadata: dict[str, Any]) -> Iterator[str]:
    for key, value in metadata.items():
        if key != RESERVED_KEY:
            yield element(key, str(value))
        elif isinstance(value, dict) and "invalidation_reason" in value:
            yield element("invalidation_reason", str(value["invalidation_reason"]))
