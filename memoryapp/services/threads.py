"""Threads: list, read and every change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import client, inspector, llm, store
from memoryapp.services import audit, job_stops
from memoryapp.services.changes import apply_delete, apply_update
from memoryapp.services.lookup import visible_row, writable_row
from memoryapp.services.metadata import checked_filter, given_metadata
from oracleagentmemory.core.extractors import MemoryExtractionConfig, MemoryExtractionMode
from oracleagentmemory.errors import AccessDeniedError
from oracleagentmemory.inspection import ANY, Count, Row, ThreadDigest

if TYPE_CHECKING:
    from oracleagentmemory.core import OracleThread


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadFilters:
    """What a list shows; None means any."""

    user_id: str | None = None
    agent_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: dict[str, Any] | None = None

    def arguments(self) -> dict[str, Any]:
        """The inspector's arguments."""
        return {
            "user_id": ANY if self.user_id is None else self.user_id,
            "agent_id": ANY if self.agent_id is None else self.agent_id,
            "since": self.since,
            "until": self.until,
            "metadata_filter": checked_filter(self.metadata),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPage:
    """One page, newest first, with what each thread holds and the count of all matches."""

    rows: list[Row]
    digests: dict[str, ThreadDigest]
    older: str | None
    newer: str | None
    count: Count


def list_page(
    access: Access,
    filters: ThreadFilters,
    *,
    before: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> ThreadPage:
    """Return one page of the threads this caller may see."""
    arguments = filters.arguments() | {"user_ids": access.user_ids}
    page = inspector().page("thread", **arguments, before=before, after=after, limit=limit)
    return ThreadPage(
        rows=page.rows,
        digests=inspector().thread_digests(
            [row.record.id for row in page.rows], user_ids=access.user_ids
        ),
        older=page.older,
        newer=page.newer,
        count=inspector().count("thread", **arguments),
    )


def get(access: Access, thread_id: str) -> Row:
    """Return one thread. Raises: NotFoundError."""
    return visible_row(access, "thread", thread_id)


def digest(access: Access, thread_id: str) -> ThreadDigest:
    """Return how much of a thread the caller may see."""
    return inspector().thread_digests([thread_id], user_ids=access.user_ids)[thread_id]


def handle(thread_id: str) -> OracleThread:
    """The SDK's handle; without an LLM a thread that was to learn opens with that off.

    One that was saved to learn INLINE learns in a worker: here nobody waits for a model.
    """
    here = (
        MemoryExtractionConfig(extract_memories=False)
        if llm() is None
        else MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.BACKGROUND)
    )
    return client().get_thread(thread_id, memory_extraction_config=here)


def create(
    access: Access,
    *,
    thread_id: str | None = None,
    user_id: str,
    agent_id: str | None = None,
    metadata: dict[str, Any] | None = None,
    reason: str = "",
) -> str:
    """Create a thread and return its id; an omitted id is generated."""
    access.require_write()
    agent_id = agent_id or access.agent_id
    access.require_scope(user_id, agent_id)
    given: dict[str, Any] = {
        "thread_id": thread_id,
        "user_id": user_id,
        "agent_id": agent_id,
        "metadata": given_metadata(metadata),
    }
    prepared = client().prepare_create_thread(
        **{name: value for name, value in given.items() if value is not None}
    )
    with transaction.atomic():
        new_id: str = store().write(prepared).thread_id
        audit.record(access, "add", "thread", new_id, user_id=user_id, reason=reason)
    return new_id


def update(
    access: Access,
    thread_id: str,
    metadata: dict[str, Any] | None,
    *,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> Row:
    """Replace the metadata and return the new row."""
    row = writable_row(access, "thread", thread_id)
    metadata = given_metadata(metadata, row.record.metadata)
    prepared = store().prepare_update_thread(
        thread_id, metadata=metadata, if_fingerprint=if_fingerprint
    )
    return apply_update(access, "thread", thread_id, prepared, reason=reason)


def delete(
    access: Access, thread_id: str, *, if_fingerprint: str | None = None, reason: str = ""
) -> list[str]:
    """Delete a thread with its messages, memories, retrieval rows and jobs.

    Returns:
        Jobs that still run after MEMORY_DELETE_WAIT_S seconds; they can store nothing more.
    """
    writable_row(access, "thread", thread_id)
    prepared = store().prepare_delete_thread(thread_id, if_fingerprint=if_fingerprint)
    with transaction.atomic():
        running = job_stops.stop_of_thread(thread_id)
        held = _held_for(access, thread_id)
        detail = {
            "messages": held.message_count,
            "memories": held.memory_count,
            "images": _held_images(access, thread_id),
        }
        apply_delete(access, "thread", thread_id, prepared, reason=reason, detail=detail)
    return job_stops.still_running(running)


def _held_for(access: Access, thread_id: str) -> ThreadDigest:
    """Return what a thread holds, all of which the caller must be able to see.

    Records of another user may stand in a thread, and they would go with it.
    """
    held = inspector().thread_digests([thread_id])[thread_id]
    if held != digest(access, thread_id):
        raise AccessDeniedError(f"thread {thread_id!r} also holds records you may not see")
    return held


def _held_images(access: Access, thread_id: str) -> int:
    """Return how many images go with a thread, all of which the caller must be able to see."""
    held = inspector().count("image", thread_id=thread_id)
    seen = inspector().count("image", thread_id=thread_id, user_ids=access.user_ids)
    # Beyond the bound of a count nothing says whether all are seen.
    if access.user_ids is not None and (held != seen or held.capped):
        raise AccessDeniedError(f"thread {thread_id!r} also holds images you may not see")
    return held.value
