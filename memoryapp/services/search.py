"""Search by meaning within a caller's scope."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from memoryapp.access import Access
from memoryapp.memory import store
from memoryapp.services.metadata import checked_filter
from oracleagentmemory._notset import Maybe, _NotSetMarker
from oracleagentmemory.apis.records import Record, RecordStatus
from oracleagentmemory.errors import AccessDeniedError, InvalidInputError
from oracleagentmemory.inspection import ANY

RECORD_TYPES = ("memory", "fact", "guideline", "preference", "message")
MAX_RESULTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One hit. ``relevance`` is 1 - distance, never below 0."""

    rank: int
    record: Record
    distance: float

    @property
    def relevance(self) -> float:
        """Estimated relevance from 0 to 1."""
        return max(0.0, 1.0 - self.distance)

    @property
    def is_valid(self) -> bool:
        """Whether the record still counts."""
        return self.record.status is RecordStatus.VALID


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
) -> list[Found]:
    """Return the nearest records, nearest first.

    ``user_id`` ANY searches all users and needs an access without a user limit; None means
    records of no user.
    """
    if user_id is ANY and access.user_ids is not None:
        raise InvalidInputError("name one of the users you may see")
    if not isinstance(user_id, _NotSetMarker) and not access.may_see(user_id):
        raise AccessDeniedError(f"you may not search records of user {user_id!r}")
    if not 1 <= max_results <= MAX_RESULTS:
        raise InvalidInputError(f"max_results must be from 1 to {MAX_RESULTS}")
    hits = store().search(
        query,
        max_results,
        **_scope("user", user_id),
        **_scope("agent", agent_id),
        **_scope("thread", thread_id),
        record_types=set(record_types or RECORD_TYPES),
        metadata_filter=checked_filter(metadata_filter),
        include_invalid_results=include_invalid,
    )
    return [
        Found(rank=rank, record=record, distance=distance)
        for rank, (record, distance) in enumerate(hits, start=1)
    ]


def _scope(dimension: str, value: Maybe[str | None]) -> dict[str, Any]:
    """The store's pair of arguments: ANY leaves the dimension free."""
    if value is ANY:
        return {f"exact_{dimension}_match": False}
    return {f"{dimension}_id": value, f"exact_{dimension}_match": True}
