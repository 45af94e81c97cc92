"""``/api/v1/memories``."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router, Status

from memoryapp.api.answers import MemoryOut, MemoryPageOut, count_out, memory_out
from memoryapp.api.requests import (
    ApiRequest,
    if_match,
    next_cursor,
    own_agent,
    own_user,
    page_arguments,
    previous_cursor,
    set_etag,
)
from memoryapp.api.schemas import DeleteParameters, MemoryIn, MemoryParameters, MemoryPatch
from memoryapp.services import memories
from memoryapp.services.memories import NOT_SET, MemoryFilters

router = Router(tags=["memories"])


@router.post("", response={201: MemoryOut}, operation_id="add_memory")
def add_memory(request: ApiRequest, body: MemoryIn, response: HttpResponse) -> Status[MemoryOut]:
    """Store a memory."""
    memory_id = memories.add(
        request.auth,
        content=body.content,
        memory_type=body.memory_type,
        user_id=own_user(request.auth, body.user_id),
        agent_id=own_agent(request.auth, body.agent_id),
        thread_id=body.thread_id,
        metadata=body.metadata,
        timestamp=body.timestamp,
        memory_id=body.id,
        ttl_days=body.ttl_days if "ttl_days" in body.model_fields_set else NOT_SET,
        reason=body.reason,
    )
    row = memories.get(request.auth, memory_id)
    set_etag(response, row)
    return Status(201, memory_out(row))


@router.get("", response=MemoryPageOut, operation_id="list_memories")
def list_memories(request: ApiRequest, query: Query[MemoryParameters]) -> MemoryPageOut:
    """Return a page of memories, newest first; invalid ones only when `status` asks for them."""
    filters = MemoryFilters(
        memory_types=tuple(query.memory_type),
        user_id=query.user_id,
        agent_id=query.agent_id,
        thread_id=query.thread_id,
        status=None if query.status == "any" else query.status,
        since=query.since,
        until=query.until,
        metadata=query.metadata,
        text=query.text,
    )
    page = memories.list_page(request.auth, filters, **page_arguments(query.cursor, query.limit))
    return MemoryPageOut(
        memories=[memory_out(row) for row in page.rows],
        count=count_out(page.count),
        next=next_cursor(page.older),
        previous=previous_cursor(page.newer),
    )


@router.get("/{id:memory_id}", response=MemoryOut, operation_id="get_memory")
def get_memory(request: ApiRequest, memory_id: str, response: HttpResponse) -> MemoryOut:
    """Return one memory."""
    row = memories.get(request.auth, memory_id)
    set_etag(response, row)
    return memory_out(row)


@router.patch("/{id:memory_id}", response=MemoryOut, operation_id="update_memory")
def update_memory(
    request: ApiRequest, memory_id: str, body: MemoryPatch, response: HttpResponse
) -> MemoryOut:
    """Change the fields that are sent; with If-Match only if the memory is still the one read."""
    row = memories.update(
        request.auth,
        memory_id,
        **body.changes(),
        if_fingerprint=if_match(request),
        reason=body.reason,
    )
    set_etag(response, row)
    return memory_out(row)


@router.delete("/{id:memory_id}", response={204: None}, operation_id="delete_memory")
def delete_memory(
    request: ApiRequest, memory_id: str, query: Query[DeleteParameters]
) -> Status[None]:
    """Delete a memory; no search finds it any more."""
    memories.delete(request.auth, memory_id, if_fingerprint=if_match(request), reason=query.reason)
    return Status(204, None)
