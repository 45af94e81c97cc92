"""Lines of an import as prepared writes: new threads, then all messages with one embedding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from memoryapp.memory import client, store
from memoryapp.services.import_formats import Line
from oracleagentmemory.apis.memorystore import PendingRecordBatch
from oracleagentmemory.apis.message import TextContent

if TYPE_CHECKING:
    from oracleagentmemory.storage.writes import Prepared


def prepare_lines(lines: Sequence[Line], stored_threads: set[str]) -> list[Prepared[Any]]:
    """Return one write for each thread that is not stored, and one for all messages."""
    return [*_new_threads(lines, stored_threads), _messages(lines)]


def _new_threads(lines: Sequence[Line], stored_threads: set[str]) -> Iterator[Prepared[Any]]:
    known = set(stored_threads)
    for line in lines:
        if line.thread_id not in known:
            known.add(line.thread_id)
            yield client().prepare_create_thread(
                thread_id=line.thread_id,
                user_id=line.user_id,
                agent_id=line.agent_id,
                metadata=line.metadata,
            )


def _messages(lines: Sequence[Line]) -> Prepared[list[str]]:
    pairs = [(line, message) for line in lines for message in line.messages]
    batch = PendingRecordBatch(
        # As parts, which is how a thread stores text.
        contents=[[TextContent(message.content), *message.images] for _, message in pairs],
        record_type="message",
        record_ids=[message.id for _, message in pairs],
        thread_ids=[line.thread_id for line, _ in pairs],
        user_ids=[line.user_id for line, _ in pairs],
        agent_ids=[line.agent_id for line, _ in pairs],
        roles=[message.role for _, message in pairs],
        timestamps=[message.timestamp for _, message in pairs],
        metadata=[message.metadata for _, message in pairs],
    )
    return store().prepare_add_batches([batch])
