"""Facets: which values the first matching records have, and how often."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.inspection.pages import Pages
from oracleagentmemory.inspection.results import COUNT_LIMIT, Facets, FacetValue
from oracleagentmemory.inspection.selection import Criteria
from oracleagentmemory.inspection.sources import WORDS, Source
from oracleagentmemory.storage.filters import Filter

_SHAPES = 512


class FacetCounts:
    """Counts the values of one kind of record, all facets in one statement.

    Attributes:
        none: What nothing matches has.
    """

    def __init__(self, source: Source, pages: Pages) -> None:
        self._source, self._pages = source, pages
        self._columns = source.faceted
        self.none = Facets(values={column.name: [] for column in self._columns}, capped=False)
        self._cached = functools.lru_cache(_SHAPES)(self._of_words)

    def read(
        self, connection: sa.Connection, criteria: Criteria, top: int, *, alternatives: bool
    ) -> Facets:
        """Count values; see :meth:`~.inspector.StoreInspector.facets`."""
        wide = replace(criteria, memory_types=None, status=None) if alternatives else criteria
        groups = connection.execute(*self._statement(wide)).all()
        is_full = sum(group[-1] for group in groups) == COUNT_LIMIT
        return Facets(
            values={
                column.name: _top(groups, column.name, self._kept(criteria, column.name), top)
                for column in self._columns
            },
            capped=is_full and self._pages.count(connection, wide).capped,
        )

    def _statement(self, criteria: Criteria) -> tuple[sa.Select[Any], dict[str, Any]]:
        """Select combinations of values with their numbers: of the newest records, or with a
        text of those that its index gives first.
        """
        limit = {"limit": COUNT_LIMIT}
        if criteria.shape() & WORDS:
            build = self._cached if criteria.metadata is None else self._of_words
            return build(criteria.shape(), criteria.metadata), criteria.binds() | limit
        statements = self._pages.statements
        return self._grouped(statements.values(criteria)), statements.binds(criteria) | limit

    def _of_words(self, shape: frozenset[str], metadata: Filter | None) -> sa.Select[Any]:
        return self._grouped(self._source.few(shape, metadata, *self._columns))

    def _grouped(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        few = rows.subquery("few")
        columns = [few.c[column.name] for column in self._columns]
        return sa.select(*columns, sa.func.count()).group_by(*columns)

    def _kept(self, criteria: Criteria, facet: str) -> Mapping[str, frozenset[str]]:
        """What the other facets' filters ask for of a group."""
        given = {"memory_type": criteria.memory_types, "status": criteria.status}
        wanted = {
            name: frozenset([value]) if isinstance(value, str) else value
            for name, value in given.items()
            if value is not None and name != facet
        }
        return wanted


def _top(
    groups: Iterable[sa.Row[Any]], facet: str, kept: Mapping[str, frozenset[str]], top: int
) -> list[FacetValue]:
    """The most frequent values; ties in the order of the values, none last."""
    counts: Counter[str | None] = Counter()
    for group in groups:
        values = group._mapping
        if all(values[name] in wanted for name, wanted in kept.items()):
            counts[values[facet]] += group[-1]
    order = sorted(counts.items(), key=lambda one: (-one[1], one[0] is None, one[0] or ""))
    return [FacetValue(value=value, count=count) for value, count in order[:top]]
