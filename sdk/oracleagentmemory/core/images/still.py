"""What the three container formats have in common."""

from __future__ import annotations

from dataclasses import dataclass

from oracleagentmemory.errors import InvalidInputError

#: Pixels of the largest image.
MAX_PIXELS = 20_000_000


@dataclass(frozen=True, slots=True)
class Still:
    """A still image as its container describes it.

    Attributes:
        width: Pixels, at least 1.
        height: Pixels, at least 1.
        pixels: A file with the parts that make pixels and no others.
    """

    width: int
    height: int
    pixels: bytes


def damaged() -> InvalidInputError:
    """Return the one error of an image that ends early or breaks the rules of its format."""
    return InvalidInputError("image is damaged or cut off; give the bytes of a whole image file")


def animated() -> InvalidInputError:
    """Return the error of an image that moves."""
    return InvalidInputError("image is animated; give a still image")


def check_size(width: int, height: int) -> tuple[int, int]:
    """Return the size, or refuse an image without pixels or with more than ``MAX_PIXELS``.

    Raises:
        InvalidInputError: Before anything of such an image is decoded.
    """
    if width < 1 or height < 1:
        raise damaged()
    if width * height > MAX_PIXELS:
        raise InvalidInputError(
            f"image has {width} x {height} pixels, more than {MAX_PIXELS:,} in all; make it smaller"
        )
    return width, height
