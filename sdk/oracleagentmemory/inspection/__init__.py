"""The read side of a store for dashboards."""

from __future__ import annotations

from oracleagentmemory.inspection.cursors import is_cursor
from oracleagentmemory.inspection.explain import (
    ExplainedHit,
    ExplainScope,
    Explanation,
    Standing,
)
from oracleagentmemory.inspection.inspector import StoreInspector
from oracleagentmemory.inspection.provenance import SourceRow, Sources
from oracleagentmemory.inspection.relations import RelationFilters, RelationPage, RelationRow
from oracleagentmemory.inspection.results import (
    Actor,
    ActorPage,
    Change,
    ChangePage,
    Count,
    DayCount,
    Facets,
    FacetValue,
    OutsidePage,
    Page,
    Row,
    RowKind,
    Statistics,
    ThreadDigest,
)
from oracleagentmemory.inspection.selection import (
    ANY,
    MAX_TEXT_BYTES,
    Filters,
    RecordFilters,
)
from oracleagentmemory.inspection.summaries import StandingSummary
from oracleagentmemory.storage.filters import refuse_unknown_operators

__all__ = [
    "ANY",
    "MAX_TEXT_BYTES",
    "Actor",
    "ActorPage",
    "Change",
    "ChangePage",
    "Count",
    "DayCount",
    "ExplainScope",
    "ExplainedHit",
    "Explanation",
    "FacetValue",
    "Facets",
    "Filters",
    "OutsidePage",
    "Page",
    "RecordFilters",
    "RelationFilters",
    "RelationPage",
    "RelationRow",
    "Row",
    "RowKind",
    "SourceRow",
    "Sources",
    "Standing",
    "StandingSummary",
    "Statistics",
    "StoreInspector",
    "ThreadDigest",
    "is_cursor",
    "refuse_unknown_operators",
]
