"""``/api/v1/memories/{memory_id}/sources`` and ``/threads/{thread_id}/messages/…/memories``."""

from __future__ import annotations

from datetime import datetime

from ninja import Query, Router
from pydantic import BaseModel, Field

from memoryapp.api.answers import MemoryOut, MessageOut, memory_out, message_out
from memoryapp.api.requests import ApiRequest
from memoryapp.api.schemas import Parameters
from memoryapp.services import memories, messages, provenance
from oracleagentmemory.inspection import SourceRow

router = Router()


class SourceParameters(Parameters):
    """The parameters of the sources of a memory."""

    limit: int = Field(50, ge=1, le=200, description="Sources at most; `count` says how many.")


class TaughtParameters(Parameters):
    """The parameters of the memories of a message."""

    include_invalid: bool = False


class SourceOut(BaseModel):
    """A message that a memory was extracted from."""

    message: MessageOut | None = Field(
        description="Null when it has expired or your key may not see it."
    )
    job_id: str | None = Field(
        description="The extraction; null when the memory was there before the message."
    )
    model: str | None
    prompt_version: str | None
    recorded_at: datetime | None


class SourcesOut(BaseModel):
    """Where a memory came from, in the order of the messages."""

    sources: list[SourceOut]
    count: int = Field(description="How many sources the memory has in all.")
    is_recorded: bool = Field(description="False for a store that notes no sources.")


class TaughtOut(BaseModel):
    """The memories that a message taught, oldest first."""

    memories: list[MemoryOut]


@router.get(
    "/memories/{id:memory_id}/sources",
    response=SourcesOut,
    operation_id="list_memory_sources",
    tags=["memories"],
)
def list_memory_sources(
    request: ApiRequest, memory_id: str, query: Query[SourceParameters]
) -> SourcesOut:
    """Return the messages that a memory was extracted from; none for one added by a caller."""
    found = provenance.of_memory(
        request.auth, memories.get(request.auth, memory_id), limit=query.limit
    )
    return SourcesOut(
        sources=[_source_out(one) for one in found.sources],
        count=found.count,
        is_recorded=found.is_recorded,
    )


@router.get(
    "/threads/{id:thread_id}/messages/{id:message_id}/memories",
    response=TaughtOut,
    operation_id="list_message_memories",
    tags=["messages"],
)
def list_message_memories(
    request: ApiRequest, thread_id: str, message_id: str, query: Query[TaughtParameters]
) -> TaughtOut:
    """Return the memories that were extracted from a message."""
    messages.get(request.auth, thread_id, message_id)
    rows = provenance.of_messages(request.auth, [message_id])[message_id]
    wanted = [row for row in rows if query.include_invalid or row.record.status == "valid"]
    return TaughtOut(memories=[memory_out(row) for row in wanted])


def _source_out(one: SourceRow) -> SourceOut:
    return SourceOut(
        message=None if one.message is None else message_out(one.message),
        job_id=one.source.job_id,
        model=one.source.model,
        prompt_version=one.source.prompt_version,
        recorded_at=one.source.recorded_at,
    )
