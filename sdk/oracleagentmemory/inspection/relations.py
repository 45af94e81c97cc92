"""Relations as people read them: pages, newest first, with the memories at both ends."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory._notset import NOT_SET_MARKER
from oracleagentmemory.apis.relations import RecordRelation
from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.inspection.cursors import cursor_text, parse_cursor
from oracleagentmemory.inspection.page_statements import Direction, beyond, ordered
from oracleagentmemory.inspection.results import COUNT_LIMIT, Count, Row
from oracleagentmemory.inspection.selection import criteria_of, id_set
from oracleagentmemory.storage.fingerprints import fingerprint
from oracleagentmemory.storage.kinds import RELATION
from oracleagentmemory.storage.relations import to_relation
from oracleagentmemory.storage.statements import bind, not_expired

if TYPE_CHECKING:
    from oracleagentmemory.inspection.pages import Pages
    from oracleagentmemory.storage.layout import ManagedTables

_LIMIT = sa.bindparam("limit", type_=sa.Integer())


class RelationFilters(TypedDict, total=False):
    """The filters of relations, joined by "and"; what is omitted or ``None`` does not filter.

    Attributes:
        memory_id: Relations that start or end at this memory.
        thread_id: Relations with an end in this thread.
        relation_type: The label as stored, seen from the source.
        user_ids: The users that the asking person may see: both ends have to be theirs.
        ids: Ids of relations.
    """

    memory_id: str | None
    thread_id: str | None
    relation_type: str | None
    user_ids: Collection[str] | None
    ids: Collection[str] | None


@dataclass(frozen=True, kw_only=True)
class RelationRow:
    """A relation with what the store knows about it.

    Attributes:
        source, target: The memories at its ends.
        columns: The stored row by column name.
        created_at: Aware, UTC.
    """

    relation: RecordRelation
    source: Row
    target: Row
    columns: Mapping[str, Any] = field(repr=False)
    created_at: datetime

    @property
    def id(self) -> str:
        """The relation's id."""
        return self.relation.id

    @functools.cached_property
    def fingerprint(self) -> str:
        """What ``if_fingerprint`` of an update or delete is compared with."""
        return fingerprint(RELATION.name, self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationPage:
    """Relations, newest first.

    Attributes:
        older: Pass it as ``before=`` for the next page; ``None`` when nothing is older.
        newer: Pass it as ``after=`` for the page before; ``None`` when nothing is newer.
    """

    rows: list[RelationRow]
    older: str | None
    newer: str | None


class Relations:
    """Reads relations; two statements a page, one more beyond a cursor."""

    def __init__(self, tables: ManagedTables, memories: Pages) -> None:
        self._link = tables.memory_link
        self._source, self._target = tables.memory.alias("sm"), tables.memory.alias("tm")
        self._inside = tables.memory.alias("inside")
        self._memories = memories
        self._statement = functools.cache(self._build)

    def page(
        self,
        connection: sa.Connection,
        binds: Mapping[str, Any],
        direction: Direction,
        cursor: str | None,
        limit: int,
    ) -> RelationPage:
        """Return a page that starts beyond ``cursor``."""
        found = self._read(connection, binds, direction, cursor, limit + 1)
        links, more = found[:limit], len(found) > limit
        if direction == "newer":
            links.reverse()
        first, last = (_cursor(links[at]) if links else cursor for at in (0, -1))
        newer, older = False, more
        if direction == "older":
            newer = bool(self._read(connection, binds, "newer", first, 1))
        elif direction == "newer":
            newer, older = more, bool(self._read(connection, binds, "older", last, 1))
        return RelationPage(
            rows=self._with_memories(connection, links),
            older=last if older else None,
            newer=first if newer else None,
        )

    def count(self, connection: sa.Connection, binds: Mapping[str, Any]) -> Count:
        """Count relations up to the limit."""
        few = self._statement(frozenset(binds), None).subquery("few")
        statement = sa.select(sa.func.count()).select_from(few)
        value = connection.execute(statement, {**binds, "limit": COUNT_LIMIT + 1}).scalar_one()
        return Count.of(value)

    def _with_memories(
        self, connection: sa.Connection, links: list[sa.Row[Any]]
    ) -> list[RelationRow]:
        ends = {end for link in links for end in (link.source_memory_id, link.target_memory_id)}
        if not ends:
            return []
        criteria = criteria_of("memory", {"ids": ends})
        page = self._memories.page(connection, criteria, "newest", None, len(ends))
        rows = {row.id: row for row in page.rows}
        return [
            _row(link, rows[link.source_memory_id], rows[link.target_memory_id], self._link)
            for link in links
            # One that expired a moment ago takes its relations with it.
            if link.source_memory_id in rows and link.target_memory_id in rows
        ]

    def _read(
        self,
        connection: sa.Connection,
        binds: Mapping[str, Any],
        direction: Direction,
        cursor: str | None,
        limit: int,
    ) -> list[sa.Row[Any]]:
        given = {**binds, "limit": limit}
        if cursor is not None:
            at = parse_cursor("relation", cursor)
            given |= {"at_created_at": at["at_created_at"], "at_relation_id": at["at_record_id"]}
        return list(connection.execute(self._statement(frozenset(binds), direction), given))

    def _build(self, names: frozenset[str], direction: Direction | None) -> sa.Select[Any]:
        """Select relations; without a direction their ids alone, any of them."""
        c = self._link.c
        conditions = [
            self._source.c.record_id == c.source_memory_id,
            self._target.c.record_id == c.target_memory_id,
            not_expired(self._source),
            not_expired(self._target),
            *(condition for name in sorted(names) for condition in self._conditions(name)),
        ]
        if direction is None:
            return sa.select(c.relation_id).where(*conditions).limit(_LIMIT)
        order = (c.created_at, c.relation_id)
        types = [
            end.c.memory_type.label(f"{name}_type")
            for name, end in (("source", self._source), ("target", self._target))
        ]
        return (
            sa.select(*c, *types)
            .where(*conditions, *beyond(order, direction))
            .order_by(*ordered(order, direction))
            .limit(_LIMIT)
        )

    def _conditions(self, name: str) -> list[ColumnElement[bool]]:
        c = self._link.c
        source, target = c.source_memory_id, c.target_memory_id
        if name == "memory_id":
            return [sa.or_(source == bind(name, source), target == bind(name, target))]
        if name == "thread_id":
            memory = self._inside.c
            inside = sa.select(memory.record_id).where(
                memory.thread_id == bind(name, memory.thread_id)
            )
            return [sa.or_(source.in_(inside), target.in_(inside))]
        if name == "user_ids":
            users = (end.c.user_id for end in (self._source, self._target))
            return [user.in_(bind(name, user, expanding=True)) for user in users]
        if name == "ids":
            return [c.relation_id.in_(bind(name, c.relation_id, expanding=True))]
        return [c.relation_type == bind(name, c.relation_type)]


def relation_binds(filters: RelationFilters) -> dict[str, Any] | None:
    """Check the filters; return their values, ``None`` when no relation can match.

    Raises:
        InvalidInputError: If an id or a label cannot be stored.
        TypeError: If a filter is unknown, or an id is not a ``str``.
    """
    if unknown := sorted(set(filters) - RelationFilters.__optional_keys__):
        raise TypeError(f"unknown filter {unknown[0]!r}")
    binds: dict[str, Any] = {}
    for name in ("memory_id", "thread_id", "relation_type"):
        value = filters.get(name)
        if value is not None and value is not NOT_SET_MARKER:
            binds[name] = check_id(value, name)
    for name, some in (("user_ids", filters.get("user_ids")), ("ids", filters.get("ids"))):
        members = id_set(some, name)
        if members is not None:
            if not members:
                return None
            binds[name] = sorted(members)
    return binds


def _row(link: sa.Row[Any], source: Row, target: Row, table: sa.Table) -> RelationRow:
    return RelationRow(
        relation=to_relation(link),
        source=source,
        target=target,
        columns={name: link._mapping[name] for name in table.c.keys()},  # noqa: SIM118
        created_at=link.created_at,
    )


def _cursor(link: sa.Row[Any]) -> str:
    return cursor_text("relation", (link.created_at, link.relation_id))
