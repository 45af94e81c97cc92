"""Why a search found what it found: every stage's ranks and scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

from oracleagentmemory._notset import Maybe
from oracleagentmemory.apis.records import Record
from oracleagentmemory.apis.searchresult import SearchResult
from oracleagentmemory.core.budgets import estimate_tokens
from oracleagentmemory.core.dbsearch import SearchStrategy
from oracleagentmemory.core.pruning import Decision
from oracleagentmemory.core.refining import (
    RERANKING,
    Refined,
    check_calls,
    configured_budgets,
    refine,
)
from oracleagentmemory.core.searchconfig import (
    MemorySearchConfig,
    TopKMemorySearchConfig,
    check_search_config,
)
from oracleagentmemory.core.searchresult import OracleSearchResult
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
            (Oracle) in keyword stages, the sum of reciprocal ranks in the fusion, the reranker's
            own measure in its stage.
    """

    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedHit:
    """A record that was found.

    Attributes:
        distance: As ``search`` returns it.
        standings: By stage, where the record stood; a stage that did not rank it is missing.
        tokens: Estimated tokens that it counts in a token budget.
        decision: What the pruner said of it; ``None`` when it was not asked.
        removed_by: The stage that took it away, ``pruning`` or ``budget``; ``None`` for hits.
    """

    rank: int
    record: Record
    distance: float
    standings: Mapping[str, Standing] = field(default_factory=dict)
    tokens: int = 0
    decision: Decision | None = None
    removed_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A search and how it came about.

    Attributes:
        strategy: What was compared.
        stages: Names of the stages, in order: ``vector`` and ``keyword`` are the rankings by
            themselves, ``vector_neighbours`` and ``keyword_neighbours`` those after messages
            have lent a share of their score to their neighbours, ``fusion`` puts both together.
            A query too long for one search has ``piece 1``, ``piece 2``, … and ``fusion``. With
            a search config, ``reranking``, ``pruning`` and ``budget`` follow where it has them.
        hits: What ``search`` finds, in its order.
        removed: What pruning and budget took away; their ranks are those before that.
    """

    strategy: SearchStrategy
    stages: tuple[str, ...]
    hits: list[ExplainedHit]
    removed: list[ExplainedHit] = field(default_factory=list)


def explain(
    store: SQLMemoryStore,
    query: str,
    strategy: SearchStrategy | None,
    max_results: int,
    config: MemorySearchConfig | None,
    scope: ExplainScope,
) -> Explanation:
    """Search a store and tell how each stage ranked what was found."""
    chosen = store.search_strategy if strategy is None else strategy
    if not isinstance(chosen, SearchStrategy):
        raise WrongTypeError(f"strategy must be a SearchStrategy, not {chosen!r:.80}")
    config = check_search_config(TopKMemorySearchConfig() if config is None else config)
    check_calls(store, config)
    searched = store.search_stages(query, max_results, chosen, **scope)
    standings: dict[tuple[str, str], dict[str, Standing]] = {}
    for stage, ranking in searched.rankings.items():
        for rank, (score, *key) in enumerate(ranking, start=1):
            standings.setdefault((key[0], key[1]), {})[stage] = Standing(rank, score)
    found = [OracleSearchResult(distance, record) for record, distance in searched.found]
    found_at = {id(one): (rank, one.distance) for rank, one in enumerate(found, start=1)}
    hard, soft = configured_budgets(config)
    refined = refine(store, config, query, [*found], hard=hard, soft=soft)
    ranked = _Ranked(refined, standings, found_at)
    return Explanation(
        strategy=chosen,
        stages=(*searched.rankings, *refined.stages),
        hits=[ranked.hit(result, rank) for rank, result in enumerate(refined.kept, start=1)],
        removed=[ranked.hit(one, removed_by=stage) for one, stage in refined.removed],
    )


@dataclass(frozen=True, slots=True)
class _Ranked:
    """What the stages said of all results.

    Attributes:
        found_at: Rank and distance of the search, by the result's id in this process.
    """

    refined: Refined
    standings: Mapping[tuple[str, str], Mapping[str, Standing]]
    found_at: Mapping[int, tuple[int, float]]

    def hit(
        self, result: SearchResult, rank: int | None = None, removed_by: str | None = None
    ) -> ExplainedHit:
        record = result.record
        standings = dict(self.standings.get((record.record_type, record.id), {}))
        before, distance = self.found_at[id(result)]
        relevance = self.refined.relevance
        if id(result) in relevance:
            before = 1 + list(relevance).index(id(result))
            standings[RERANKING] = Standing(before, relevance[id(result)])
        return ExplainedHit(
            rank=before if rank is None else rank,
            record=record,
            distance=distance,
            standings=standings,
            tokens=estimate_tokens(result.formatted_content),
            decision=self.refined.decisions.get(id(result)),
            removed_by=removed_by,
        )
