"""Images: list, read and every change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import client, inspector, store
from memoryapp.models import AuditEntry
from memoryapp.scheduler import requested_by
from memoryapp.services import audit, revisions
from memoryapp.services.changes import apply_delete, apply_update
from memoryapp.services.lookup import visible_row, writable_row
from memoryapp.services.metadata import checked_filter, given_metadata
from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.message import ImageContent, ImageMimeType
from oracleagentmemory.apis.records import ImageRecord, MessageRecord, Record
from oracleagentmemory.core.images import detect_mime_type, thumbnail
from oracleagentmemory.errors import InvalidInputError, NotFoundError
from oracleagentmemory.inspection import ANY, Count, Page, Row

NOT_SET = NOT_SET_MARKER
_MOST_OF_MESSAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFilters:
    """What a list shows; None means any."""

    user_id: str | None = None
    agent_id: str | None = None
    thread_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: dict[str, Any] | None = None

    def arguments(self) -> dict[str, Any]:
        """The inspector's arguments."""
        return {
            "user_id": ANY if self.user_id is None else self.user_id,
            "agent_id": ANY if self.agent_id is None else self.agent_id,
            "thread_id": ANY if self.thread_id is None else self.thread_id,
            "since": self.since,
            "until": self.until,
            "metadata_filter": checked_filter(self.metadata),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What a browser gets to see.

    Attributes:
        etag: Another one when the bytes are others; None where something else than our SDK wrote
            the record, so that nothing is known of its bytes without reading them.
    """

    data: bytes
    mime_type: str
    etag: str | None


def list_page(
    access: Access,
    filters: ImageFilters,
    *,
    before: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Page:
    """Return one page of the images this caller may see, newest first, without their bytes."""
    return inspector().page(
        "image",
        **filters.arguments(),
        user_ids=access.user_ids,
        before=before,
        after=after,
        limit=limit,
    )


def count(access: Access, filters: ImageFilters) -> Count:
    """Return how many images the caller may see."""
    return inspector().count("image", **filters.arguments(), user_ids=access.user_ids)


def get(access: Access, image_id: str) -> Row:
    """Return one image without its bytes. Raises: NotFoundError."""
    return visible_row(access, "image", image_id)


def etag(row: Row) -> str | None:
    """Return what names the bytes of an image, if that is known without reading them."""
    return None if row.is_changed_outside else row.fingerprint


def picture(access: Access, image_id: str) -> Picture:
    """Return an image as it was stored. Raises: NotFoundError."""
    row = get(access, image_id)
    record = store().get("image", image_id, include_bytes=True)
    if not isinstance(record, ImageRecord) or record.bytes is None:
        raise NotFoundError(f"image {image_id!r} not found")
    return Picture(data=record.bytes, mime_type=record.mime_type.value, etag=etag(row))


def small_picture(access: Access, image_id: str) -> Picture:
    """Return a small form of an image, for lists.

    Raises: NotFoundError; InvalidInputError, if something else than our SDK stored what is no
    picture, or too large a one.
    """
    whole = picture(access, image_id)
    mime_type = ImageMimeType.WEBP.value
    return Picture(data=thumbnail(whole.data), mime_type=mime_type, etag=whole.etag)


def add(
    access: Access,
    *,
    data: bytes,
    description: str | None = "",
    mime_type: str | None = None,
    user_id: str | None = None,
    agent_id: str | None = None,
    thread_id: str | None = None,
    metadata: dict[str, Any] | None = None,
    timestamp: str | None = None,
    image_id: str | None = None,
    ttl_days: int | _NotSetMarker | None = NOT_SET,
    reason: str = "",
) -> str:
    """Store an image and return its id; one of a thread belongs to the thread's user and agent.

    ``description`` None lets the model of MEMORY_LLM describe it, by a job.
    """
    access.require_write()
    owner = (user_id, agent_id)
    if thread_id is not None:
        thread = visible_row(access, "thread", thread_id).record
        owner = (thread.user_id, thread.agent_id)
    access.require_scope(*owner)
    _require_describable(description)
    given: dict[str, Any] = {
        "mime_type": None if mime_type is None else ImageMimeType(mime_type),
        "user_id": user_id,
        "agent_id": agent_id,
        "thread_id": thread_id,
        "metadata": given_metadata(metadata),
        "timestamp": timestamp,
        "image_id": image_id,
    }
    given = {name: value for name, value in given.items() if value is not None}
    prepared = client().prepare_add_image(data, description, ttl_days=ttl_days, **given)
    with transaction.atomic(), requested_by(access.actor):
        new_id = store().write(prepared)
        detail = {"bytes": len(data), "thread_id": thread_id}
        audit.record(access, "add", "image", new_id, user_id=owner[0], reason=reason, detail=detail)
    return new_id


def update(
    access: Access,
    image_id: str,
    *,
    description: str | _NotSetMarker | None = NOT_SET,
    metadata: dict[str, Any] | _NotSetMarker | None = NOT_SET,
    timestamp: str | _NotSetMarker | None = NOT_SET,
    data: bytes | None = None,
    mime_type: str | None = None,
    if_fingerprint: str | None = None,
    reason: str = "",
) -> Row:
    """Change the given fields and return the new row; without ``data`` the picture stays.

    ``description`` None lets the model describe it anew; the old one stays until then.

    Raises: ConflictError, if the image is no longer the one of ``if_fingerprint``.
    """
    row = writable_row(access, "image", image_id)
    _require_describable(description)
    if not isinstance(metadata, _NotSetMarker):
        metadata = given_metadata(metadata, row.record.metadata)
    given: dict[str, Any] = {
        "description": description,
        "metadata": metadata,
        "timestamp": timestamp,
    }
    given = {name: value for name, value in given.items() if value is not NOT_SET}
    if data is not None:
        named = detect_mime_type(data) if mime_type is None else ImageMimeType(mime_type)
        given |= {"image": data, "mime_type": named}
    prepared = client().prepare_update_image(image_id, **given, if_fingerprint=if_fingerprint)
    with requested_by(access.actor):
        return apply_update(access, "image", image_id, prepared.map(lambda _: 1), reason=reason)


def _require_describable(description: str | _NotSetMarker | None) -> None:
    """Refuse in words of this product, where the SDK's would ask for an argument of its own."""
    if description is None and settings.MEMORY_LLM is None:
        raise InvalidInputError(
            "this server has no model that could describe the image (MEMORY_LLM); "
            "give a description"
        )


def delete(
    access: Access, image_id: str, *, if_fingerprint: str | None = None, reason: str = ""
) -> None:
    """Delete an image.

    Raises: InvalidInputError for a part of a message, which goes with that alone.
    """
    writable_row(access, "image", image_id)
    prepared = client().prepare_delete_image(image_id, if_fingerprint=if_fingerprint)
    apply_delete(access, "image", image_id, prepared, reason=reason)


def parts_of(record: Record) -> list[ImageContent]:
    """Return the images that are parts of a message."""
    if not isinstance(record, MessageRecord) or isinstance(record.content, str):
        return []
    return [part for part in record.content if isinstance(part, ImageContent)]


def page_of_messages(access: Access, records: Iterable[Record], *, limit: int) -> Page:
    """Return the newest images of messages, of those that this caller may see."""
    ids = [part.id for record in records for part in parts_of(record)]
    return inspector().page("image", ids=ids, user_ids=access.user_ids, limit=limit)


def attached(record: Record) -> list[Row]:
    """Return the images of a message, whoever may see it: they belong to the message's user."""
    ids = [part.id for part in parts_of(record)]
    if not ids:
        return []
    return inspector().page("image", ids=ids, limit=_MOST_OF_MESSAGE).rows


def record_attached(entry: AuditEntry, before: Sequence[Row], after: Sequence[Row]) -> None:
    """Add a revision of each image that changed with its message, or went with it."""
    stays = {row.id: row for row in after}
    for row in before:
        now = stays.get(row.id)
        if now is None or now.fingerprint != row.fingerprint:
            revisions.record(entry, "image", row, now)
