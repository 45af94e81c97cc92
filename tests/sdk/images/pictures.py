"""Image files as encoders write them, and as attackers do."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

from PIL import Image

from oracleagentmemory.apis import ImageMimeType

FORMATS = ("PNG", "JPEG", "WEBP")


def picture(
    kind: str, mode: str = "RGB", size: tuple[int, int] = (23, 17), **options: Any
) -> bytes:
    """Return a picture of coloured noise as a file of a format of Pillow."""
    noise = Image.effect_noise(size, 60)
    image = noise.convert(mode)
    if mode == "RGBA":
        image.putalpha(noise)
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def plain(mime_type: ImageMimeType = ImageMimeType.PNG, shade: int = 0) -> bytes:
    """Return a grey picture of one pixel; PNG files of two shades have the same length."""
    if mime_type is ImageMimeType.PNG:
        return png(rows=bytes([0, shade]))
    file = io.BytesIO()
    Image.new("L", (1, 1), shade).save(file, mime_type.value.removeprefix("image/"))
    return file.getvalue()


def moving(kind: str, frames: int = 3) -> bytes:
    """Return an animated picture."""
    images = [Image.new("RGB", (9, 7), (80 * number, 0, 9)) for number in range(frames)]
    file = io.BytesIO()
    images[0].save(file, kind, save_all=True, append_images=images[1:])
    return file.getvalue()


def chunk(kind: bytes, body: bytes = b"") -> bytes:
    """Return a chunk of a PNG file."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(*chunks: bytes, size: tuple[int, int] = (1, 1), rows: bytes | None = None) -> bytes:
    """Return a grey PNG file with further chunks before its pixels."""
    width, height = size
    rows = b"\0" * (width + 1) * height if rows is None else rows
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(rows))
    parts = [chunk(b"IHDR", header), *chunks, pixels, chunk(b"IEND")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def png_of_size(width: int, height: int) -> bytes:
    """Return a PNG file that says how large it is and has no row."""
    return png(size=(width, height), rows=b"")


def jpeg_of_size(width: int, height: int) -> bytes:
    """Return a JPEG file whose frame says another size than its data has."""
    data = picture("JPEG", "L")
    place = data.index(b"\xff\xc0") + 5
    return data[:place] + struct.pack(">HH", height, width) + data[place + 4 :]


def webp_of_size(width: int, height: int) -> bytes:
    """Return a lossless WebP file whose header says another size than its data has."""
    data = picture("WEBP", lossless=True)
    place = data.index(b"VP8L") + 9
    bits = int.from_bytes(data[place : place + 4], "little")
    bits = bits & 0xF0000000 | (width - 1) | (height - 1) << 14
    return data[:place] + bits.to_bytes(4, "little") + data[place + 4 :]
