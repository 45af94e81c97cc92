"""Whose records are meant."""

from __future__ import annotations

from dataclasses import dataclass

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe


@dataclass
class Scope:
    """A user, an agent and a thread; ``None`` means records without one."""

    user_id: Maybe[str | None] = NOT_SET_MARKER
    agent_id: Maybe[str | None] = NOT_SET_MARKER
    thread_id: Maybe[str | None] = NOT_SET_MARKER
