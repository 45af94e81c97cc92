"""What a store asks of an image: its bytes, its format and its description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.apis.records import MetadataValue
from oracleagentmemory.apis.validation import check_text
from oracleagentmemory.errors import InvalidInputError, WrongTypeError
from oracleagentmemory.storage.store.retrieval_text import check_chunks

#: The key of a caller's metadata that names the format; it is never stored with the rest.
MIME_TYPE_KEY = "image_mime_type"
#: No configuration allows larger images.
MOST_IMAGE_BYTES = 32 * 2**20
_FORMATS = ", ".join(kind.value for kind in ImageMimeType)


def check_image_bytes(value: object, what: str = "content") -> bytes:
    """Return the bytes of an image; what they hold is checked by those that read images.

    Raises:
        InvalidInputError: If there are none or too many.
        WrongTypeError: If they are no bytes.
    """
    if value is None:
        raise InvalidInputError(f"{what} needs the bytes of the image, not None")
    if not isinstance(value, bytes):
        raise WrongTypeError(f"{what} must be the image as bytes, not {type(value).__name__}")
    if not 0 < len(value) <= MOST_IMAGE_BYTES:
        raise InvalidInputError(
            f"{what} must have 1 to {MOST_IMAGE_BYTES} bytes of an image, not {len(value)}"
        )
    return value


def split_metadata(metadata: Mapping[str, Any] | None) -> tuple[ImageMimeType, MetadataValue]:
    """Return the format that metadata names, and the rest (None when nothing else is in it).

    Raises:
        InvalidInputError: If it names no format that can be stored.
    """
    named: Any = (metadata or {}).get(MIME_TYPE_KEY)
    try:
        mime_type = ImageMimeType(named)
    except ValueError:
        raise InvalidInputError(
            f"metadata of an image needs {MIME_TYPE_KEY!r} with one of {_FORMATS}, "
            f"not {named!r:.80}"
        ) from None
    rest = {key: value for key, value in (metadata or {}).items() if key != MIME_TYPE_KEY}
    return mime_type, rest or None


def check_description(index_text: Any) -> str:
    """Return the description that an index text is: a text, or the caller's own chunks."""
    if index_text is None:
        return ""
    if isinstance(index_text, list | tuple):
        return "\n".join(check_chunks(index_text))
    return check_text(index_text, "index text")


def image_columns(data: object, mime_type: ImageMimeType, what: str = "content") -> dict[str, Any]:
    """Return the columns that hold an image."""
    return {
        "blob": check_image_bytes(data, what),
        "document_metadata": {"mime_type": mime_type.value},
    }


def image_changes(content: Any, index_text: Any, metadata: Any) -> tuple[dict[str, Any], Any]:
    """Return the columns that an update of an image sets, and its metadata without the format.

    Metadata that names nothing but the format leaves the stored metadata as it is.

    Raises:
        InvalidInputError: If bytes come without their format, or a format without bytes.
    """
    columns: dict[str, Any] = {}
    if isinstance(content, _NotSetMarker):
        if isinstance(metadata, Mapping) and MIME_TYPE_KEY in metadata:
            raise InvalidInputError(
                f"{MIME_TYPE_KEY!r} says what new bytes are: give the image as content with it"
            )
    else:
        given = metadata if isinstance(metadata, Mapping) else None
        mime_type, metadata = split_metadata(given)
        columns = image_columns(content, mime_type)
        metadata = NOT_SET_MARKER if metadata is None else metadata
    if not isinstance(index_text, _NotSetMarker):
        columns["description"] = check_description(index_text)
    return columns, metadata
