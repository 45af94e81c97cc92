"""Messages of a thread: list, read and every change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import inspector, store
from memoryapp.models import AuditEntry
from memoryapp.scheduler import requested_by
from memoryapp.services import audit, images, job_stops, provenance, threads
from memoryapp.services.changes import apply_delete, apply_update
from memoryapp.services.lookup import visible_row, writable_row
from memoryapp.services.metadata import given_metadata
from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.message import ImageContent, MessageContent, TextContent
from oracleagentmemory.apis.records import MessageRecord, Record
from oracleagentmemory.errors import InvalidInputError, NotFoundError
from oracleagentmemory.inspection import Count, Page, Row

NOT_SET = NOT_SET_MARKER
#: A text, or texts and images in their order, each as the SDK takes it.
Content = str | Sequence[Mapping[str, Any] | MessageContent]


def list_page(
    access: Access,
    thread_id: str,
    *,
    before: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Page:
    """Return one page of a thread's messages, newest first. Raises: NotFoundError."""
    visible_row(access, "thread", thread_id)
    return inspector().page(
        "message",
        thread_id=thread_id,
        user_ids=access.user_ids,
        before=before,
        after=after,
        limit=limit,
    )


def count(access: Access, thread_id: str) -> Count:
    """Return how many messages of a thread the caller may see."""
    return inspector().count("message", thread_id=thread_id, user_ids=access.user_ids)


def get(access: Access, thread_id: str, message_id: str) -> Row:
    """Return one message of this thread. Raises: NotFoundError."""
    row = visible_row(access, "message", message_id)
    if row.record.thread_id != thread_id:
        raise NotFoundError(f"message {message_id!r} not found in thread {thread_id!r}")
    return row


def cursor_after(row: Row, context: int = 25) -> str:
    """Return a ``before`` whose page holds this message and at most ``context`` later ones."""
    return str((row.seq or 0) + 1 + context)


def text_of(record: Record) -> str:
    """Return the text of a message; of several parts, each on a line of its own."""
    if not isinstance(record, MessageRecord) or isinstance(record.content, str):
        return str(record.content or "")
    return "\n".join(part.text for part in record.content if isinstance(part, TextContent))


def with_text(record: Record, text: str) -> Content:
    """Return a message's content with another text; its images stay in their places."""
    if not images.parts_of(record):
        return text
    # A text takes the place of the first one; images go by their ids alone, so that what was
    # written of them meanwhile stays.
    left = [text] if text else []
    parts: list[MessageContent] = []
    for part in cast("Sequence[MessageContent]", record.content):
        if isinstance(part, ImageContent):
            parts.append(ImageContent(None, part.mime_type, id=part.id))
        elif left:
            parts.append(TextContent(left.pop()))
    return [*map(TextContent, left), *parts]


def add(
    access: Access,
    thread_id: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    reason: str = "",
) -> list[str]:
    """Append messages and return their ids in order."""
    thread = writable_row(access, "thread", thread_id)
    for message in messages:
        given_metadata(message.get("metadata"))
    prepared = threads.handle(thread_id).prepare_add_messages(messages)
    with transaction.atomic(), requested_by(access.actor):
        new_ids: list[str] = store().write(prepared)
        added = store().messages(new_ids)
        audit.record(
            access,
            "add",
            "message",
            new_ids[0] if len(new_ids) == 1 else "",
            user_id=thread.record.user_id,
            reason=reason,
            detail={
                "thread_id": thread_id,
                "message_ids": new_ids,
                **_image_ids([part for record in added for part in images.parts_of(record)]),
            },
        )
    return new_ids


def update(
    access: Access,
    thread_id: str,
    message_id: str,
    *,
    content: Content | _NotSetMarker = NOT_SET,
    metadata: dict[str, Any] | _NotSetMarker | None = NOT_SET,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> Row:
    """Change content or metadata of a message; role and time are history and stay.

    An image part without bytes stays as it is stored; one that is left out is deleted.
    """
    get(access, thread_id, message_id)
    row = writable_row(access, "message", message_id)
    if not isinstance(metadata, _NotSetMarker):
        metadata = given_metadata(metadata, row.record.metadata)
    given: dict[str, Any] = {"content": content, "metadata": metadata}
    given = {name: value for name, value in given.items() if value is not NOT_SET}
    changing = threads.handle(thread_id).prepare_update_message
    prepared = changing(message_id, **given, if_fingerprint=if_fingerprint).map(lambda _: 1)
    detail = {"thread_id": thread_id, **_image_ids(images.parts_of(row.record))}
    with transaction.atomic(), requested_by(access.actor):
        before = images.attached(row.record)

        def note_images(entry: AuditEntry, after: Row) -> None:
            images.record_attached(entry, before, images.attached(after.record))

        return apply_update(
            access,
            "message",
            message_id,
            prepared,
            reason=reason,
            detail=detail,
            then=note_images,
        )


def delete(
    access: Access,
    thread_id: str,
    message_id: str,
    *,
    derived: provenance.Derived = "keep",
    expected: int | None = None,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> list[str]:
    """Delete the message; memories that came from it stay, as documented.

    With ``derived="delete"`` those go with it that no other message taught; ``expected`` is then
    how many the caller was told of.

    Returns:
        Jobs that read it and still run after MEMORY_DELETE_WAIT_S seconds; they can store nothing.
    """
    if derived not in ("keep", "delete"):
        raise InvalidInputError('derived must be "keep" or "delete"')
    get(access, thread_id, message_id)
    row = writable_row(access, "message", message_id)
    prepared = store().prepare_delete("message", message_id, if_fingerprint=if_fingerprint)
    with transaction.atomic():
        running = job_stops.stop_of_message(thread_id, message_id)
        gone = images.attached(row.record)
        detail: dict[str, object] = {
            "thread_id": thread_id,
            **_image_ids(images.parts_of(row.record)),
        }
        if derived == "delete":
            detail["memories"] = provenance.delete_taught(
                access, thread_id, message_id, reason=reason, expected=expected
            )
        entry = apply_delete(access, "message", message_id, prepared, reason=reason, detail=detail)
        images.record_attached(entry, gone, [])
    return job_stops.still_running(running)


def _image_ids(parts: Sequence[ImageContent]) -> dict[str, list[str]]:
    """What an audit entry says of a message's images, if it has any."""
    return {"image_ids": [part.id for part in parts]} if parts else {}
