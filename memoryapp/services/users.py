"""Users: every user id that a record carries, with a profile or without."""

from __future__ import annotations

from typing import Any

from memoryapp.access import Access
from memoryapp.memory import inspector
from memoryapp.services import profiles
from oracleagentmemory.errors import AccessDeniedError, NotFoundError
from oracleagentmemory.inspection import Actor, ActorPage


def list_page(
    access: Access, *, before: str | None = None, after: str | None = None, limit: int = 50
) -> ActorPage:
    """Return one page of the users this caller may see, in the order of their ids."""
    return inspector().users(user_ids=access.user_ids, before=before, after=after, limit=limit)


def get(access: Access, user_id: str) -> Actor:
    """Return one user with profile and counts. Raises: NotFoundError."""
    actor = inspector().user(user_id, user_ids=access.user_ids)
    if actor is None:
        raise NotFoundError(f"user {user_id!r} not found")
    return actor


def add_profile(
    access: Access,
    user_id: str,
    information: str,
    *,
    metadata: dict[str, Any] | None = None,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> None:
    """Store what is known of a user; an existing profile is replaced."""
    if not access.may_see(user_id):
        raise AccessDeniedError(f"you may not write records of user {user_id!r}")
    profiles.put(
        access,
        "user",
        user_id,
        information,
        metadata=metadata,
        if_fingerprint=if_fingerprint,
        reason=reason,
    )
