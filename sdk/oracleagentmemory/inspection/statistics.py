"""The whole store in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.apis.records import MEMORY_TYPES, RecordStatus
from oracleagentmemory.inspection.sources import Condition, Source
from oracleagentmemory.storage.constructs import utc_now
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.layout import ManagedTables


class TableCounts:
    """Counts whole tables; its statements are few and rarely run, so none is kept."""

    def __init__(self, tables: ManagedTables, sources: Mapping[str, Source]) -> None:
        self._tables = tables
        self._rows = {
            "thread": tables.thread,
            "message": tables.message,
            "memory": tables.memory,
            "image": tables.document,
            "relation": tables.memory_link,
            "thread_summary": tables.thread_summary,
        }
        self._memory = sources["memory"]

    def rows(self, connection: sa.Connection) -> dict[str, int]:
        """Stored rows by kind."""
        counts = {
            kind: connection.execute(_count(table)).scalar_one()
            for kind, table in self._rows.items()
        }
        profile = self._tables.actor_profile
        for actor_type in ("user", "agent"):
            mine = _count(profile, profile.c.actor_type == actor_type)
            counts[f"{actor_type}_profile"] = connection.execute(mine).scalar_one()
        return counts

    def expired(self, connection: sa.Connection) -> dict[str, int]:
        """Expired rows by kind, for the kinds that can expire."""
        return {
            kind: connection.execute(_count(table, table.c.expires_at <= utc_now())).scalar_one()
            for kind, table in self._rows.items()
            if "expires_at" in table.c
        }

    def memories(self, connection: sa.Connection) -> tuple[dict[str, int], dict[str, int]]:
        """Visible memories by type and by status, zeros included, in one scan."""
        c = self._memory.table.c
        both = (c.memory_type, c.status)
        statement = sa.select(*both, sa.func.count()).where(*self._memory.visible()).group_by(*both)
        types: Counter[str] = Counter()
        statuses: Counter[str] = Counter()
        for memory_type, status, count in connection.execute(statement):
            types[memory_type] += count
            statuses[status] += count
        return (
            {memory_type: types[memory_type] for memory_type in MEMORY_TYPES},
            {status.value: statuses[status.value] for status in RecordStatus},
        )

    def chunks(self, connection: sa.Connection) -> tuple[int, int, int]:
        """Text parts: all, orphans, those with a vector."""
        chunks = self._tables.record_chunks
        embedded = (
            _count(chunks, chunks.c.embedding.is_not(None)) if "embedding" in chunks.c else None
        )
        return (
            connection.execute(_count(chunks)).scalar_one(),
            connection.execute(_count(chunks, self._orphaned())).scalar_one(),
            0 if embedded is None else connection.execute(embedded).scalar_one(),
        )

    def sources(
        self, connection: sa.Connection, extras: ExtraTables | None
    ) -> tuple[int | None, int | None]:
        """Notes of where memories came from: all, and those whose memory or message is gone."""
        if extras is None:
            return None, None
        source, tables = extras.source, self._tables
        ends = (
            (tables.memory.c.record_id, source.c.memory_id),
            (tables.message.c.record_id, source.c.message_id),
        )
        lost = sa.or_(*(~sa.exists().where(record_id == end) for record_id, end in ends))
        return (
            connection.execute(_count(source)).scalar_one(),
            connection.execute(_count(source, lost)).scalar_one(),
        )

    def _orphaned(self) -> Condition:
        """No record has the id and the kind that the text part names."""
        c, tables = self._tables.record_chunks.c, self._tables
        profile = tables.actor_profile.c
        owners: list[tuple[tuple[str, ...], sa.Column[Any], list[Condition]]] = [
            (("message",), tables.message.c.record_id, []),
            (MEMORY_TYPES, tables.memory.c.record_id, []),
            (("image",), tables.document.c.record_id, []),
            (("user_profile",), profile.actor_id, [profile.actor_type == "user"]),
            (("agent_profile",), profile.actor_id, [profile.actor_type == "agent"]),
        ]
        owned = [
            sa.and_(
                c.source_record_type.in_(kinds),
                sa.exists().where(record_id == c.source_id, *more),
            )
            for kinds, record_id, more in owners
        ]
        return sa.not_(sa.or_(*owned))


def _count(table: sa.Table, *where: Condition) -> sa.Select[Any]:
    return sa.select(sa.func.count()).select_from(table).where(*where)
