"""Where memories came from, what messages taught, and deleting both together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import inspector, store
from memoryapp.models import AuditEntry
from memoryapp.services import audit, images, jobs, relations, revisions
from oracleagentmemory.errors import AccessDeniedError, ConflictError, NotFoundError
from oracleagentmemory.inspection import Page, Row, SourceRow

#: What becomes of memories when the message that taught them is deleted.
Derived = Literal["keep", "delete"]
# An audit entry is written in the transaction of its change, a moment after it.
_EARLIEST, _LATEST = timedelta(seconds=-2), timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a memory came from.

    Attributes:
        sources: Its first sources; their messages are None where the caller may not see them.
        count: How many sources it has in all.
        is_recorded: False where the store notes no sources.
        added: The audit entry of its creation, if it was added through the product.
        known_jobs: Jobs of the sources that have a page.
    """

    sources: list[SourceRow]
    count: int
    is_recorded: bool
    added: AuditEntry | None
    known_jobs: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Taught:
    """What a message taught, as far as the caller may see it.

    Attributes:
        going: Memories that have no other source, and would go with the message.
        staying: Those that other messages taught too, or that were there before.
        out_of_reach: How many of those that would go the caller may not delete.
    """

    going: list[Row]
    staying: list[Row]
    out_of_reach: int


def of_memory(access: Access, memory: Row, *, limit: int = 50) -> Origin:
    """Return where a memory, which the caller sees, came from."""
    found = inspector().sources([memory.id], user_ids=access.user_ids, limit=limit)[memory.id]
    return Origin(
        sources=found.rows,
        count=found.count,
        is_recorded=found.is_recorded,
        added=None if found.count else _entry_of(memory),
        known_jobs=jobs.known(access, (r.source.job_id for r in found.rows if r.source.job_id)),
    )


def images_of(access: Access, memory: Row, origin: Origin, *, limit: int) -> Page | None:
    """Return the newest images of the messages that taught a memory, without their bytes.

    A memory without any source has those of its thread, and None without a thread as well. Of
    messages that the caller may not see, nothing is returned.
    """
    if origin.count:
        seen = (one.message.record for one in origin.sources if one.message is not None)
        return images.page_of_messages(access, seen, limit=limit)
    thread_id = memory.record.thread_id
    if thread_id is None:
        return None
    return images.list_page(access, images.ImageFilters(thread_id=thread_id), limit=limit)


def of_messages(access: Access, message_ids: Sequence[str]) -> dict[str, list[Row]]:
    """Return the memories that messages taught, by message id, oldest first."""
    return inspector().derived(message_ids, user_ids=access.user_ids)


def taught_by(access: Access, message_id: str) -> Taught:
    """Return what a message taught, and what of it has no other source."""
    everything = inspector().derived([message_id])[message_id]
    only_here = _taught_by_alone(message_id, everything)
    seen = [row for row in everything if access.may_see(row.record.user_id)]
    return Taught(
        going=[row for row in seen if row.id in only_here],
        staying=[row for row in seen if row.id not in only_here],
        out_of_reach=sum(
            not _is_in_reach(access, row) for row in everything if row.id in only_here
        ),
    )


def delete_taught(
    access: Access,
    thread_id: str,
    message_id: str,
    *,
    reason: str = "",
    expected: int | None = None,
) -> int:
    """Delete the memories that only this message taught; return how many.

    Call it in the transaction that deletes the message, before that.

    Args:
        expected: How many the caller was told of; None for as many as there are.

    Raises: AccessDeniedError, if the caller may not delete all of them; ConflictError, if there
        are more or fewer than expected; RuntimeError outside a transaction.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("memories are deleted in the transaction that deletes their message")
    # An extraction that is about to store memories of this message waits, or was first.
    if not store().write(store().prepare_lock_messages(thread_id, [message_id])):
        raise NotFoundError(f"message {message_id!r} not found")
    found = taught_by(access, message_id)
    if found.out_of_reach:
        raise AccessDeniedError(
            f"message {message_id!r} also taught memories that you may not delete; "
            "keep its memories, or ask somebody who may"
        )
    if expected is not None and expected != len(found.going):
        raise ConflictError(
            f"message {message_id!r} alone taught {len(found.going)} memories by now, "
            f"not {expected}; look again"
        )
    linked = {row.id: relations.all_of_memory(row.id) for row in found.going}
    gone: list[str] = store().write(store().prepare_delete_derived(message_id))
    told: set[str] = set()
    for row in found.going:
        if row.id not in gone:
            raise ConflictError(f"memory {row.id!r} was changed meanwhile; try again")
        own = [one for one in linked[row.id] if one.id not in told]
        told |= {one.id for one in own}
        detail: dict[str, object] = {"message_id": message_id, "thread_id": thread_id}
        entry = audit.record(
            access,
            "delete",
            "memory",
            row.id,
            user_id=row.record.user_id,
            reason=reason,
            detail=detail | ({"relations": len(own)} if own else {}),
        )
        revisions.record(entry, "memory", row.record, None)
        relations.record_removed(entry, row.id, own)
    return len(found.going)


def _taught_by_alone(message_id: str, rows: Sequence[Row]) -> set[str]:
    """Return the ids of memories that an extraction found in this message and in no other."""
    noted = store().memory_sources([row.id for row in rows])
    return {
        memory_id
        for memory_id, sources in noted.items()
        # A source without a job was noted of a memory that was there before.
        if all(one.message_id == message_id and one.job_id is not None for one in sources)
    }


def _is_in_reach(access: Access, row: Row) -> bool:
    agent_id = access.agent_id
    own = agent_id is None or row.record.agent_id == agent_id
    return own and access.may_see(row.record.user_id)


def _entry_of(row: Row) -> AuditEntry | None:
    span = (row.created_at + _EARLIEST, row.created_at + _LATEST)
    added = AuditEntry.objects.filter(noun="memory", action="add", record_id=row.id, at__range=span)
    return added.first()
