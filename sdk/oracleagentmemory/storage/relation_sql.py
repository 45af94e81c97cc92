"""The statements over relations."""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.lifecycle import LIFECYCLE_REASONS
from oracleagentmemory.storage.statements import bind, not_expired


class RelationStatements:
    """Every fixed statement over `memory_link`."""

    def __init__(self, tables: ManagedTables) -> None:
        self.tables = tables
        self.lock_memories = functools.cache(self._lock_memories)
        link = tables.memory_link
        self.source, self.target = tables.memory.alias("sm"), tables.memory.alias("tm")
        #: Where each argument of a selection or a list is compared.
        self.columns = {
            "relation_id": link.c.relation_id,
            "source_record_id": link.c.source_memory_id,
            "source_record_type": self.source.c.memory_type,
            "target_record_id": link.c.target_memory_id,
            "target_record_type": self.target.c.memory_type,
            "relation_type": link.c.relation_type,
        }

    def select(self, names: Collection[str], *, limited: bool) -> sa.Select[Any]:
        """Select the newest relations by the named arguments, first the newest.

        Both memories have to be there: what has expired shows no relation either.
        """
        link = self.tables.memory_link
        ends = (
            self.source.c.record_id == link.c.source_memory_id,
            self.target.c.record_id == link.c.target_memory_id,
        )
        given = [self.columns[name] == bind(name, self.columns[name]) for name in sorted(names)]
        statement = (
            sa.select(
                link,
                self.source.c.memory_type.label("source_type"),
                self.target.c.memory_type.label("target_type"),
            )
            .where(*ends, *given, not_expired(self.source), not_expired(self.target))
            .order_by(link.c.created_at.desc(), link.c.relation_id.desc())
        )
        return statement.limit(sa.bindparam("most", type_=sa.Integer())) if limited else statement

    def _lock_memories(self, *, expired: bool) -> sa.Select[Any]:
        """Lock the memories among `:ids`, in the order of their ids."""
        memory = self.tables.memory
        key = memory.c.record_id
        statement = sa.select(memory).where(key.in_(bind("ids", key, expanding=True)))
        if not expired:
            statement = statement.where(not_expired(memory))
        return statement.order_by(key).with_for_update()

    @functools.cached_property
    def by_ids(self) -> sa.Select[Any]:
        """Select the relations among `:ids`, whatever has expired."""
        link = self.tables.memory_link
        key = link.c.relation_id
        return sa.select(link).where(key.in_(bind("ids", key, expanding=True))).order_by(key)

    @functools.cached_property
    def of_memories(self) -> sa.Select[Any]:
        """Select the relations that start or end at one of `:ids`."""
        link = self.tables.memory_link
        source, target = link.c.source_memory_id, link.c.target_memory_id
        return sa.select(link).where(
            sa.or_(
                source.in_(bind("ids", source, expanding=True)),
                target.in_(bind("ids", target, expanding=True)),
            )
        )

    @functools.cached_property
    def between(self) -> sa.Select[Any]:
        """Select the relations from one of `:sources` to one of `:targets`."""
        link = self.tables.memory_link
        source, target = link.c.source_memory_id, link.c.target_memory_id
        return sa.select(link).where(
            source.in_(bind("sources", source, expanding=True)),
            target.in_(bind("targets", target, expanding=True)),
        )

    @functools.cached_property
    def ends_of(self) -> sa.Select[Any]:
        """Select the relations that make one of `:ids` invalid, the oldest first."""
        link = self.tables.memory_link.c
        target = link.target_memory_id
        return (
            sa.select(link.relation_id, target, link.relation_type)
            .where(
                target.in_(bind("ids", target, expanding=True)),
                link.relation_type.in_(list(LIFECYCLE_REASONS)),
            )
            .order_by(link.created_at, link.relation_id)
        )

    @functools.cached_property
    def update(self) -> sa.Update:
        """Set what may change of the relation `:id_`."""
        link = self.tables.memory_link
        names = ("relation_type", "opposite_relation_type", "timestamp", "metadata")
        values = {name: bind(f"new_{name}", link.c[name]) for name in names}
        key = link.c.relation_id
        return sa.update(link).where(key == bind("id_", key)).values(values)

    @functools.cached_property
    def delete(self) -> sa.Delete:
        """Delete the relations among `:ids`."""
        link = self.tables.memory_link
        key = link.c.relation_id
        return sa.delete(link).where(key.in_(bind("ids", key, expanding=True)))
