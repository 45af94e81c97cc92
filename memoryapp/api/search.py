"""``/api/v1/search``."""

from __future__ import annotations

from typing import Any

from ninja import Query, Router

from memoryapp.api.answers import SearchOut, search_out
from memoryapp.api.requests import ApiRequest, own_user
from memoryapp.api.schemas import SearchIn, SearchParameters
from memoryapp.services import search
from oracleagentmemory._notset import Maybe
from oracleagentmemory.inspection import ANY

router = Router(tags=["search"])


@router.post("", response=SearchOut, operation_id="search_records")
def search_records(request: ApiRequest, body: SearchIn) -> SearchOut:
    """Find memories and messages by meaning and words, best first."""
    return _search(request, body.query, body)


@router.get("", response=SearchOut, operation_id="find_records")
def find_records(request: ApiRequest, query: Query[SearchParameters]) -> SearchOut:
    """The same as a query string."""
    return _search(request, query.q, query)


def _search(request: ApiRequest, text: str, given: SearchIn | SearchParameters) -> SearchOut:
    user_id: Maybe[str | None] = _or_any(given, "user_id")
    if user_id is ANY:
        user_id = own_user(request.auth, None) or ANY
    scope: dict[str, Any] = {name: _or_any(given, name) for name in ("agent_id", "thread_id")}
    answer = search.search(
        request.auth,
        text,
        user_id=user_id,
        **scope,
        record_types=given.record_types or None,
        max_results=given.max_results,
        metadata_filter=given.metadata_filter,
        include_invalid=given.include_invalid,
        strategy=given.strategy,
        explain=given.explain,
    )
    return search_out(answer)


def _or_any(given: SearchIn | SearchParameters, name: str) -> Maybe[str | None]:
    value: str | None = getattr(given, name)
    return value if name in given.model_fields_set else ANY
