"""Agents: every agent id that a record carries, with a profile or without."""

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
    """Return one page of the agents in the records this caller may see, in the order of ids."""
    return inspector().agents(user_ids=access.user_ids, before=before, after=after, limit=limit)


def get(access: Access, agent_id: str) -> Actor:
    """Return one agent with profile and counts. Raises: NotFoundError."""
    actor = inspector().agent(agent_id, user_ids=access.user_ids)
    if actor is None:
        raise NotFoundError(f"agent {agent_id!r} not found")
    return actor


def add_profile(
    access: Access,
    agent_id: str,
    information: str,
    *,
    metadata: dict[str, Any] | None = None,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> None:
    """Store what is known of an agent; an existing profile is replaced.

    A profile of an agent is seen by all users, so a caller limited to some may not write it.
    """
    if access.user_ids is not None:
        raise AccessDeniedError("a caller limited to some users may not change an agent's profile")
    if access.agent_id is not None and access.agent_id != agent_id:
        raise AccessDeniedError(f"this key writes as agent {access.agent_id!r} only")
    profiles.put(
        access,
        "agent",
        agent_id,
        information,
        metadata=metadata,
        if_fingerprint=if_fingerprint,
        reason=reason,
    )
