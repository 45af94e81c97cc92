"""Search by meaning and by words within a caller's scope."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from memoryapp.access import Access
from memoryapp.memory import inspector, store
from memoryapp.services.metadata import checked_filter
from oracleagentmemory._notset import Maybe, _NotSetMarker
from oracleagentmemory.apis.records import Record, RecordStatus
from oracleagentmemory.core.dbsearch import SearchStrategy
from oracleagentmemory.errors import AccessDeniedError, InvalidInputError
from oracleagentmemory.inspection import ANY, ExplainScope, Explanation, Standing

Strategy = Literal["vector", "keyword", "hybrid"]
STRATEGIES: tuple[Strategy, ...] = ("vector", "keyword", "hybrid")
RECORD_TYPES = ("memory", "fact", "guideline", "preference", "message", "image")
MAX_RESULTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One hit. ``relevance`` is 1 - distance, never below 0.

    ``standings`` has its place in each stage of the search that ranked it.
    """

    rank: int
    record: Record
    distance: float
    standings: Mapping[str, Standing] = field(default_factory=dict)

    @property
    def relevance(self) -> float:
        """Estimated relevance from 0 to 1."""
        return max(0.0, 1.0 - self.distance)

    @property
    def is_valid(self) -> bool:
        """Whether the record still counts."""
        return self.record.status is RecordStatus.VALID


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The hits, best first, what was compared, and the stages in their order."""

    strategy: Strategy
    stages: tuple[str, ...]
    found: list[Found]


def search(
    access: Access,
    query: str,
    *,
    user_id: Maybe[str | None],
    agent_id: Maybe[str | None] = ANY,
    thread_id: Maybe[str | None] = ANY,
    record_types: Collection[str] | None = None,
    max_results: int = 10,
    metadata_filter: dict[str, Any] | None = None,
    include_invalid: bool = False,
    strategy: Strategy | None = None,
    explain: bool = False,
) -> Answer:
    """Find the records that fit best.

    ``user_id`` ANY searches all users and needs an access without a user limit; None means
    records of no user. ``strategy`` None is that of the settings. ``explain`` adds the stages and
    where each hit stood in them, which about doubles what the search costs.
    """
    _check(access, user_id, max_results)
    scope = {"user_id": user_id, "agent_id": agent_id, "thread_id": thread_id}
    wanted: dict[str, Any] = {
        "record_types": set(record_types or RECORD_TYPES),
        "metadata_filter": checked_filter(metadata_filter),
    }
    if strategy is None and not explain:
        hits = store().search(
            query, max_results, **_exact(scope), **wanted, include_invalid_results=include_invalid
        )
        found = [Found(rank=n, record=one, distance=far) for n, (one, far) in enumerate(hits, 1)]
        return Answer(strategy=_name(store().search_strategy), stages=(), found=found)
    explanation = inspector().explain(
        query,
        strategy=None if strategy is None else SearchStrategy(strategy),
        max_results=max_results,
        **cast("ExplainScope", {**scope, **wanted, "include_invalid": include_invalid}),
    )
    return _answer(explanation, with_stages=explain)


def _answer(explanation: Explanation, *, with_stages: bool) -> Answer:
    return Answer(
        strategy=_name(explanation.strategy),
        stages=explanation.stages if with_stages else (),
        found=[
            Found(
                rank=hit.rank,
                record=hit.record,
                distance=hit.distance,
                standings=hit.standings if with_stages else {},
            )
            for hit in explanation.hits
        ],
    )


def _exact(scope: Mapping[str, Maybe[str | None]]) -> dict[str, Any]:
    """The store's pairs of arguments: ANY leaves a dimension free."""
    arguments: dict[str, Any] = {}
    for name, value in scope.items():
        arguments[f"exact_{name.removesuffix('_id')}_match"] = value is not ANY
        if value is not ANY:
            arguments[name] = value
    return arguments


def _name(strategy: SearchStrategy) -> Strategy:
    name: Strategy = strategy.value
    return name


def _check(access: Access, user_id: Maybe[str | None], max_results: int) -> None:
    """Refuse what this caller may not search, and how much nobody may ask for."""
    if user_id is ANY and access.user_ids is not None:
        raise InvalidInputError("name one of the users you may see")
    if not isinstance(user_id, _NotSetMarker) and not access.may_see(user_id):
        raise AccessDeniedError(f"you may not search records of user {user_id!r}")
    if not 1 <= max_results <= MAX_RESULTS:
        raise InvalidInputError(f"max_results must be from 1 to {MAX_RESULTS}")
