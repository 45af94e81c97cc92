"""Images are checked before they are stored: what they are, how large, and that they decode."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PIL import Image, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.core.imageinputlimitconfig import DEFAULT_IMAGE_LIMITS
from oracleagentmemory.core.images import jpeg, png, webp
from oracleagentmemory.core.images.still import Still, damaged
from oracleagentmemory.errors import InvalidInputError

_READERS: dict[ImageMimeType, Callable[[bytes], Still]] = {
    ImageMimeType.PNG: png.read_png,
    ImageMimeType.JPEG: jpeg.read_jpeg,
    ImageMimeType.WEBP: webp.read_webp,
}
# `Image.open` knows a plugin once it is imported.
_PLUGINS = {
    ImageMimeType.PNG: PngImagePlugin.PngImageFile.format,
    ImageMimeType.JPEG: JpegImagePlugin.JpegImageFile.format,
    ImageMimeType.WEBP: WebPImagePlugin.WebPImageFile.format,
}
# The largest image takes a decoder up to 350 MiB.
_DECODING = threading.BoundedSemaphore(2)


def detect_mime_type(data: bytes) -> ImageMimeType:
    """Return what an image is by its first bytes; the rest is not looked at.

    Raises:
        InvalidInputError: It is no ``bytes``, empty, or neither PNG, JPEG nor WebP.
    """
    if not isinstance(data, bytes):
        raise InvalidInputError(f"image must be bytes, not {type(data).__name__}")
    if not data:
        raise InvalidInputError("image is empty; give the bytes of an image file")
    if data.startswith(png.SIGNATURE):
        return ImageMimeType.PNG
    if data.startswith(jpeg.SIGNATURE):
        return ImageMimeType.JPEG
    if webp.is_webp(data):
        return ImageMimeType.WEBP
    raise InvalidInputError("image is neither PNG, JPEG nor WebP; convert it to one of these")


def identify_image(
    data: bytes,
    mime_type: ImageMimeType | None = None,
    *,
    max_bytes: int = DEFAULT_IMAGE_LIMITS["max_raw_image_bytes"],
) -> ImageMimeType:
    """Check how long an image is and what its first bytes say; return what it is.

    Args:
        mime_type: What the caller says the image is; ``None`` to take what it is.
        max_bytes: ``max_raw_image_bytes`` of the resolved ``ImageInputLimitConfig``.

    Raises:
        InvalidInputError: The image is too large in bytes, of another type than the caller says,
            or no image.
    """
    check_byte_length(data, max_bytes)
    found = detect_mime_type(data)
    if mime_type is not None and mime_type is not found:
        if not isinstance(mime_type, ImageMimeType):
            raise InvalidInputError("mime_type must be an ImageMimeType member")
        raise InvalidInputError(f"image is {found.value}, not {mime_type.value}; correct mime_type")
    return found


def validate_image(
    data: bytes,
    mime_type: ImageMimeType | None = None,
    *,
    max_bytes: int = DEFAULT_IMAGE_LIMITS["max_raw_image_bytes"],
) -> ImageMimeType:
    """Check that an image can be stored and return what it is.

    Number of bytes, type, animation and pixels are read from the container before anything is
    decoded; then the pixels are decoded once. Text, profiles and EXIF data are never read. Bytes
    after the image's own end are no fault.

    Args:
        mime_type: What the caller says the image is; ``None`` to take what it is.
        max_bytes: ``max_raw_image_bytes`` of the resolved ``ImageInputLimitConfig``.

    Raises:
        InvalidInputError: The image is too large in bytes or pixels (20,000,000), of another type
            than the caller says, animated, damaged, or no image.
    """
    found = identify_image(data, mime_type, max_bytes=max_bytes)
    with opened(data, found) as image:
        image.load()
    return found


def check_byte_length(data: object, max_bytes: int) -> None:
    """Refuse bytes that are more than a limit allows; what is no ``bytes`` passes.

    Raises:
        InvalidInputError: There are more bytes than ``max_raw_image_bytes``.
    """
    if isinstance(data, bytes) and len(data) > max_bytes:
        raise InvalidInputError(
            f"image has {len(data)} bytes, more than max_raw_image_bytes of {max_bytes}; "
            "make it smaller, or raise the limit up to 32 MiB"
        )


@contextmanager
def opened(data: bytes, mime_type: ImageMimeType) -> Iterator[Image.Image]:
    """Open an image's pixels, which are decoded inside the block, two images at a time.

    Raises:
        InvalidInputError: The container cannot be accepted, or decoding its pixels fails.
    """
    still = _READERS[mime_type](data)
    # Metadata, which makes Pillow warn, is not in these bytes.
    with _DECODING:
        try:
            with Image.open(io.BytesIO(still.pixels), formats=[_PLUGINS[mime_type]]) as image:
                if image.size != (still.width, still.height):
                    raise damaged()
                yield image
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - decoders raise whatever they like for broken input
            raise damaged() from None
