"""``/api/v1/threads``."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router, Status

from memoryapp.api.answers import (
    StillRunningOut,
    ThreadOut,
    ThreadPageOut,
    count_out,
    deleted_out,
    thread_out,
)
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
from memoryapp.api.schemas import DeleteParameters, ThreadIn, ThreadParameters, ThreadPatch
from memoryapp.services import threads
from memoryapp.services.threads import ThreadFilters
from oracleagentmemory.errors import InvalidInputError

router = Router(tags=["threads"])


@router.post("", response={201: ThreadOut}, operation_id="create_thread")
def create_thread(request: ApiRequest, body: ThreadIn, response: HttpResponse) -> Status[ThreadOut]:
    """Create a thread."""
    user_id = own_user(request.auth, body.user_id)
    if user_id is None:
        raise InvalidInputError("user_id: name the user that the thread belongs to")
    thread_id = threads.create(
        request.auth,
        thread_id=body.id,
        user_id=user_id,
        agent_id=own_agent(request.auth, body.agent_id),
        metadata=body.metadata,
        reason=body.reason,
    )
    row = threads.get(request.auth, thread_id)
    set_etag(response, row)
    return Status(201, thread_out(row))


@router.get("", response=ThreadPageOut, operation_id="list_threads")
def list_threads(request: ApiRequest, query: Query[ThreadParameters]) -> ThreadPageOut:
    """Return a page of threads, newest first."""
    filters = ThreadFilters(
        user_id=query.user_id,
        agent_id=query.agent_id,
        since=query.since,
        until=query.until,
        metadata=query.metadata,
    )
    page = threads.list_page(request.auth, filters, **page_arguments(query.cursor, query.limit))
    return ThreadPageOut(
        threads=[thread_out(row) for row in page.rows],
        count=count_out(page.count),
        next=next_cursor(page.older),
        previous=previous_cursor(page.newer),
    )


@router.get("/{id:thread_id}", response=ThreadOut, operation_id="get_thread")
def get_thread(request: ApiRequest, thread_id: str, response: HttpResponse) -> ThreadOut:
    """Return one thread."""
    row = threads.get(request.auth, thread_id)
    set_etag(response, row)
    return thread_out(row)


@router.patch("/{id:thread_id}", response=ThreadOut, operation_id="update_thread")
def update_thread(
    request: ApiRequest, thread_id: str, body: ThreadPatch, response: HttpResponse
) -> ThreadOut:
    """Replace a thread's metadata."""
    row = threads.update(
        request.auth,
        thread_id,
        body.metadata,
        if_fingerprint=if_match(request),
        reason=body.reason,
    )
    set_etag(response, row)
    return thread_out(row)


@router.delete(
    "/{id:thread_id}", response={202: StillRunningOut, 204: None}, operation_id="delete_thread"
)
def delete_thread(
    request: ApiRequest, thread_id: str, query: Query[DeleteParameters]
) -> Status[None] | Status[StillRunningOut]:
    """Delete a thread with its messages and memories."""
    running = threads.delete(
        request.auth, thread_id, if_fingerprint=if_match(request), reason=query.reason
    )
    return deleted_out(running)
