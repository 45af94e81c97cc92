"""Messages as callers give them: objects or mappings, checked before anything is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oracleagentmemory._notset import Maybe, _NotSetMarker
from oracleagentmemory.apis.message import (
    GeneratedId,
    ImageContent,
    ImageMimeType,
    Message,
    MessageContent,
    TextContent,
    get_or_generate_id,
)
from oracleagentmemory.apis.records import MetadataValue
from oracleagentmemory.apis.validation import (
    ROLE_MAX_BYTES,
    TIMESTAMP_MAX_BYTES,
    check_id,
    check_metadata,
    check_text,
)
from oracleagentmemory.core.imageinput import check_description, check_image
from oracleagentmemory.errors import (
    InvalidInputError,
    MissingFieldError,
    WrongTypeError,
)

Content = str | tuple[MessageContent, ...]


@dataclass(frozen=True, slots=True)
class CheckedMessages:
    """Messages whose every field can be stored, column by column.

    Attributes:
        ids: ``None`` when the store is to generate them.
    """

    contents: list[Content]
    roles: list[str]
    timestamps: list[str | None]
    metadata: list[MetadataValue]
    ids: list[str] | None


def check_messages(
    messages: object,
    metadata: Maybe[MetadataValue | list[MetadataValue]],
    image_limits: Mapping[str, int],
) -> CheckedMessages:
    """Check the messages of one call.

    Args:
        metadata: Replaces each message's own when given.
        image_limits: Resolved limits of the thread.

    Raises:
        WrongTypeError, InvalidInputError, MissingFieldError: If a field cannot be stored.
    """
    if isinstance(messages, str | bytes | Mapping):
        raise InvalidInputError("messages must be a list of messages; wrap the one you have in []")
    if not isinstance(messages, Sequence):
        raise WrongTypeError(f"messages must be a list of messages, not {type(messages).__name__}")
    rows = [
        _check_message(item, f"messages[{index}]", image_limits)
        for index, item in enumerate(messages)
    ]
    checked = [row.metadata for row in rows]
    if not isinstance(metadata, _NotSetMarker):
        checked = _spread_metadata(metadata, len(rows))
    return CheckedMessages(
        contents=[
            row.content if isinstance(row.content, str) else tuple(row.content) for row in rows
        ],
        roles=[row.role for row in rows],
        timestamps=[row.timestamp for row in rows],
        metadata=checked,
        ids=_check_ids([row.id for row in rows]),
    )


def check_content(
    content: object, image_limits: Mapping[str, int], what: str = "content"
) -> Content:
    """Check a message's content: a text, or text and image parts as objects or mappings.

    Args:
        image_limits: Resolved limits of the thread.

    Raises:
        WrongTypeError, InvalidInputError: If it cannot be stored.
    """
    if content is None:
        raise InvalidInputError(f"{what} must not be None")
    if isinstance(content, str):
        return check_text(content, what)
    if isinstance(content, Mapping | bytes) or not isinstance(content, Sequence):
        raise WrongTypeError(
            f"{what} must be a str or a list of parts, not {type(content).__name__}"
        )
    if not content:
        raise InvalidInputError(f"{what} must have at least one part")
    return tuple(
        _check_part(part, f"{what}[{index}]", image_limits) for index, part in enumerate(content)
    )


def with_own_images(contents: Sequence[Content], is_taken: Callable[[str], bool]) -> list[Content]:
    """Return contents whose image parts can be stored beside the images that are there.

    An image part that is added once more, with another message, is another image. It gets a new id
    where nobody chose the one it has; an id that was chosen stays, for the store to refuse.

    Args:
        is_taken: Whether an image has an id.
    """
    seen: set[str] = set()

    def own(part: MessageContent) -> MessageContent:
        if not isinstance(part, ImageContent) or not isinstance(part.id, GeneratedId):
            return part
        if part.id in seen or is_taken(part.id):
            part = replace(part, id=get_or_generate_id())
        seen.add(part.id)
        return part

    return [
        content if isinstance(content, str) else tuple(own(part) for part in content)
        for content in contents
    ]


def _check_message(item: object, what: str, image_limits: Mapping[str, int]) -> Message:
    if isinstance(item, Message):
        fields: Mapping[str, Any] = {
            name: getattr(item, name) for name in ("role", "content", "timestamp", "metadata", "id")
        }
    elif isinstance(item, Mapping):
        fields = item
    else:
        raise InvalidInputError(f"{what} must be a Message or a mapping, not {type(item).__name__}")
    for name in ("role", "content"):
        if name not in fields:
            raise MissingFieldError(f"{what} has no {name!r}")
    timestamp = fields.get("timestamp")
    if timestamp is not None:
        check_text(timestamp, f"{what} timestamp", max_bytes=TIMESTAMP_MAX_BYTES)
    return Message(
        role=check_text(fields["role"], f"{what} role", max_bytes=ROLE_MAX_BYTES),
        content=check_content(fields["content"], image_limits, f"{what} content"),
        timestamp=timestamp,
        metadata=check_metadata(fields.get("metadata"), f"{what} metadata"),
        id=fields.get("id"),
    )


def _check_part(part: object, what: str, image_limits: Mapping[str, int]) -> MessageContent:
    if isinstance(part, Mapping):
        part = _part_of(part, what)
    if isinstance(part, TextContent):
        check_text(part.text, f"{what} text")
    elif isinstance(part, ImageContent):
        _check_image_part(part, what, image_limits)
    elif not isinstance(part, MessageContent):
        raise WrongTypeError(
            f"{what} must be a content part or a mapping, not {type(part).__name__}"
        )
    return part


def _part_of(fields: Mapping[str, Any], what: str) -> MessageContent:
    part_id = get_or_generate_id(fields.get("id"))
    check_id(part_id, f"{what} id")
    timestamp = fields.get("timestamp")
    if timestamp is not None:
        check_text(timestamp, f"{what} timestamp", max_bytes=TIMESTAMP_MAX_BYTES)
    if fields.get("type") == "text":
        text = check_text(fields.get("text"), f"{what} text")
        return TextContent(text, id=part_id, timestamp=timestamp)
    try:
        mime_type = ImageMimeType(fields.get("mime_type", ""))
    except ValueError:
        known = ", ".join(kind.value for kind in ImageMimeType)
        raise InvalidInputError(
            f"{what} is no text part, and an image part needs a mime_type of {known}"
        ) from None
    return ImageContent(
        fields.get("bytes"), mime_type, fields.get("description"), id=part_id, timestamp=timestamp
    )


def _check_image_part(part: ImageContent, what: str, image_limits: Mapping[str, int]) -> None:
    check_description(part.description)
    # Without bytes it names an image that the message has already.
    if part.bytes is None:
        return
    try:
        check_image(part.bytes, part.mime_type, image_limits)
    except InvalidInputError as refused:
        raise InvalidInputError(f"{what}: {refused}") from None


def _spread_metadata(metadata: object, count: int) -> list[MetadataValue]:
    if not isinstance(metadata, list):
        return [check_metadata(metadata)] * count
    if len(metadata) != count:
        raise InvalidInputError(
            f"metadata has {len(metadata)} values for {count} messages; lengths must match"
        )
    return [check_metadata(value, f"metadata[{index}]") for index, value in enumerate(metadata)]


def _check_ids(ids: Sequence[object]) -> list[str] | None:
    if all(value is None for value in ids):
        return None
    if any(value is None for value in ids):
        raise InvalidInputError("give an id to every message of a call or to none")
    return [check_id(value, f"messages[{index}] id") for index, value in enumerate(ids)]
