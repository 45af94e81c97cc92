"""Provenance: the messages that memories were extracted from."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.apis.records import RecordStatus
from oracleagentmemory.apis.sources import MemorySource
from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.kinds import MEMORY, THREAD
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.statements import CHANGEABLE, bind, in_lists, not_expired
from oracleagentmemory.storage.store.lifecycle import Lifecycle
from oracleagentmemory.storage.writes import Prepared, prepared_value

_SOURCE_FIELDS = tuple(field.name for field in fields(MemorySource))


@dataclass(frozen=True, slots=True)
class MemoryText:
    """The text of a stored memory, to compare new ones with."""

    memory_id: str
    memory_type: str
    content: str
    user_id: str | None
    agent_id: str | None
    order_seq: int


class SourceStatements:
    """The statements over `x_source` and over what a thread has taught."""

    def __init__(self, tables: ManagedTables, extras: ExtraTables) -> None:
        self.source = extras.source
        self.memory = tables.memory
        self.message = tables.message

    @functools.cached_property
    def of_memories(self) -> sa.Select[Any]:
        """Select the sources of `:ids`, in the order of their messages."""
        source = self.source
        among = source.c.memory_id.in_(bind("ids", source.c.memory_id, expanding=True))
        order = (source.c.memory_id, self.message.c.order_seq, source.c.message_id)
        ends = self.message.c.record_id == source.c.message_id
        rows = source.outerjoin(self.message, ends)
        return sa.select(source).select_from(rows).where(among).order_by(*order)

    @functools.cached_property
    def of_messages(self) -> sa.Select[Any]:
        """Select which memories came from `:ids`, in the order of the memories."""
        source, memory = self.source, self.memory
        among = source.c.message_id.in_(bind("ids", source.c.message_id, expanding=True))
        rows = source.join(memory, memory.c.record_id == source.c.memory_id)
        columns = (source.c.message_id, source.c.memory_id)
        return sa.select(*columns).select_from(rows).where(among).order_by(memory.c.order_seq)

    @functools.cached_property
    def only_from(self) -> sa.Select[Any]:
        """Select and lock the memories that came from the message `:message_id` alone."""
        source = self.source
        other = source.alias("other")
        elsewhere = sa.select(other.c.message_id).where(
            other.c.memory_id == source.c.memory_id, other.c.message_id != source.c.message_id
        )
        mine = sa.select(source.c.memory_id).where(
            source.c.message_id == bind("message_id", source.c.message_id),
            source.c.job_id.is_not(None),
            ~elsewhere.exists(),
        )
        memory = self.memory.c
        chosen = sa.select(memory.record_id, memory.user_id)
        return chosen.where(memory.record_id.in_(mine)).with_for_update()

    @functools.cached_property
    def texts_of_thread(self) -> sa.Select[Any]:
        """Select the valid memories of `:thread_id` that are newer than `:after`, oldest first."""
        c = self.memory.c
        columns = [c.record_id, *(c[one] for one in MemoryText.__slots__ if one != "memory_id")]
        conditions = (
            c.thread_id == bind("thread_id", c.thread_id),
            c.order_seq > bind("after", c.order_seq),
            c.status == RecordStatus.VALID.value,
            not_expired(self.memory),
        )
        return sa.select(*columns).where(*conditions).order_by(c.order_seq)

    @functools.cached_property
    def first_expiry(self) -> sa.Select[Any]:
        """Select when the first of the messages `:ids` expires."""
        c = self.message.c
        among = c.record_id.in_(bind("ids", c.record_id, expanding=True))
        return sa.select(sa.func.min(c.expires_at, type_=c.expires_at.type)).where(among)

    @functools.cached_property
    def lock_messages(self) -> sa.Select[Any]:
        """Lock the messages `:ids` of `:thread_id` and select their ids."""
        c = self.message.c
        among = c.record_id.in_(bind("ids", c.record_id, expanding=True))
        mine = c.thread_id == bind("thread_id", c.thread_id)
        chosen = sa.select(c.record_id).where(among, mine, not_expired(self.message))
        return chosen.order_by(c.record_id).with_for_update()


class Sourcing(Lifecycle):
    """Noting and reading where memories came from; nothing is noted without SDK-only tables."""

    @functools.cached_property
    def _source_statements(self) -> SourceStatements:
        return SourceStatements(self.tables, self.extras)

    def prepare_add_sources(self, sources: Sequence[MemorySource]) -> Prepared[int]:
        """Prepare to note sources of stored memories; gives how many were new."""
        # A hundred memories of a thousand messages are that many pairs: nothing is done twice.
        for memory_id in {one.memory_id for one in sources}:
            check_id(memory_id, "memory_id")
        for message_id in {one.message_id for one in sources}:
            check_id(message_id, "message_id")
        rows = {
            (one.memory_id, one.message_id): {name: getattr(one, name) for name in _SOURCE_FIELDS}
            for one in sources
        }
        if not rows or not self.has_extras:
            return prepared_value(0)
        insert = self.statements.insert(self.extras.source)

        def apply(transaction: WriteTransaction) -> int:
            known = set()
            for part in in_lists(sorted({memory_id for memory_id, _ in rows})):
                noted = transaction.execute(self._source_statements.of_memories, {"ids": part})
                known |= {(row.memory_id, row.message_id) for row in noted}
            new = [
                {**row, "recorded_at": transaction.now}
                for key, row in rows.items()
                if key not in known
            ]
            if new:
                transaction.execute(insert, new)
            return len(new)

        return Prepared(apply)

    def memory_sources(self, memory_ids: Sequence[str]) -> dict[str, list[MemorySource]]:
        """Return the sources of memories by memory id, in the order of the messages."""
        found: dict[str, list[MemorySource]] = {one: [] for one in memory_ids}
        for row in self._read_sources(self._source_statements.of_memories, memory_ids):
            found[row["memory_id"]].append(MemorySource(**row))
        return found

    def derived_memories(self, message_ids: Sequence[str]) -> dict[str, list[str]]:
        """Return the ids of the memories that came from messages, by message id."""
        found: dict[str, list[str]] = {one: [] for one in message_ids}
        for row in self._read_sources(self._source_statements.of_messages, message_ids):
            found[row["message_id"]].append(row["memory_id"])
        return found

    def _read_sources(
        self, statement: sa.Select[Any], ids: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        if not self.has_extras:
            return []
        with self.engine.read() as connection:
            return [
                dict(row._mapping)
                for part in in_lists(sorted(set(ids)))
                for row in connection.execute(statement, {"ids": part})
            ]

    def thread_texts(self, thread_id: str, *, after: int = 0) -> list[MemoryText]:
        """Return the valid memories of a thread, oldest first.

        Args:
            after: Leave out those up to this place in the order of all memories.
        """
        parameters = {"thread_id": thread_id, "after": after}
        with self.engine.read() as connection:
            rows = connection.execute(self._source_statements.texts_of_thread, parameters)
            # A thread may have thousands: names for each row would take most of the time.
            return [MemoryText(one, kind, text or "", *rest) for one, kind, text, *rest in rows]

    def first_expiry(self, message_ids: Sequence[str]) -> datetime | None:
        """Return when the first of some messages expires, None when none of them does."""
        with self.engine.read() as connection:
            found = [
                connection.execute(self._source_statements.first_expiry, {"ids": part}).scalar()
                for part in in_lists(message_ids)
            ]
        return min((one for one in found if one is not None), default=None)

    def prepare_lock_messages(
        self, thread_id: str, message_ids: Sequence[str]
    ) -> Prepared[set[str]]:
        """Prepare to lock messages of a thread; gives the ids of those that are still there.

        None is when the thread is gone.
        """
        existing = self.statements.existing(THREAD, locked=True)

        def apply(transaction: WriteTransaction) -> set[str]:
            if not transaction.execute(existing, {"ids": [thread_id]}).first():
                return set()
            found: set[str] = set()
            for part in in_lists(sorted(message_ids)):
                chosen = {"thread_id": thread_id, "ids": part}
                rows = transaction.execute(self._source_statements.lock_messages, chosen)
                found |= set(rows.scalars())
            return found

        return Prepared(apply)

    def prepare_extend_life(
        self, memory_ids: Sequence[str], until: datetime | None
    ) -> Prepared[int]:
        """Prepare to let memories live longer; gives how many had to.

        Args:
            until: When they may expire at the earliest; None for never.
        """

        def apply(transaction: WriteTransaction) -> int:
            found = self._lock_memories(transaction, memory_ids, expired=False)
            short = [row for row in found.values() if _ends_before(row.expires_at, until)]
            self._reserve(transaction, len(short))
            for row in short:
                values = {name: row._mapping[name] for name in CHANGEABLE[MEMORY.name]}
                values["expires_at"] = until
                transaction.execute(
                    self.statements.update(MEMORY), {"id_": row.record_id, **values}
                )
                self._note_update(transaction, MEMORY, row, values, row.user_id)
            return len(short)

        return Prepared(apply) if memory_ids else prepared_value(0)

    def prepare_delete_derived(self, message_id: str) -> Prepared[list[str]]:
        """Prepare to delete the memories that have no source but this message; gives their ids.

        Those whose source names no job were there before and only say the same.

        Apply it before the message is deleted, which takes the notes with it.
        """
        if not self.has_extras:
            return prepared_value([])
        check_id(message_id, "message_id")

        def apply(transaction: WriteTransaction) -> list[str]:
            statement = self._source_statements.only_from
            gone = transaction.execute(statement, {"message_id": message_id}).all()
            ids = [row.record_id for row in gone]
            for part in in_lists(ids):
                self._remove(transaction, MEMORY, "records", list(part))
            self._reserve(transaction, len(gone))
            changes = [
                self._change(row.user_id, MEMORY, row.record_id, "delete", None) for row in gone
            ]
            if changes:
                self._record_changes(transaction, changes)
            return ids

        return Prepared(apply)


def _ends_before(expires_at: datetime | None, until: datetime | None) -> bool:
    return expires_at is not None and (until is None or expires_at < until)
