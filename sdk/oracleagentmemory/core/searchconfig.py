"""Search configurations: how results are ranked, pruned and bounded."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker, given
from oracleagentmemory._warn import warn_caller
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.reranker import IReranker
from oracleagentmemory.apis.searchconfig import ISearchConfig
from oracleagentmemory.errors import InvalidInputError, WrongTypeError

DEFAULT_MAX_RESULTS = 10
LARGEST_MAX_RESULTS = 1000
#: Estimated tokens; fewer hold hardly one result.
SMALL_TOKEN_BUDGET = 1000
DEFAULT_PROBE_POINTS = 3
MAX_PROBE_POINTS = 16
DEFAULT_PROTECTED_FRACTION = 0.1


class PruningEvaluationMode(enum.StrEnum):
    """How many documents the pruner looks at, and what follows from them.

    ``FAST`` looks at pairs of neighbours at even distances, and the results end before the first
    pair without a relevant one. ``EXTENDED`` looks at the same pairs, and the results end after
    the last pair with a relevant one. ``EXHAUSTIVE`` looks at every document.
    """

    FAST = "fast"
    EXTENDED = "extended"
    EXHAUSTIVE = "exhaustive"


@dataclass
class MemorySearchConfig(ISearchConfig):
    """Bounds of a search's output; values are checked when a client or thread resolves it.

    Attributes:
        token_budget: Estimated tokens that the results may have together; 0 or less: no bound.
        soft_token_budget: Estimated tokens after which no result is added; 0 or less: no bound.
    """

    token_budget: Maybe[int | None] = NOT_SET_MARKER
    soft_token_budget: Maybe[int | None] = NOT_SET_MARKER


@dataclass
class _RerankingMemorySearchConfig(MemorySearchConfig):
    reranker: Maybe[IReranker | None] = NOT_SET_MARKER
    reranker_max_candidates: Maybe[int] = NOT_SET_MARKER


@dataclass
class TopKMemorySearchConfig(_RerankingMemorySearchConfig):
    """The nearest results, reranked when a reranker is given.

    Attributes:
        reranker_max_candidates: How many candidates the reranker sees.
        max_results: Results of a search that does not say how many, 1 to 1000; 10 by default.
    """

    max_results: Maybe[int] = NOT_SET_MARKER


@dataclass
class PruningMemorySearchConfig(_RerankingMemorySearchConfig):
    """Results without those that an LLM finds to have nothing to do with the query.

    The results are reranked first, when a reranker is given; token budgets come last.

    Attributes:
        pruner: Judges documents, one a request, at most 16 at the same time. An answer that is no
            decision is a ``ValueError`` of the search; what the pruner raises comes through.
        evaluation_mode: How many documents it looks at; ``FAST`` by default.
        num_probe_points: Places at which ``FAST`` and ``EXTENDED`` look, 1 to 16; 3 by default.
        protected_fraction: Share of the best results that is never removed, 0 to 1, rounded up,
            one at least; 0.1 by default.
    """

    pruner: ILlm = field(kw_only=True)
    evaluation_mode: Maybe[PruningEvaluationMode] = NOT_SET_MARKER
    num_probe_points: Maybe[int] = NOT_SET_MARKER
    protected_fraction: Maybe[float] = NOT_SET_MARKER


_TYPES: dict[str, type[MemorySearchConfig]] = {
    "top_k": TopKMemorySearchConfig,
    "pruning": PruningMemorySearchConfig,
}
# Models are objects of the process; a thread saves only what is data.
_NOT_SAVED = frozenset({"reranker", "pruner"})


def check_budget(value: object, what: str) -> int | None:
    """Return a token budget as an int, or ``None`` when there is none.

    Raises:
        InvalidInputError: If it is no integer.
    """
    if value is None:
        return None
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        raise InvalidInputError(f"{what} must be an integer") from None


def check_max_results(value: object) -> int:
    """Return a number of results, 1 to 1000; ``None`` means the default.

    Raises:
        InvalidInputError: If it is no integer or out of bounds.
    """
    count = check_budget(value, "max_results")
    if count is None:
        return DEFAULT_MAX_RESULTS
    if not 1 <= count <= LARGEST_MAX_RESULTS:
        raise InvalidInputError(f"max_results must be from 1 to {LARGEST_MAX_RESULTS}, not {count}")
    return count


def check_search_config(config: object) -> MemorySearchConfig:
    """Return the config when its values are sound.

    Raises:
        WrongTypeError: If it is no ``MemorySearchConfig``.
        InvalidInputError: If a value is out of bounds.
    """
    if not isinstance(config, MemorySearchConfig):
        raise WrongTypeError("search_config must be a MemorySearchConfig")
    _check_values(config)
    budget = check_budget(given(config.token_budget, None), "token_budget")
    if budget is not None and 0 < budget < SMALL_TOKEN_BUDGET:
        warn_caller(
            f"token_budget={budget} is small: below {SMALL_TOKEN_BUDGET} a search may return "
            "nothing",
            UserWarning,
        )
    return config


def _check_values(config: MemorySearchConfig) -> None:
    for name in ("token_budget", "soft_token_budget"):
        check_budget(given(getattr(config, name), None), name)
    if isinstance(config, TopKMemorySearchConfig):
        check_max_results(given(config.max_results, DEFAULT_MAX_RESULTS))
    if isinstance(config, _RerankingMemorySearchConfig):
        _at_least_one(config.reranker_max_candidates, "reranker_max_candidates")
    if isinstance(config, PruningMemorySearchConfig):
        _check_pruning(config)


def _at_least_one(value: Maybe[int], what: str) -> None:
    if not isinstance(value, _NotSetMarker) and (check_budget(value, what) or 0) < 1:
        raise InvalidInputError(f"{what} must be at least 1")


def _check_pruning(config: PruningMemorySearchConfig) -> None:
    mode = config.evaluation_mode
    if not isinstance(mode, _NotSetMarker) and not isinstance(mode, PruningEvaluationMode):
        raise WrongTypeError("evaluation_mode must be a PruningEvaluationMode")
    _at_least_one(config.num_probe_points, "num_probe_points")
    if int(given(config.num_probe_points, 1)) > MAX_PROBE_POINTS:
        raise InvalidInputError(f"num_probe_points must be at most {MAX_PROBE_POINTS}")
    fraction: object = given(config.protected_fraction, 0.0)
    if not isinstance(fraction, int | float) or not 0 <= fraction <= 1:
        raise InvalidInputError("protected_fraction must be from 0 to 1")


def search_config_to_json(config: MemorySearchConfig) -> dict[str, Any]:
    """Return what a thread saves of a config: its type and the fields that were given."""
    name = next((name for name, kind in _TYPES.items() if type(config) is kind), "top_k")
    saved: dict[str, Any] = {"type": name}
    for spec in fields(config):
        value = getattr(config, spec.name)
        if spec.name not in _NOT_SAVED and not isinstance(value, _NotSetMarker):
            saved[spec.name] = value.value if isinstance(value, enum.Enum) else value
    return saved


def search_config_from_json(
    saved: Mapping[str, Any], of_client: MemorySearchConfig | None
) -> MemorySearchConfig:
    """Return the config that a thread saved; models come from the client's config, if it has them.

    A saved pruning config without a pruner in the client keeps its other bounds as a top-k config.

    Raises:
        ValueError, TypeError: If a saved value cannot be accepted.
    """
    kind = _TYPES.get(str(saved.get("type")), TopKMemorySearchConfig)
    pruner = getattr(of_client, "pruner", None)
    if kind is PruningMemorySearchConfig and pruner is None:
        kind = TopKMemorySearchConfig
    names = {spec.name for spec in fields(kind)}
    values = {key: value for key, value in saved.items() if key in names - _NOT_SAVED}
    if "reranker" in names and of_client is not None:
        values["reranker"] = getattr(of_client, "reranker", NOT_SET_MARKER)
    if kind is PruningMemorySearchConfig:
        values["pruner"] = pruner
        if "evaluation_mode" in values:
            values["evaluation_mode"] = PruningEvaluationMode(values["evaluation_mode"])
    config = kind(**values)
    _check_values(config)
    return config
