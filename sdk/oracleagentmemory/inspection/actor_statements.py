"""The statements over users and agents: every id that a profile or a visible record carries.

A shape says which conditions a statement has: ``user_ids`` (the users whose records may be seen)
and ``ids`` (only these users or agents).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.inspection.sources import Condition, Source
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.statements import bind

ActorType: TypeAlias = Literal["user", "agent"]
ActorDirection: TypeAlias = Literal["first", "next", "previous"]
_LIMIT = sa.bindparam("limit", type_=sa.Integer())


class ActorStatements:
    """The statements over users, or over agents, each built once for its shape.

    Args:
        sources: The kinds of record that can carry an id.
    """

    def __init__(
        self, actor_type: ActorType, tables: ManagedTables, sources: Mapping[str, Source]
    ) -> None:
        self.actor_type = actor_type
        self.profile = tables.actor_profile
        self.sources = sources
        self.ids = functools.cache(self._ids)
        self.tally = functools.cache(self._tally)
        self.newest = functools.cache(self._newest)
        self.profiles = sa.select(*self.profile.c).where(*self._profiled(frozenset({"ids"})))

    def _tally(self, kind: str, shape: frozenset[str]) -> sa.Select[Any]:
        """Select id, number of records and the order of the newest, all from an index."""
        source = self.sources[kind]
        carried = self._carrier(source)
        return (
            sa.select(carried, sa.func.count(), sa.func.max(source.order[0]))
            .where(*self._conditions(source, shape))
            .group_by(carried)
        )

    def _newest(self, kind: str) -> sa.Select[Any]:
        """Select order and effective time of the records with the orders ``:newest``."""
        source = self.sources[kind]
        order = source.order[0]
        return (
            sa.select(order, source.effective_at)
            .select_from(source.noted(source.table))
            .where(_among(order, "newest"))
        )

    def _carrier(self, source: Source) -> sa.Column[Any]:
        column: sa.Column[Any] = source.table.c[f"{self.actor_type}_id"]
        return column

    def _conditions(self, source: Source, shape: frozenset[str]) -> list[Condition]:
        clauses = source.visible()
        if "user_ids" in shape:
            clauses.append(_among(source.table.c.user_id, "user_ids"))
        if "ids" in shape:
            clauses.append(_among(self._carrier(source), "ids"))
        return clauses

    def _ids(self, shape: frozenset[str], direction: ActorDirection) -> sa.Select[Any]:
        """Select at most ``:limit`` ids beyond the id ``:at``, nearest first."""
        arms = [
            self._arm(self._carrier(source), self._conditions(source, shape), direction)
            for source in self.sources.values()
        ]
        # With a scope, an agent exists only through the records that the scope shows.
        if self.actor_type == "user" or "user_ids" not in shape:
            arms.append(self._arm(self.profile.c.actor_id, self._profiled(shape), direction))
        parts = [sa.select(arm.subquery(f"arm_{n}").c.actor_id) for n, arm in enumerate(arms)]
        merged = sa.union(*parts).subquery("actor").c.actor_id
        return sa.select(merged).order_by(_ordered(merged, direction)).limit(_LIMIT)

    def _profiled(self, shape: frozenset[str]) -> list[Condition]:
        c = self.profile.c
        return [c.actor_type == self.actor_type, *(_among(c.actor_id, name) for name in shape)]

    def _arm(
        self, column: sa.Column[Any], clauses: list[Condition], direction: ActorDirection
    ) -> sa.Select[Any]:
        carried = column.label("actor_id")
        return (
            sa.select(carried)
            .where(column.is_not(None), *clauses, *_beyond(column, direction))
            .distinct()
            .order_by(_ordered(column, direction))
            .limit(_LIMIT)
        )


def _among(column: ColumnElement[Any], name: str) -> Condition:
    return column.in_(bind(name, column, expanding=True))


def _ordered(column: ColumnElement[Any], direction: ActorDirection) -> ColumnElement[Any]:
    return column.desc() if direction == "previous" else column.asc()


def _beyond(column: ColumnElement[Any], direction: ActorDirection) -> list[Condition]:
    if direction == "first":
        return []
    at = bind("at", column)
    return [column < at if direction == "previous" else column > at]
