"""Messages and their content parts."""

from __future__ import annotations

import abc
import builtins
import enum
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from oracleagentmemory.errors import InvalidInputError, WrongTypeError


def get_or_generate_id(value: str | None = None) -> str:
    """Return ``value``, or a new id when it is ``None`` or empty."""
    return value or str(uuid.uuid4())


class GeneratedId(str):
    """An id that nobody chose: a part that has one may be stored again, under a new one."""

    __slots__ = ()


def _generated_id() -> str:
    return GeneratedId(uuid.uuid4())


class ImageMimeType(enum.StrEnum):
    """The image formats that can be stored."""

    PNG = "image/png"
    JPEG = "image/jpeg"
    WEBP = "image/webp"


@dataclass(frozen=True)
class MessageContent(abc.ABC):
    """One part of a message's content."""

    type: ClassVar[str]

    id: str = field(default_factory=_generated_id, kw_only=True)
    timestamp: str | None = field(default=None, kw_only=True)

    @abc.abstractmethod
    def _to_dict(self) -> dict[str, Any]:
        """Return the part as a mapping, without its bytes."""


@dataclass(frozen=True)
class TextContent(MessageContent):
    """A part of text."""

    type: ClassVar[str] = "text"

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise WrongTypeError(f"text must be a str, not {type(self.text).__name__}")

    def _to_dict(self) -> dict[str, Any]:
        return {"type": self.type, "id": self.id, "text": self.text}


@dataclass(frozen=True)
class ImageContent(MessageContent):
    """An image part; ``bytes`` is ``None`` when it was read without its bytes."""

    type: ClassVar[str] = "image"

    bytes: builtins.bytes | None
    mime_type: ImageMimeType
    description: str | None = None
    #: What a store found in the bytes, so that they are decoded once.
    _validated_image: Any = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.bytes is not None and not isinstance(self.bytes, builtins.bytes):
            raise WrongTypeError(f"bytes must be bytes or None, not {type(self.bytes).__name__}")
        if not isinstance(self.mime_type, ImageMimeType):
            raise WrongTypeError("mime_type must be an ImageMimeType member")

    def _to_dict(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "id": self.id,
            "mime_type": self.mime_type.value,
            "description": self.description,
        }


@dataclass(frozen=True)
class Message:
    """A message of a thread. Equality ignores ``id``.

    Attributes:
        role: ``"user"``, ``"assistant"`` or any other name.
        content: Text, or a non-empty sequence of parts, which becomes a tuple.
        timestamp: The caller's time of the message, kept as given.

    Raises:
        WrongTypeError: If the role is no ``str``, or the content neither a ``str`` nor a list or
            tuple of parts.
        InvalidInputError: If the content has no part.
    """

    role: str
    content: str | Sequence[MessageContent]
    timestamp: str | None = None
    metadata: dict[str, Any] | None = None
    id: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.role, str):
            raise WrongTypeError(f"role must be a str, not {type(self.role).__name__}")
        if isinstance(self.content, str):
            return
        if not isinstance(self.content, list | tuple):
            raise WrongTypeError(
                f"content must be a str or a list of parts, not {type(self.content).__name__}"
            )
        if not self.content:
            raise InvalidInputError("content must have at least one part")
        for part in self.content:
            if not isinstance(part, MessageContent):
                raise WrongTypeError(
                    f"a content part must be a MessageContent, not {type(part).__name__}"
                )
        object.__setattr__(self, "content", tuple(self.content))
