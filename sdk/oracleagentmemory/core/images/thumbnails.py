"""Small pictures of stored images, for lists."""

from __future__ import annotations

import io

from PIL import Image

from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.core.images import jpeg
from oracleagentmemory.core.images.validation import detect_mime_type, opened

_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def thumbnail(data: bytes, *, edge: int = 320) -> bytes:
    """Return a small WebP picture of an image, upright and without any of its metadata.

    Bounds of pixels and bytes are those of ``validate_image``; an image that another program
    stored is checked here for the first time.

    Args:
        edge: Pixels of the longer side at most; a smaller image keeps its size.

    Raises:
        InvalidInputError: It is no still PNG, JPEG or WebP image, too large, or damaged.
    """
    mime_type = detect_mime_type(data)
    with opened(data, mime_type) as image:
        # Of a JPEG only the pixels that are needed are decoded; other formats ignore this.
        image.draft("RGB", (edge, edge))
        whole = _of_bytes(image)
        whole.thumbnail((edge, edge))
        small = whole.copy()  # what outlives the closed file
    turn = _TURNS.get(jpeg.orientation(data)) if mime_type is ImageMimeType.JPEG else None
    file = io.BytesIO()
    (small if turn is None else small.transpose(turn)).save(file, "WEBP", quality=80)
    return file.getvalue()


def _of_bytes(image: Image.Image) -> Image.Image:
    """Return an image of one byte a colour; Pillow would cut off 16 bits instead of scaling."""
    if image.mode.startswith("I"):
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    wanted = "RGBA" if image.has_transparency_data else "RGB"
    # Pillow copies what has the wanted form already, and the largest image takes 80 MB.
    return image if image.mode == wanted else image.convert(wanted)
