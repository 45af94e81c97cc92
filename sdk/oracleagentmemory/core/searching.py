"""Searching, the same for client and thread: scope, bounds, reranking and token budgets."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker, given
from oracleagentmemory.apis.records import MEMORY_TYPES, MetadataValue
from oracleagentmemory.apis.searchresult import SearchResult, SearchResultFormatConfig
from oracleagentmemory.apis.searchscope import SearchScope
from oracleagentmemory.apis.validation import check_flag, check_id, check_text
from oracleagentmemory.core.refining import check_calls, refine
from oracleagentmemory.core.searchconfig import (
    DEFAULT_MAX_RESULTS,
    MemorySearchConfig,
    check_budget,
    check_max_results,
)
from oracleagentmemory.core.searchresult import OracleSearchResult
from oracleagentmemory.errors import InvalidInputError, WrongTypeError

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

SEARCHED_TYPES = frozenset({"message", "image", *MEMORY_TYPES, "user_profile", "agent_profile"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchArguments:
    """What a caller asks of a search, besides its scope."""

    query: str
    max_results: Maybe[int]
    token_budget: Maybe[int]
    soft_token_budget: Maybe[int]
    record_types: Maybe[list[str]]
    metadata_filter: Maybe[MetadataValue]
    num_hops: Maybe[int]
    max_linked_results: Maybe[int]
    include_invalid_results: Maybe[bool]


def merge_scope(
    scope: Maybe[SearchScope],
    *,
    user_id: Maybe[str | None],
    agent_id: Maybe[str | None],
    thread_id: Maybe[str | None],
    exact_user_match: Maybe[bool],
    exact_agent_match: Maybe[bool],
    exact_thread_match: Maybe[bool],
) -> SearchScope:
    """Return the scope of a call, given whole or by parts.

    Raises:
        InvalidInputError: If both are given, or an id cannot be one.
        WrongTypeError: If ``scope`` is no ``SearchScope``.
    """
    parts = SearchScope(
        user_id, agent_id, thread_id, exact_user_match, exact_agent_match, exact_thread_match
    )
    if isinstance(scope, _NotSetMarker):
        merged = parts
    elif not isinstance(scope, SearchScope):
        raise WrongTypeError("scope must be a SearchScope")
    elif parts != SearchScope():
        raise InvalidInputError("give scope or ids and exact_*_match arguments, not both")
    else:
        merged = scope
    for name in ("exact_user_match", "exact_agent_match", "exact_thread_match"):
        check_flag(getattr(merged, name), name)
    for name in ("user_id", "agent_id", "thread_id"):
        value = getattr(merged, name)
        if value is not None and not isinstance(value, _NotSetMarker):
            check_id(value, name)
    return merged


def client_scope(scope: SearchScope) -> SearchScope:
    """Return the scope of a client's search with every part decided.

    Raises:
        InvalidInputError: If the user is not given or not matched exactly.
    """
    if isinstance(scope.user_id, _NotSetMarker):
        raise InvalidInputError("search needs user_id; None means records without a user")
    if not given(scope.exact_user_match, True):
        raise InvalidInputError("a client's search must match the user exactly")
    agent_given = not isinstance(scope.agent_id, _NotSetMarker)
    return SearchScope(
        user_id=scope.user_id,
        agent_id=given(scope.agent_id, None),
        thread_id=given(scope.thread_id, None),
        exact_user_match=True,
        exact_agent_match=given(scope.exact_agent_match, agent_given),
        exact_thread_match=given(scope.exact_thread_match, False),
    )


def thread_scope(scope: SearchScope, *, user_id: str, agent_id: str, thread_id: str) -> SearchScope:
    """Return the scope of a thread's search: omitted parts are the thread's."""
    return SearchScope(
        user_id=given(scope.user_id, user_id),
        agent_id=given(scope.agent_id, agent_id),
        thread_id=given(scope.thread_id, thread_id),
        exact_user_match=given(scope.exact_user_match, True),
        exact_agent_match=given(scope.exact_agent_match, True),
        exact_thread_match=given(scope.exact_thread_match, False),
    )


def search(
    store: OracleMemoryStore,
    config: MemorySearchConfig,
    scope: SearchScope,
    asked: SearchArguments,
) -> list[SearchResult]:
    """Search a store, rerank and prune when the config says so, and keep what fits the budgets.

    Raises:
        InvalidInputError: If an argument is out of bounds; nothing was read then.
        ModelAnswerError: If the reranker or the pruner answers with nonsense.
        StateError: If a model would be asked inside an open write transaction.
    """
    query = _check_query(asked.query)
    default = given(getattr(config, "max_results", NOT_SET_MARKER), DEFAULT_MAX_RESULTS)
    count = check_max_results(given(asked.max_results, default))
    hard = budget(asked.token_budget, config.token_budget, "token_budget")
    soft = budget(asked.soft_token_budget, config.soft_token_budget, "soft_token_budget")
    check_flag(asked.include_invalid_results, "include_invalid_results")
    with_invalid = given(asked.include_invalid_results, True)
    check_calls(store, config)
    found = store.search(
        query,
        count,
        user_id=given(scope.user_id, None),
        agent_id=given(scope.agent_id, None),
        thread_id=given(scope.thread_id, None),
        exact_user_match=given(scope.exact_user_match, False),
        exact_agent_match=given(scope.exact_agent_match, False),
        exact_thread_match=given(scope.exact_thread_match, False),
        record_types=_check_types(asked.record_types),
        metadata_filter=given(asked.metadata_filter, None),
        num_hops=given(asked.num_hops, 0),
        max_linked_results=given(asked.max_linked_results, 100),
        include_invalid_results=with_invalid,
    )
    written_as = SearchResultFormatConfig(include_invalid_results=asked.include_invalid_results)
    results: list[SearchResult] = [
        OracleSearchResult(distance, record, format_config=written_as) for record, distance in found
    ]
    return refine(store, config, query, results, hard=hard, soft=soft).kept


def _check_query(query: object) -> str:
    if query is None:
        raise InvalidInputError("query must not be None")
    text = check_text(query, "query")
    if not text.strip():
        raise InvalidInputError("query must not be blank")
    return text


def budget(asked: Maybe[int], configured: Maybe[int | None], what: str) -> int | None:
    """Return the tokens that results may have: as asked, else as configured."""
    value = check_budget(given(asked, None), what)
    return given(configured, None) if value is None else value


def _check_types(record_types: object) -> set[str] | None:
    """Return the types to search; a str is one type, not its letters."""
    if record_types is None or isinstance(record_types, _NotSetMarker):
        return None
    names = [record_types] if isinstance(record_types, str) else record_types
    if not isinstance(names, Collection):
        raise WrongTypeError("record_types must be a list of record types")
    unknown = [name for name in names if not isinstance(name, str) or name not in SEARCHED_TYPES]
    if unknown:
        known = ", ".join(sorted(SEARCHED_TYPES))
        raise InvalidInputError(f"unknown record type {unknown[0]!r:.80}; known are {known}")
    return set(names)
