"""What a list of threads shows of each: how much is in it and how it starts."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.inspection.results import ThreadDigest
from oracleagentmemory.inspection.sources import Source
from oracleagentmemory.storage.rows import message_text
from oracleagentmemory.storage.statements import bind

_FIRST_TEXT_LENGTH = 200


class Digests:
    """Reads any number of threads with three statements."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources
        self._tally = functools.cache(self._tally_statement)
        c = sources["message"].table.c
        numbers = bind("numbers", c.order_seq, expanding=True)
        self._first = sa.select(c.thread_id, c.content).where(c.order_seq.in_(numbers))

    def read(
        self,
        connection: sa.Connection,
        thread_ids: Sequence[str],
        user_ids: frozenset[str] | None,
    ) -> dict[str, ThreadDigest]:
        """Return a digest for every id; that of an unknown thread is empty."""
        binds: dict[str, Any] = {"thread_ids": thread_ids}
        if user_ids is not None:
            binds["user_ids"] = sorted(user_ids)
        messages, memories = (
            {row[0]: row for row in connection.execute(self._tally(kind, user_ids is None), binds)}
            for kind in ("message", "memory")
        )
        numbers = [row[3] for row in messages.values()]
        firsts = connection.execute(self._first, {"numbers": numbers}) if numbers else ()
        texts = {row[0]: message_text(row[1]) for row in firsts}
        return {
            thread_id: ThreadDigest(
                message_count=_number(messages.get(thread_id)),
                memory_count=_number(memories.get(thread_id)),
                first_text=texts.get(thread_id, "")[:_FIRST_TEXT_LENGTH],
                last_effective_at=_latest(messages.get(thread_id), memories.get(thread_id)),
            )
            for thread_id in thread_ids
        }

    def _tally_statement(self, kind: str, everybody: bool) -> sa.Select[Any]:
        """Select thread, number of records, latest effective time and first number."""
        source = self._sources[kind]
        c = source.table.c
        shape = frozenset() if everybody else frozenset({"user_ids"})
        within = c.thread_id.in_(bind("thread_ids", c.thread_id, expanding=True))
        return (
            sa.select(
                c.thread_id,
                sa.func.count(),
                sa.func.max(source.effective_at),
                sa.func.min(c.order_seq),
            )
            .select_from(source.noted(source.table))
            .where(within, *source.conditions(shape, None, user_by_index=False))
            .group_by(c.thread_id)
        )


def _number(row: Any) -> int:
    return 0 if row is None else int(row[1])


def _latest(*rows: Any) -> Any:
    return max((row[2] for row in rows if row is not None), default=None)
