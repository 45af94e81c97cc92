"""Provenance as people read it: a memory's sources with their messages, and the way back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracleagentmemory.apis.sources import MemorySource
from oracleagentmemory.inspection.results import Row, RowKind
from oracleagentmemory.inspection.selection import criteria_of

if TYPE_CHECKING:
    import sqlalchemy as sa

    from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
    from oracleagentmemory.inspection.pages import Pages

# Ids a statement: Oracle takes 1,000 in a list, and texts are long.
_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    """One source of a memory.

    Attributes:
        source: What was noted when the memory was extracted.
        message: The message; ``None`` when it has expired or the asking person may not see it.
    """

    source: MemorySource
    message: Row | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where a memory came from.

    Attributes:
        rows: Its first sources, in the order of their messages.
        count: How many it has in all.
        is_recorded: False on a store without our own tables, where no source is ever noted.
    """

    rows: list[SourceRow]
    count: int
    is_recorded: bool


class Provenance:
    """Reads sources and derived memories; two statements for any 500 of them."""

    def __init__(self, store: SQLMemoryStore, memories: Pages, messages: Pages) -> None:
        self._store = store
        self._pages: dict[RowKind, Pages] = {"memory": memories, "message": messages}

    def sources(
        self, memory_ids: Sequence[str], user_ids: frozenset[str] | None, limit: int
    ) -> dict[str, Sources]:
        """Return the sources of every id, each with at most ``limit`` rows."""
        noted = self._store.memory_sources(memory_ids)
        first = {memory_id: some[:limit] for memory_id, some in noted.items()}
        wanted = (one.message_id for some in first.values() for one in some)
        messages = self._rows("message", wanted, user_ids)
        return {
            memory_id: Sources(
                rows=[SourceRow(source=one, message=messages.get(one.message_id)) for one in some],
                count=len(noted[memory_id]),
                is_recorded=self._store.has_extras,
            )
            for memory_id, some in first.items()
        }

    def derived(
        self, message_ids: Sequence[str], user_ids: frozenset[str] | None
    ) -> dict[str, list[Row]]:
        """Return the visible memories that came from every id, oldest first."""
        noted = self._store.derived_memories(message_ids)
        memories = self._rows("memory", (one for some in noted.values() for one in some), user_ids)
        return {
            message_id: [memories[one] for one in some if one in memories]
            for message_id, some in noted.items()
        }

    def _rows(
        self, kind: RowKind, record_ids: Iterable[str], user_ids: Collection[str] | None
    ) -> dict[str, Row]:
        """Read the records that are visible."""
        ids = sorted(set(record_ids))
        if not ids or (user_ids is not None and not user_ids):
            return {}
        with self._store.engine.read() as connection:
            return {
                row.id: row
                for start in range(0, len(ids), _AT_ONCE)
                for row in self._some(connection, kind, ids[start : start + _AT_ONCE], user_ids)
            }

    def _some(
        self,
        connection: sa.Connection,
        kind: RowKind,
        record_ids: list[str],
        user_ids: Collection[str] | None,
    ) -> list[Row]:
        criteria = criteria_of(kind, {"ids": record_ids, "user_ids": user_ids})
        pages = self._pages[kind]
        return pages.page(connection, criteria, "newest", None, len(record_ids)).rows
