"""The chunks of a PNG file."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from oracleagentmemory.core.images.still import Still, animated, check_size, damaged

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Texts and profiles are left out: packed ones can grow a thousandfold, and no pixel needs them.
_OF_PIXELS = frozenset({b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"})
_OF_ANIMATIONS = frozenset({b"acTL", b"fcTL", b"fdAT"})
_HEADER = struct.Struct(">IIBBBBB")
#: Chunks of one file; encoders cut the largest one that is accepted into some thousand.
MAX_CHUNKS = 65_536


def read_png(data: bytes) -> Still:
    """Read a PNG file up to its end chunk; whatever follows that is no part of it.

    Raises:
        InvalidInputError: It is animated, too large or damaged.
    """
    size: tuple[int, int] | None = None
    pixels = [SIGNATURE]
    for kind, body, chunk in _chunks(memoryview(data)):
        if (kind == b"IHDR") is not (size is None):
            raise damaged()
        if kind == b"IHDR":
            if len(body) != _HEADER.size:
                raise damaged()
            width, height, *_ = _HEADER.unpack(body)
            size = check_size(width, height)
        if kind in _OF_ANIMATIONS:
            raise animated()
        if kind in _OF_PIXELS:
            pixels.append(bytes(chunk))
        elif not kind[0] & 0x20:  # a critical chunk that nobody knows
            raise damaged()
    if size is None:
        raise damaged()
    return Still(*size, b"".join(pixels))


def _chunks(view: memoryview) -> Iterator[tuple[bytes, memoryview, memoryview]]:
    """Yield kind, body and whole of each chunk, the end chunk last, with their sums compared."""
    place = len(SIGNATURE)
    for _ in range(MAX_CHUNKS):
        if place + 12 > len(view):
            raise damaged()
        (length,) = struct.unpack_from(">I", view, place)
        end = place + 12 + length
        if end > len(view):
            raise damaged()
        kind = bytes(view[place + 4 : place + 8])
        (total,) = struct.unpack_from(">I", view, end - 4)
        if not kind.isalpha() or zlib.crc32(view[place + 4 : end - 4]) != total:
            raise damaged()
        yield kind, view[place + 8 : end - 4], view[place:end]
        if kind == b"IEND":
            return
        place = end
    raise damaged()
