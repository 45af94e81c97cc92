"""The chunks of a WebP file."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from oracleagentmemory.core.images.still import Still, animated, check_size, damaged

#: Chunks of one file; a still image has six known ones.
MAX_CHUNKS = 256

_OF_ANIMATIONS = frozenset({b"ANIM", b"ANMF"})
_OF_PIXELS = (b"ALPH", b"VP8 ", b"VP8L")  # codespell:ignore
_ANIMATION_FLAG, _ALPHA_FLAG = 0x02, 0x10


def is_webp(data: bytes) -> bool:
    """Return whether the first bytes are those of a WebP file."""
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def read_webp(data: bytes) -> Still:
    """Read a WebP file up to the length that it names; whatever follows that is no part of it.

    Raises:
        InvalidInputError: It is animated, too large or damaged.
    """
    chunks: dict[bytes, bytes] = {}
    for kind, body in _chunks(data):
        if kind in _OF_ANIMATIONS or (kind == b"VP8X" and body[:1] and body[0] & _ANIMATION_FLAG):
            raise animated()
        chunks.setdefault(kind, body)
    canvas = _canvas_size(chunks.get(b"VP8X"))
    size = _picture_size(chunks)
    if canvas is not None and canvas != size:
        raise damaged()
    return Still(*size, _without_metadata(chunks))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    (length,) = struct.unpack_from("<I", data.ljust(8, b"\0"), 4)
    end = 8 + length
    if end > len(data):
        raise damaged()
    place = 12
    for _ in range(MAX_CHUNKS):
        if place == end:
            return
        if place + 8 > end:
            break
        kind, length = struct.unpack_from("<4sI", data, place)
        after = place + 8 + length
        if after > end:
            break
        yield kind, data[place + 8 : after]
        # Chunks are padded to an even length; some encoders leave out the last padding.
        place = min(after + length % 2, end)
    raise damaged()


def _canvas_size(body: bytes | None) -> tuple[int, int] | None:
    if body is None:
        return None
    if len(body) < 10:
        raise damaged()
    width, height = body[4:7], body[7:10]
    return check_size(int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1)


def _picture_size(chunks: dict[bytes, bytes]) -> tuple[int, int]:
    """Return the size of the one picture, lossy or lossless."""
    if (b"VP8 " in chunks) is (b"VP8L" in chunks):
        raise damaged()
    if (body := chunks.get(b"VP8 ")) is not None:
        if body[3:6] != b"\x9d\x01\x2a" or len(body) < 10:
            raise damaged()
        width, height = struct.unpack_from("<HH", body, 6)
        return check_size(width & 0x3FFF, height & 0x3FFF)
    body = chunks[b"VP8L"]
    if len(body) < 5 or body[0] != 0x2F:
        raise damaged()
    bits = int.from_bytes(body[1:5], "little")
    return check_size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)


def _without_metadata(chunks: dict[bytes, bytes]) -> bytes:
    """Return a file of the picture and its transparency."""
    parts = []
    if header := chunks.get(b"VP8X"):
        parts.append((b"VP8X", bytes([header[0] & _ALPHA_FLAG]) + header[1:]))
    parts += [(kind, chunks[kind]) for kind in _OF_PIXELS if kind in chunks]
    body = b"".join(
        struct.pack("<4sI", kind, len(chunk)) + chunk + b"\0" * (len(chunk) % 2)
        for kind, chunk in parts
    )
    return struct.pack("<4sI4s", b"RIFF", len(body) + 4, b"WEBP") + body
