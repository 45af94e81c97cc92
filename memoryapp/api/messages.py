"""``/api/v1/threads/{thread_id}/messages``."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router, Status

from memoryapp.api.answers import (
    MessageIds,
    MessageOut,
    MessagePageOut,
    StillRunningOut,
    count_out,
    deleted_out,
    message_out,
)
from memoryapp.api.requests import (
    ApiRequest,
    if_match,
    next_cursor,
    page_arguments,
    previous_cursor,
    set_etag,
)
from memoryapp.api.schemas import MessageDeleteParameters, MessagePatch, MessagesIn, PageParameters
from memoryapp.services import messages

router = Router(tags=["messages"])
# Whole paths: ninja takes path parameters from them, not from the prefix of a router.
_ALL = "/{id:thread_id}/messages"
_ONE = "/{id:thread_id}/messages/{id:message_id}"


@router.post(_ALL, response={201: MessageIds}, operation_id="add_messages")
def add_messages(request: ApiRequest, thread_id: str, body: MessagesIn) -> Status[MessageIds]:
    """Append messages to a thread, in order; all of them or none."""
    given = [message.model_dump(exclude_none=True) for message in body.messages]
    message_ids = messages.add(request.auth, thread_id, given, reason=body.reason)
    return Status(201, MessageIds(message_ids=message_ids))


@router.get(_ALL, response=MessagePageOut, operation_id="list_messages")
def list_messages(
    request: ApiRequest, thread_id: str, query: Query[PageParameters]
) -> MessagePageOut:
    """Return a page of a thread's messages, newest first."""
    arguments = page_arguments(query.cursor, query.limit)
    page = messages.list_page(request.auth, thread_id, **arguments)
    return MessagePageOut(
        messages=[message_out(row) for row in page.rows],
        count=count_out(messages.count(request.auth, thread_id)),
        next=next_cursor(page.older),
        previous=previous_cursor(page.newer),
    )


@router.get(_ONE, response=MessageOut, operation_id="get_message")
def get_message(
    request: ApiRequest, thread_id: str, message_id: str, response: HttpResponse
) -> MessageOut:
    """Return one message."""
    row = messages.get(request.auth, thread_id, message_id)
    set_etag(response, row)
    return message_out(row)


@router.patch(_ONE, response=MessageOut, operation_id="update_message")
def update_message(
    request: ApiRequest,
    thread_id: str,
    message_id: str,
    body: MessagePatch,
    response: HttpResponse,
) -> MessageOut:
    """Change the text or the metadata of a message."""
    row = messages.update(
        request.auth,
        thread_id,
        message_id,
        **body.changes(),
        if_fingerprint=if_match(request),
        reason=body.reason,
    )
    set_etag(response, row)
    return message_out(row)


@router.delete(_ONE, response={202: StillRunningOut, 204: None}, operation_id="delete_message")
def delete_message(
    request: ApiRequest, thread_id: str, message_id: str, query: Query[MessageDeleteParameters]
) -> Status[None] | Status[StillRunningOut]:
    """Delete a message; memories that came from it stay, unless `derived` is `delete`."""
    running = messages.delete(
        request.auth,
        thread_id,
        message_id,
        derived=query.derived,
        if_fingerprint=if_match(request),
        reason=query.reason,
    )
    return deleted_out(running)
