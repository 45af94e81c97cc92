"""Users and agents with their profiles and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

import sqlalchemy as sa

from oracleagentmemory.apis.records import AgentProfileRecord, UserProfileRecord
from oracleagentmemory.inspection.actor_statements import ActorDirection, ActorStatements
from oracleagentmemory.inspection.results import Actor, ActorPage
from oracleagentmemory.storage.kinds import PROFILE
from oracleagentmemory.storage.rows import to_record

Profile = UserProfileRecord | AgentProfileRecord
# Images make an id known; their numbers are not shown. Threads come last: the time one was stored
# tells when its user was last heard of only if nothing is in it.
_COUNTED = ("message", "memory", "thread")


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorCriteria:
    """Which users or agents.

    Attributes:
        user_ids: The users whose records may be seen; ``None`` is all.
        ids: Only these users or agents; ``None`` is all.
    """

    user_ids: frozenset[str] | None
    ids: frozenset[str] | None

    @property
    def nothing(self) -> bool:
        """Whether no id can match, so that the database need not be asked."""
        return self.user_ids == frozenset() or self.ids == frozenset()

    def binds(self) -> dict[str, Any]:
        """The values of the conditions, by the names that make the shape."""
        given = {"user_ids": self.user_ids, "ids": self.ids}
        return {name: sorted(some) for name, some in given.items() if some is not None}


class Actors:
    """Reads users, or agents."""

    def __init__(self, statements: ActorStatements) -> None:
        self._statements = statements

    def page(
        self,
        connection: sa.Connection,
        criteria: ActorCriteria,
        direction: ActorDirection,
        at: str | None,
        limit: int,
    ) -> ActorPage:
        """Return a page that starts beyond the id ``at``."""
        found = self._ids(connection, criteria, direction, at, limit + 1)
        ids, more = found[:limit], len(found) > limit
        if direction == "previous":
            ids.reverse()
        after, before = more, False
        if direction == "next":
            edge = ids[0] if ids else at
            before = bool(self._ids(connection, criteria, "previous", edge, 1))
        elif direction == "previous":
            edge = ids[-1] if ids else at
            after, before = bool(self._ids(connection, criteria, "next", edge, 1)), more
        return ActorPage(
            actors=self.of_ids(connection, criteria, ids),
            previous=(ids[0] if ids else at) if before else None,
            next=(ids[-1] if ids else at) if after else None,
        )

    def of_ids(
        self, connection: sa.Connection, criteria: ActorCriteria, ids: list[str]
    ) -> list[Actor]:
        """Return the users or agents with these ids, which exist."""
        if not ids:
            return []
        binds = criteria.binds() | {"ids": ids}
        profiles = self._profiles(connection, ids)
        counts: dict[str, dict[str, int]] = {kind: {} for kind in _COUNTED}
        latest: dict[str, datetime] = {}
        for kind in _COUNTED:
            tally = connection.execute(self._statements.tally(kind, frozenset(binds)), binds).all()
            counts[kind] = {actor_id: count for actor_id, count, _ in tally}
            times = self._times(connection, kind, [newest for _, _, newest in tally])
            for actor_id, _, newest in tally:
                moment = times.get(newest, newest)
                if kind == "thread":
                    latest.setdefault(actor_id, moment)
                else:
                    latest[actor_id] = max(moment, latest.get(actor_id, moment))
        return [
            Actor(
                id=actor_id,
                profile=profiles.get(actor_id),
                threads=counts["thread"].get(actor_id, 0),
                messages=counts["message"].get(actor_id, 0),
                memories=counts["memory"].get(actor_id, 0),
                last_effective_at=latest.get(actor_id),
            )
            for actor_id in ids
        ]

    def _ids(
        self,
        connection: sa.Connection,
        criteria: ActorCriteria,
        direction: ActorDirection,
        at: str | None,
        limit: int,
    ) -> list[str]:
        binds = criteria.binds()
        statement = self._statements.ids(frozenset(binds), direction)
        edge = {} if direction == "first" else {"at": at}
        return list(connection.execute(statement, binds | edge | {"limit": limit}).scalars())

    def _profiles(self, connection: sa.Connection, ids: Iterable[str]) -> Mapping[str, Profile]:
        rows = connection.execute(self._statements.profiles, {"ids": list(ids)})
        return {row.actor_id: cast("Profile", to_record(PROFILE, row)) for row in rows}

    def _times(
        self, connection: sa.Connection, kind: str, newest: list[Any]
    ) -> Mapping[Any, datetime]:
        """Effective times by order; threads are ordered by theirs already."""
        if kind == "thread" or not newest:
            return {}
        statement = self._statements.newest(kind)
        return {row[0]: row[1] for row in connection.execute(statement, {"newest": newest})}
