"""What becomes of found records: they are reranked, pruned, and cut to the token budgets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, given
from oracleagentmemory.apis.reranker import IReranker
from oracleagentmemory.apis.searchresult import SearchResult
from oracleagentmemory.core.budgets import within_budget
from oracleagentmemory.core.pruning import Decision, prune
from oracleagentmemory.core.searchconfig import (
    MemorySearchConfig,
    PruningMemorySearchConfig,
    check_budget,
)
from oracleagentmemory.errors import ModelAnswerError

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

RERANKING, PRUNING, BUDGET = "reranking", "pruning", "budget"


@dataclass(slots=True)
class Refined:
    """Results after the stages of a config.

    Attributes:
        kept: What the search returns.
        stages: The stages that took place, in order.
        removed: What a stage took away, in the order of the results, with the stage's name.
        relevance: What the reranker said of the results it saw, by their id in this process.
        decisions: What the pruner said of the results it was asked about, likewise.
    """

    kept: list[SearchResult]
    stages: list[str] = field(default_factory=list)
    removed: list[tuple[SearchResult, str]] = field(default_factory=list)
    relevance: dict[int, float] = field(default_factory=dict)
    decisions: dict[int, Decision] = field(default_factory=dict)

    def _keep(self, stage: str, kept: list[SearchResult]) -> None:
        self.stages.append(stage)
        stay = set(map(id, kept))
        self.removed += [(result, stage) for result in self.kept if id(result) not in stay]
        self.kept = kept


def check_calls(store: OracleMemoryStore, config: MemorySearchConfig) -> None:
    """Refuse, before anything is read, a config that asks a model inside a write transaction."""
    if isinstance(config, PruningMemorySearchConfig):
        store.refuse_in_transaction("pruning search results")
    if _reranker(config) is not None:
        store.refuse_in_transaction("reranking search results")


def configured_budgets(config: MemorySearchConfig) -> tuple[int | None, int | None]:
    """Return the hard and the soft token budget of a config."""
    hard = check_budget(given(config.token_budget, None), "token_budget")
    return hard, check_budget(given(config.soft_token_budget, None), "soft_token_budget")


def refine(
    store: OracleMemoryStore,
    config: MemorySearchConfig,
    query: str,
    results: list[SearchResult],
    *,
    hard: int | None,
    soft: int | None,
) -> Refined:
    """Rerank, prune and cut results, in this order.

    Args:
        hard: Estimated tokens that are never passed; ``None``, 0 or less: no bound.
        soft: Estimated tokens after which no result is added; likewise.

    Raises:
        ModelAnswerError: If the reranker or the pruner answers with nonsense.
    """
    refined = Refined(results)
    reranker = _reranker(config)
    if reranker is not None and results:
        _rerank(refined, reranker, config, query)
    if isinstance(config, PruningMemorySearchConfig) and results:
        asked = refined.kept
        places, decisions = prune(
            config, query, [one.content for one in asked], after_call=store._after_twin
        )
        refined.decisions = {id(asked[place]): one for place, one in decisions.items()}
        refined._keep(PRUNING, [asked[place] for place in places])
    if (hard or 0) > 0 or (soft or 0) > 0:
        refined._keep(BUDGET, within_budget(refined.kept, hard, soft))
    return refined


def _reranker(config: MemorySearchConfig) -> IReranker | None:
    reranker: Maybe[IReranker | None] = getattr(config, "reranker", NOT_SET_MARKER)
    return given(reranker, None)


def _rerank(refined: Refined, reranker: IReranker, config: MemorySearchConfig, query: str) -> None:
    results = refined.kept
    size = int(given(getattr(config, "reranker_max_candidates", NOT_SET_MARKER), len(results)))
    head, tail = results[:size], results[size:]
    response = reranker.rerank(query, [result.content for result in head])
    order = [place.index for place in response.results]
    if sorted(order) != list(range(len(head))):
        raise ModelAnswerError("the reranker did not return every document exactly once")
    refined.relevance = {
        id(head[place.index]): float(place.relevance_score) for place in response.results
    }
    refined._keep(RERANKING, [head[index] for index in order] + tail)
