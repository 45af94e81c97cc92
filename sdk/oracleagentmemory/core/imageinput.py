"""Arguments of ``add_image`` and ``update_image``, the same for client and thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oracleagentmemory._notset import Maybe, _NotSetMarker
from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.apis.records import ImageRecord, MetadataValue
from oracleagentmemory.apis.validation import check_metadata, check_text
from oracleagentmemory.core.images import identify_image
from oracleagentmemory.errors import InvalidInputError

#: The key of a store's metadata that says what an image's bytes are.
MIME_TYPE_KEY = "image_mime_type"

#: The bytes of an image that was checked, and what they are.
Picture = tuple[bytes, ImageMimeType]


def check_image(
    image: object, mime_type: Maybe[ImageMimeType], limits: Mapping[str, int]
) -> Picture:
    """Check an image's length and format, and return it with what it is.

    The store that is to hold it decodes it too.

    Args:
        mime_type: What the caller says it is; detected when omitted.
        limits: Resolved limits of the thread or the client.

    Raises:
        InvalidInputError: If it is neither PNG, JPEG nor WebP, is not what ``mime_type`` says, or
            has too many bytes.
    """
    if isinstance(mime_type, _NotSetMarker):
        named = None
    elif isinstance(mime_type, ImageMimeType):
        named = mime_type
    else:
        raise InvalidInputError(
            f"mime_type must be an ImageMimeType member, not {mime_type!r:.80}; omit it to have "
            "it detected"
        )
    if not isinstance(image, bytes):
        raise InvalidInputError(f"image must be bytes, not {type(image).__name__}")
    return image, identify_image(image, named, max_bytes=limits["max_raw_image_bytes"])


def check_description(description: Maybe[str | None]) -> Maybe[str | None]:
    """Return a description that can be stored; ``None`` asks a model for one."""
    if description is None or isinstance(description, _NotSetMarker):
        return description
    return check_text(description, "description")


def image_metadata(metadata: Maybe[MetadataValue], mime_type: ImageMimeType) -> dict[str, Any]:
    """Return the metadata with which a store takes an image of a format.

    Raises:
        InvalidInputError: If the caller's metadata names another format.
    """
    own = None if isinstance(metadata, _NotSetMarker) else check_metadata(metadata)
    named = (own or {}).get(MIME_TYPE_KEY, mime_type)
    if named != mime_type:
        raise InvalidInputError(
            f"metadata says that {MIME_TYPE_KEY!r} is {named!r:.80}, but the image is "
            f"{mime_type.value}; leave it out"
        )
    return {**(own or {}), MIME_TYPE_KEY: mime_type.value}


def check_replacement(
    image: Maybe[bytes], mime_type: Maybe[ImageMimeType], limits: Mapping[str, int]
) -> Picture | None:
    """Check the new bytes of an update; return them with what they are, ``None`` without any.

    Raises:
        InvalidInputError: If only one of the two is given, or the image cannot be stored.
    """
    if isinstance(image, _NotSetMarker) and isinstance(mime_type, _NotSetMarker):
        return None
    if isinstance(image, _NotSetMarker) or isinstance(mime_type, _NotSetMarker):
        raise InvalidInputError("give image and mime_type together, or neither to keep both")
    return check_image(image, mime_type, limits)


def refuse_own_expiry(image: ImageRecord, changes: Mapping[str, Any]) -> None:
    """Raise where an image of a message would get an expiry of its own.

    Raises:
        InvalidInputError: If the image is attached to a message and an expiry is given.
    """
    if image.message_id is not None and changes.keys() & {"ttl_days", "ttl_anchor"}:
        raise InvalidInputError(
            f"image {image.id!r} is attached to the message {image.message_id!r} and expires with "
            "it: change the expiry by update_message()"
        )


def check_listed(
    *, user_id: Maybe[str | None], agent_id: Maybe[str | None], thread_id: Maybe[str | None]
) -> None:
    """Raise unless a list of images names an owner.

    Raises:
        InvalidInputError: If no user, agent or thread is given.
    """
    owners = (user_id, agent_id, thread_id)
    if all(one is None or isinstance(one, _NotSetMarker) for one in owners):
        raise InvalidInputError("name a user_id, agent_id or thread_id whose images to list")
