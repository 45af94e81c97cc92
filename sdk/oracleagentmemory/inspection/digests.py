"""What a list of threads shows of each: how much is in it and how it starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.inspection.results import ThreadDigest
from oracleagentmemory.inspection.sources import Source
from oracleagentmemory.storage.rows import message_text
from oracleagentmemory.storage.statements import bind

_FIRST_TEXT_LENGTH = 200


class DigestStatements:
    """Three statements for any number of threads."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._messages = _tally(sources["message"])
        self._memories = _tally(sources["memory"])
        c = sources["message"].table.c
        numbers = bind("numbers", c.order_seq, expanding=True)
        self._first = sa.select(c.thread_id, c.content).where(c.order_seq.in_(numbers))

    def read(
        self, connection: sa.Connection, thread_ids: Collection[str]
    ) -> dict[str, ThreadDigest]:
        """Return a digest for every id; an unknown thread's is empty."""
        binds = {"thread_ids": sorted(set(thread_ids))}
        messages = {row[0]: row for row in connection.execute(self._messages, binds)}
        memories = {row[0]: row for row in connection.execute(self._memories, binds)}
        first = {"numbers": [row[3] for row in messages.values()]}
        texts = {row[0]: message_text(row[1]) for row in connection.execute(self._first, first)}
        return {
            thread_id: ThreadDigest(
                message_count=_number(messages.get(thread_id)),
                memory_count=_number(memories.get(thread_id)),
                first_text=texts.get(thread_id, "")[:_FIRST_TEXT_LENGTH],
                last_effective_at=_latest(messages.get(thread_id), memories.get(thread_id)),
            )
            for thread_id in thread_ids
        }


def _tally(source: Source) -> sa.Select[Any]:
    thread_id, first = source.table.c.thread_id, sa.func.min(source.table.c.order_seq)
    return (
        sa.select(thread_id, sa.func.count(), sa.func.max(source.effective_at), first)
        .select_from(source.noted(source.table))
        .where(thread_id.in_(bind("thread_ids", thread_id, expanding=True)), *source.visible())
        .group_by(thread_id)
    )


def _number(row: Any) -> int:
    return 0 if row is None else int(row[1])


def _latest(*rows: Any) -> Any:
    return max((row[2] for row in rows if row is not None), default=None)
