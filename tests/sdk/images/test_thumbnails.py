"""Small pictures of images."""

from __future__ import annotations

import io
import struct

import pytest
from PIL import Image

from oracleagentmemory.core.images import thumbnail
from oracleagentmemory.errors import InvalidInputError
from tests.sdk.images.pictures import FORMATS, moving, picture, png_of_size
from tests.sdk.images.test_validation import GOOD


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("size", "small"),
    [
        ((900, 300), (320, 107)),
        ((300, 900), (107, 320)),
        ((40, 30), (40, 30)),
        ((2000, 1), (320, 1)),
    ],
)
def test_the_longer_side_is_cut_to_the_edge(
    kind: str, size: tuple[int, int], small: tuple[int, int]
) -> None:
    made = opened(thumbnail(picture(kind, size=size)))
    assert (made.format, made.size) == ("WEBP", small)


@pytest.mark.parametrize("name", GOOD)
def test_every_form_of_a_picture_has_a_small_one(name: str) -> None:
    made = opened(thumbnail(GOOD[name], edge=10))
    made.load()
    assert max(made.size) == 10
    assert (made.mode == "RGBA") is ("transparent" in name)


def test_a_camera_that_was_turned_gives_an_upright_picture() -> None:
    sides = Image.new("RGB", (40, 20), "blue")
    sides.paste("red", (0, 0, 20, 20))  # on the left
    for orientation, size, red in [(1, (40, 20), (5, 10)), (3, (40, 20), (35, 10)),
                                   (6, (20, 40), (10, 5)), (8, (20, 40), (10, 35))]:  # fmt: skip
        file = io.BytesIO()
        exif = Image.Exif()
        exif[0x0112] = orientation
        sides.save(file, "JPEG", exif=exif)
        made = opened(thumbnail(file.getvalue())).convert("RGB")
        assert made.size == size
        pixel = made.getpixel(red)
        assert isinstance(pixel, tuple)
        assert pixel[0] > 200 > pixel[2]
        assert not made.getexif()


def test_sixteen_bits_become_eight() -> None:
    file = io.BytesIO()
    Image.new("I;16", (8, 8), 0x8000).save(file, "PNG")
    assert opened(thumbnail(file.getvalue())).convert("L").getpixel((4, 4)) == pytest.approx(
        128, abs=4
    )


@pytest.mark.parametrize(
    "exif",
    [
        b"",
        b"MM\0*",
        b"MM\0*\xff\xff\xff\xff",
        b"XX\0*\0\0\0\x08\0\x01",
        b"MM\0*\0\0\0\x08\xff\xff" + struct.pack(">HHIHH", 0x0110, 3, 1, 6, 0),
        b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHH", 0x0112, 3, 1, 9, 0),
        b"MM\0*\0\0\0\x08\0\x01" + struct.pack(">HHIHH", 0x0112, 2, 1, 6, 0),
    ],
)
def test_odd_exif_data_turns_nothing(exif: bytes) -> None:
    data = picture("JPEG", size=(40, 20), exif=b"Exif\0\0" + exif)
    assert opened(thumbnail(data)).size == (40, 20)


@pytest.mark.parametrize(
    "data",
    [b"", b"<svg/>", moving("PNG"), moving("WEBP"), picture("JPEG")[:200], png_of_size(9000, 9000)],
    ids=["empty", "svg", "moving png", "moving webp", "cut off", "too many pixels"],
)
def test_what_cannot_be_stored_has_none(data: bytes) -> None:
    with pytest.raises(InvalidInputError):
        thumbnail(data)
