"""The segments of a JPEG file."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from oracleagentmemory.core.images.still import Still, check_size, damaged

SIGNATURE = b"\xff\xd8\xff"
#: Scans of one image. Encoders make a dozen; one of a few bytes costs a pass over all pixels.
MAX_SCANS = 32
#: Segments of one file; metadata is cut into some hundred of 64 KiB.
MAX_SEGMENTS = 4_096

_START, _END, _SCAN, _LONE, _EXIF = 0xD8, 0xD9, 0xDA, 0x01, 0xE1
_ORIENTATION, _SHORT = 0x0112, 3
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Baseline, extended and progressive with Huffman codes: what browsers and models read.
_KNOWN_FRAMES = frozenset({0xC0, 0xC1, 0xC2})
# Frame, scan, tables, restart interval, and Adobe's segment, which says what the colours mean.
_OF_PIXELS = _KNOWN_FRAMES | {_SCAN, 0xC4, 0xDB, 0xDD, 0xEE}
# Coded data goes on until such a marker: a stuffed 0xFF and restarts belong to it.
_MARKER = re.compile(rb"\xff([^\x00\xff\xd0-\xd7])", re.DOTALL)


def read_jpeg(data: bytes) -> Still:
    """Read a JPEG file up to its end marker; whatever follows that is no part of it.

    Raises:
        InvalidInputError: It is too large or damaged.
    """
    size: tuple[int, int] | None = None
    scans = 0
    pixels = [data[:2]]
    for code, body, segment in _segments(data):
        if code in _FRAMES:
            if size is not None or code not in _KNOWN_FRAMES or len(body) < 6:
                raise damaged()
            height, width = struct.unpack_from(">HH", body, 1)
            size = check_size(width, height)
        if code == _SCAN:
            scans += 1
            if size is None or scans > MAX_SCANS:
                raise damaged()
        if code in _OF_PIXELS:
            pixels.append(segment)
    if size is None or not scans:
        raise damaged()
    pixels.append(bytes([0xFF, _END]))
    return Still(*size, b"".join(pixels))


def orientation(data: bytes) -> int:
    """Return how a camera held its picture: 1 (upright) to 8, as EXIF numbers it."""
    for code, body, _ in _segments(data):
        if code == _SCAN:
            break
        if code == _EXIF and body.startswith(b"Exif\0\0"):
            return _orientation(body[6:])
    return 1


def _orientation(exif: bytes) -> int:
    """Read the one field of the first directory that turns the picture."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    if order is None:
        return 1
    try:
        (place,) = struct.unpack_from(f"{order}I", exif, 4)
        (count,) = struct.unpack_from(f"{order}H", exif, place)
        for number in range(count):
            tag, kind, _, value = struct.unpack_from(f"{order}HHIH", exif, place + 2 + 12 * number)
            if (tag, kind) == (_ORIENTATION, _SHORT) and 1 <= value <= 8:
                return int(value)
    except struct.error:
        pass
    return 1


def _segments(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield code, body and whole of each segment before the end; a scan's whole has its data."""
    place = 2
    for _ in range(MAX_SEGMENTS):
        marker = _MARKER.search(data, place)
        if marker is None or marker[1][0] == _START:
            raise damaged()
        code, begin = marker[1][0], marker.end()
        if code == _END:
            return
        place = begin
        if code == _LONE:
            continue
        if begin + 2 > len(data):
            raise damaged()
        (length,) = struct.unpack_from(">H", data, begin)
        place = begin + length
        if length < 2 or place > len(data):
            raise damaged()
        body = data[begin + 2 : place]
        if code == _SCAN:
            following = _MARKER.search(data, place)
            place = following.start() if following else len(data)
        yield code, body, data[marker.start() : place]
    raise damaged()
