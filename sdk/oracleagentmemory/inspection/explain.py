"""Why a search found what it found: every stage's ranks and scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from oracleagentmemory._notset import Maybe
from oracleagentmemory.apis.records import Record
from oracleagentmemory.core.dbsearch import SearchStrategy
from oracleagentmemory.errors import WrongTypeError

if TYPE_CHECKING:
    from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore

__all__ = ["ExplainScope", "ExplainedHit", "Explanation", "Standing", "explain"]


class ExplainScope(TypedDict, total=False):
    """What a search may find; ``ANY``, or leaving it out, leaves a part free.

    Attributes:
        user_id, agent_id, thread_id: Exactly this one; None means records without one.
        record_types: Only these types.
        metadata_filter: Only records that fulfil it.
        include_invalid: Whether invalid records are wanted; they are unless told otherwise.
    """

    user_id: Maybe[str | None]
    agent_id: Maybe[str | None]
    thread_id: Maybe[str | None]
    record_types: Collection[str] | None
    metadata_filter: Mapping[str, Any] | None
    include_invalid: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """A record's place in a stage.

    Attributes:
        rank: From 1.
        score: Higher is better. Cosine similarity in vector stages, BM25 (SQLite) or SCORE
            (Oracle) in keyword stages, the sum of reciprocal ranks in the fusion.
    """

    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedHit:
    """A record that was found.

    Attributes:
        distance: As ``search`` returns it.
        standings: By stage, where the record stood; a stage that did not rank it is missing.
    """

    rank: int
    record: Record
    distance: float
    standings: Mapping[str, Standing] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A search and how it came about.

    Attributes:
        strategy: What was compared.
        stages: Names of the stages, in order: ``vector`` and ``keyword`` are the rankings by
            themselves, ``vector_neighbours`` and ``keyword_neighbours`` those after messages
            have lent a share of their score to their neighbours, ``fusion`` puts both together.
            A query too long for one search has ``piece 1``, ``piece 2``, … and ``fusion``.
        hits: What ``search`` finds, in its order.
    """

    strategy: SearchStrategy
    stages: tuple[str, ...]
    hits: list[ExplainedHit]


def explain(
    store: SQLMemoryStore,
    query: str,
    strategy: SearchStrategy | None,
    max_results: int,
    scope: ExplainScope,
) -> Explanation:
    """Search a store and tell how each stage ranked what was found."""
    chosen = store.search_strategy if strategy is None else strategy
    if not isinstance(chosen, SearchStrategy):
        raise WrongTypeError(f"strategy must be a SearchStrategy, not {chosen!r:.80}")
    searched = store.search_stages(query, max_results, chosen, **scope)
    standings: dict[tuple[str, str], dict[str, Standing]] = {}
    for stage, ranking in searched.rankings.items():
        for rank, (score, *key) in enumerate(ranking, start=1):
            standings.setdefault((key[0], key[1]), {})[stage] = Standing(rank, score)
    hits = [
        ExplainedHit(
            rank=rank,
            record=record,
            distance=distance,
            standings=standings.get((record.record_type, record.id), {}),
        )
        for rank, (record, distance) in enumerate(searched.found, start=1)
    ]
    return Explanation(strategy=chosen, stages=tuple(searched.rankings), hits=hits)
