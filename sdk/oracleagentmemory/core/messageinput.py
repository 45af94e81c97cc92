"""Messages as callers give them: objects or mappings, checked before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oracleagentmemory._notset import Maybe, _NotSetMarker
from oracleagentmemory.apis.message import (
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
from oracleagentmemory.errors import (
    InvalidInputError,
    MissingFieldError,
    NotYetError,
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
    messages: object, metadata: Maybe[MetadataValue | list[MetadataValue]]
) -> CheckedMessages:
    """Check the messages of one call.

    Args:
        metadata: Replaces each message's own when given.

    Raises:
        WrongTypeError, InvalidInputError, MissingFieldError: If a field cannot be stored.
        NotYetError: If a message has an image part.
    """
    if isinstance(messages, str | bytes | Mapping):
        raise InvalidInputError("messages must be a list of messages; wrap the one you have in []")
    if not isinstance(messages, Sequence):
        raise WrongTypeError(f"messages must be a list of messages, not {type(messages).__name__}")
    rows = [_check_message(item, f"messages[{index}]") for index, item in enumerate(messages)]
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


def check_content(content: object, what: str = "content") -> Content:
    """Check a message's content: a text, or text and image parts as objects or mappings.

    Raises:
        WrongTypeError, InvalidInputError: If it cannot be stored.
        NotYetError: If it has an image part.
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
    parts = tuple(_check_part(part, f"{what}[{index}]") for index, part in enumerate(content))
    if any(isinstance(part, ImageContent) for part in parts):
        raise NotYetError("messages with image parts are not stored by this version")
    return parts


def _check_message(item: object, what: str) -> Message:
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
        content=check_content(fields["content"], f"{what} content"),
        timestamp=timestamp,
        metadata=check_metadata(fields.get("metadata"), f"{what} metadata"),
        id=fields.get("id"),
    )


def _stored_content(message: Message) -> Content:
    content = message.content
    return content if isinstance(content, str) else tuple(content)


def _check_part(part: object, what: str) -> MessageContent:
    if isinstance(part, TextContent):
        check_text(part.text, what)
        return part
    if isinstance(part, MessageContent):
        return part
    if not isinstance(part, Mapping):
        raise WrongTypeError(
            f"{what} must be a content part or a mapping, not {type(part).__name__}"
        )
    part_id = get_or_generate_id(part.get("id"))
    check_id(part_id, f"{what} id")
    if part.get("type") == "text":
        return TextContent(check_text(part.get("text"), f"{what} text"), id=part_id)
    try:
        mime_type = ImageMimeType(part.get("mime_type", ""))
    except ValueError:
        known = ", ".join(kind.value for kind in ImageMimeType)
        raise InvalidInputError(
            f"{what} is no text part, and an image part needs a mime_type of {known}"
        ) from None
    return ImageContent(part.get("bytes"), mime_type, part.get("description"), id=part_id)


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
