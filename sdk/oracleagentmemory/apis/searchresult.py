"""The contract of a search result."""

from __future__ import annotations

import abc
from dataclasses import dataclass

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.records import Record, RecordStatus
from oracleagentmemory.apis.relations import RecordRelation


@dataclass(frozen=True)
class SearchResultFormatConfig:
    """How a result is written as text.

    Attributes:
        include_invalid_results: Whether records that no longer hold are written; omitted means
            they are.
    """

    include_invalid_results: Maybe[bool] = NOT_SET_MARKER


class SearchResult(abc.ABC):
    """A record that a search found."""

    @property
    @abc.abstractmethod
    def id(self) -> str | None:
        """Id of the record."""

    @property
    @abc.abstractmethod
    def content(self) -> str:
        """Text of the record."""

    @property
    @abc.abstractmethod
    def record(self) -> Record:
        """The record itself."""

    @property
    def status(self) -> RecordStatus | None:
        """Whether the record still holds."""
        return self.record.status

    @property
    def linked_results(self) -> list[tuple[RecordRelation, SearchResult]]:
        """Relations that the search followed and what stands at their other end."""
        return []

    @property
    def formatted_content(self) -> str:
        """The result as text for a prompt."""
        return self.format_content()

    def format_content(
        self, format_config: Maybe[SearchResultFormatConfig] = NOT_SET_MARKER
    ) -> str:
        """Return the result as text for a prompt."""
        return self.content
