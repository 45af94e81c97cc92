"""Whose records a search looks at."""

from __future__ import annotations

from dataclasses import dataclass

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.scope import Scope


@dataclass
class SearchScope(Scope):
    """A scope and how strictly each part of it is matched.

    ``exact_*_match=False`` leaves that part free even when an id is given; ``True`` with an id of
    ``None`` matches only records without one.
    """

    exact_user_match: Maybe[bool] = NOT_SET_MARKER
    exact_agent_match: Maybe[bool] = NOT_SET_MARKER
    exact_thread_match: Maybe[bool] = NOT_SET_MARKER
