"""What an image must be to be stored."""

from __future__ import annotations

import contextlib
import io
import struct
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile, PngImagePlugin

from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.core.images import detect_mime_type, validate_image
from oracleagentmemory.core.images.jpeg import MAX_SCANS, read_jpeg
from oracleagentmemory.core.images.png import MAX_CHUNKS, read_png
from oracleagentmemory.core.images.still import MAX_PIXELS
from oracleagentmemory.core.images.webp import read_webp
from oracleagentmemory.errors import InvalidInputError
from tests.sdk.images.pictures import (
    FORMATS,
    chunk,
    jpeg_of_size,
    moving,
    picture,
    png,
    png_of_size,
    webp_of_size,
)

PNG, JPEG, WEBP = ImageMimeType.PNG, ImageMimeType.JPEG, ImageMimeType.WEBP
READERS = {PNG: read_png, JPEG: read_jpeg, WEBP: read_webp}

GOOD = {
    "png": picture("PNG"),
    "png grey": picture("PNG", "L"),
    "png one bit": picture("PNG", "1"),
    "png palette": picture("PNG", "P"),
    "png 16 bit": picture("PNG", "I;16"),
    "png transparent": picture("PNG", "RGBA"),
    "jpeg": picture("JPEG"),
    "jpeg grey": picture("JPEG", "L"),
    "jpeg inks": picture("JPEG", "CMYK"),
    "jpeg progressive": picture("JPEG", progressive=True),
    "jpeg restarts": picture("JPEG", restart_marker_blocks=1),
    "webp": picture("WEBP"),
    "webp lossless": picture("WEBP", lossless=True),
    "webp transparent": picture("WEBP", "RGBA"),
    "webp profile": picture("WEBP", icc_profile=b"profile", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\0"),
}


def mime_type_of(name: str) -> ImageMimeType:
    return ImageMimeType(f"image/{name.split()[0]}")


@pytest.mark.parametrize("name", GOOD)
def test_still_images_pass_with_and_without_their_type(name: str) -> None:
    expected = mime_type_of(name)
    assert validate_image(GOOD[name]) is expected
    assert validate_image(GOOD[name], expected) is expected
    assert detect_mime_type(GOOD[name]) is expected


@pytest.mark.parametrize("name", GOOD)
def test_bytes_after_the_end_are_no_fault(name: str) -> None:
    assert validate_image(GOOD[name] + b"\xff\xd8 or anything") is mime_type_of(name)


@pytest.mark.parametrize("name", GOOD)
def test_an_image_that_ends_early_is_refused_wherever_it_ends(name: str) -> None:
    data = GOOD[name]
    for length in range(1, len(data)):
        with pytest.raises(InvalidInputError, match=r"damaged|neither PNG"):
            validate_image(data[:length])


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("picture", "must be bytes, not str"),
        (bytearray(GOOD["png"]), "must be bytes, not bytearray"),
        (None, "must be bytes, not NoneType"),
        (b"", "empty"),
        (b"junk", "neither PNG, JPEG nor WebP"),
        (b"GIF89a" + bytes(40), "neither PNG, JPEG nor WebP"),
        (picture("BMP"), "neither PNG, JPEG nor WebP"),
        (picture("TIFF"), "neither PNG, JPEG nor WebP"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "neither PNG, JPEG nor WebP"),
    ],
)
def test_what_is_no_image_of_the_three_types_is_refused(data: Any, error: str) -> None:
    for check in (detect_mime_type, validate_image):
        with pytest.raises(InvalidInputError, match=error):
            check(data)


def test_a_gif_is_named_by_none_of_the_types() -> None:
    for mime_type in ImageMimeType:
        with pytest.raises(InvalidInputError, match="neither PNG"):
            validate_image(moving("GIF"), mime_type)


def test_another_type_than_the_callers_is_refused() -> None:
    for said in ImageMimeType:
        for name in FORMATS:
            if said.name != name:
                with pytest.raises(InvalidInputError, match=f"not {said.value}"):
                    validate_image(picture(name), said)
    with pytest.raises(InvalidInputError, match="ImageMimeType member"):
        validate_image(GOOD["png"], "image/png")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["PNG", "WEBP"])
def test_animations_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="animated"):
        validate_image(moving(name))


def test_an_animation_of_one_frame_is_one() -> None:
    with pytest.raises(InvalidInputError, match="animated"):
        validate_image(png(chunk(b"acTL", struct.pack(">II", 1, 0))))


def test_a_phone_picture_with_more_pictures_behind_it_is_a_jpeg() -> None:
    images = [Image.effect_noise((40, 30), 60).convert("RGB") for _ in range(2)]
    file = io.BytesIO()
    images[0].save(file, "MPO", save_all=True, append_images=images[1:])
    assert validate_image(file.getvalue(), JPEG) is JPEG


def test_the_limit_of_bytes_holds_before_anything_is_read() -> None:
    data = GOOD["png"]
    assert validate_image(data, max_bytes=len(data)) is PNG
    for over in (data, b"j" * len(data)):
        with pytest.raises(InvalidInputError, match="max_raw_image_bytes"):
            validate_image(over, max_bytes=len(data) - 1)
    with pytest.raises(InvalidInputError, match="10485761 bytes"):
        validate_image(bytes(10 * 2**20 + 1))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Notes when a decoder is asked to begin."""
    sizes: list[int] = []
    load = ImageFile.ImageFile.load

    def noted(image: ImageFile.ImageFile) -> Any:
        sizes.append(image.width * image.height)
        return load(image)

    monkeypatch.setattr(ImageFile.ImageFile, "load", noted)
    return sizes


@pytest.mark.parametrize("make", [png_of_size, jpeg_of_size, webp_of_size])
@pytest.mark.parametrize("size", [(5001, 4000), (16384, 16384), (16383, 1221)])
def test_too_many_pixels_are_refused_before_they_are_decoded(
    make: Callable[[int, int], bytes], size: tuple[int, int], opened: list[int]
) -> None:
    with pytest.raises(InvalidInputError, match=f"{size[0]} x {size[1]} pixels"):
        validate_image(make(*size))
    assert opened == []


@pytest.mark.parametrize(
    "size", [(0, 1), (1, 0), (2**32 - 1, 2**32 - 1), (2**31, 1), (MAX_PIXELS + 1, 1)]
)
def test_sizes_that_no_picture_has_are_refused(size: tuple[int, int], opened: list[int]) -> None:
    header = struct.pack(">IIBBBBB", *size, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT") + chunk(b"IEND")
    with pytest.raises(InvalidInputError, match=r"damaged|pixels"):
        validate_image(data)
    assert opened == []


def test_the_largest_picture_passes(opened: list[int]) -> None:
    assert validate_image(png(size=(5000, 4000))) is PNG
    assert opened == [MAX_PIXELS]


def test_a_frame_of_another_size_than_its_canvas_is_refused() -> None:
    data = bytearray(GOOD["webp transparent"])
    place = data.index(b"VP8X") + 12
    data[place] += 1
    with pytest.raises(InvalidInputError, match="damaged"):
        validate_image(bytes(data))


def bomb(size: int = 2**21) -> bytes:
    return zlib.compress(bytes(size))


@pytest.mark.parametrize(
    "body",
    [
        chunk(b"zTXt", b"a\0\0" + bomb()),
        chunk(b"zTXt", b"\0\0" + bomb()),
        chunk(b"iTXt", b"a\0\1\0\0\0" + bomb()),
        chunk(b"iCCP", b"a\0\0" + bomb()),
        chunk(b"zTXt", b"a\0\7" + b"no such packing"),
        chunk(b"eXIf", b"MM\0*\xff\xff\xff\xff"),
        chunk(b"gAMA", b"1"),
        chunk(b"tEXt"),
    ],
)
def test_text_and_profiles_are_never_unpacked(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def unpacked(packed: bytes) -> bytes:
        raise AssertionError("a chunk was unpacked")

    monkeypatch.setattr(PngImagePlugin, "_safe_zlib_decompress", unpacked)
    assert validate_image(png(body)) is PNG
    assert body not in read_png(png(body)).pixels


def test_a_chunk_whose_sum_is_wrong_is_refused() -> None:
    good = chunk(b"tEXt", b"a\0b")
    with pytest.raises(InvalidInputError, match="damaged"):
        validate_image(png(good[:-1] + bytes([good[-1] ^ 1])))


@pytest.mark.parametrize(
    "data",
    [
        png(chunk(b"QQQQ")),
        png(chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 0, 0, 0, 0))),
        png(chunk(b"ab\0d")),
        png(rows=b""),
        png(rows=b"\7\0"),
        b"\x89PNG\r\n\x1a\n" + chunk(b"IEND"),
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", b"short") + chunk(b"IEND"),
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 2**32 - 1) + b"IHDR" + bytes(40),
        b"\xff\xd8\xff\xd9",
        b"\xff\xd8\xff\xda\0\2\xff\xd9",
        b"\xff\xd8\xff\xc0\0\2\xff\xda\0\2\xff\xd9",
        b"RIFF\4\0\0\0WEBP",
        b"RIFF\xff\xff\xff\xffWEBPVP8X",
        b"RIFF\x0c\0\0\0WEBPVP8X\0\0\0\0",
        b"RIFF\x0c\0\0\0WEBPVP8 \0\0\0\0",
        b"RIFF\x0c\0\0\0WEBPVP8L\0\0\0\0",
    ],
)
def test_broken_containers_are_damaged(data: bytes) -> None:
    with pytest.raises(InvalidInputError, match="damaged"):
        validate_image(data)


def test_the_work_that_a_small_file_asks_for_is_bounded(opened: list[int]) -> None:
    many = png(chunk(b"tEXt") * MAX_CHUNKS)
    progressive = GOOD["jpeg progressive"]
    scan = progressive[progressive.rindex(b"\xff\xda") : -2]
    comments = GOOD["jpeg"][:2] + b"\xff\xfe\0\2" * 5000 + GOOD["jpeg"][2:]
    chunks = b"junk\0\0\0\0" * 300
    webp = GOOD["webp"]
    webp = b"RIFF" + struct.pack("<I", len(webp) - 8 + len(chunks)) + webp[8:] + chunks
    for data in (many, progressive[:-2] + scan * MAX_SCANS + b"\xff\xd9", comments, webp):
        with pytest.raises(InvalidInputError, match="damaged"):
            validate_image(data)
    assert opened == []


def test_only_what_makes_pixels_reaches_the_decoder() -> None:
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    data = picture("JPEG", exif=exif, comment=b"a remark", icc_profile=b"a profile", dpi=(1, 1))
    pixels = read_jpeg(data).pixels
    for hidden in (b"where I live", b"a remark", b"a profile", b"JFIF"):
        assert hidden in data
        assert hidden not in pixels
    with Image.open(io.BytesIO(data)) as whole, Image.open(io.BytesIO(pixels)) as stripped:
        assert whole.tobytes() == stripped.tobytes()


@pytest.mark.parametrize("name", GOOD)
def test_what_is_decoded_is_the_whole_picture(name: str) -> None:
    still = READERS[mime_type_of(name)](GOOD[name])
    with Image.open(io.BytesIO(GOOD[name])) as whole, Image.open(io.BytesIO(still.pixels)) as part:
        assert (whole.mode, whole.size) == (part.mode, part.size) == (whole.mode, (23, 17))
        assert whole.tobytes() == part.tobytes()


def test_neither_warnings_nor_settings_of_pillow_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    data = picture("JPEG", exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12")
    twice = chunk(b"acTL", bytes(8))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert validate_image(data) is JPEG
        with pytest.raises(InvalidInputError, match="animated"):
            validate_image(png(twice, twice))
    assert caught == []
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    with pytest.raises(InvalidInputError, match="damaged"):
        validate_image(GOOD["jpeg"][:-2])


@settings(deadline=None, max_examples=400)
@given(data=st.data())
def test_broken_bytes_raise_nothing_but_invalid_input(data: st.DataObject) -> None:
    image = bytearray(GOOD[data.draw(st.sampled_from(sorted(GOOD)))])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(image) - 1))
        image[place] = data.draw(st.integers(0, 255))
    for _ in range(data.draw(st.integers(0, 2))):
        start = data.draw(st.integers(0, len(image)))
        end = data.draw(st.integers(start, len(image)))
        replacement = data.draw(st.binary(max_size=40))
        image[start:end] = replacement
        if not image:
            return
    with contextlib.suppress(InvalidInputError):
        assert validate_image(bytes(image)) is detect_mime_type(bytes(image))


@settings(deadline=None, max_examples=200)
@given(
    start=st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF\x40\0\0\0WEBP"]),
    rest=st.binary(max_size=120),
)
def test_random_bytes_behind_a_known_beginning_are_no_image(start: bytes, rest: bytes) -> None:
    with pytest.raises(InvalidInputError):
        validate_image(start + rest)


@settings(deadline=None, max_examples=400)
@given(
    header=st.tuples(
        st.integers(0, 9), st.integers(0, 9), *[st.sampled_from([0, 1, 2, 3, 4, 6, 8, 16])] * 5
    ),
    chunks=st.lists(
        st.builds(
            chunk,
            st.sampled_from([b"PLTE", b"tRNS", b"IDAT", b"sBIT", b"IEND", b"fdAT", b"JUNK"]),
            st.binary(max_size=40),
        ),
        max_size=4,
    ),
    rows=st.binary(max_size=400),
)
def test_whole_chunks_of_nonsense_raise_nothing_but_invalid_input(
    header: tuple[int, ...], chunks: list[bytes], rows: bytes
) -> None:
    parts = [
        chunk(b"IHDR", struct.pack(">IIBBBBB", *header)),
        *chunks,
        chunk(b"IDAT", zlib.compress(rows)),
        chunk(b"IEND"),
    ]
    with contextlib.suppress(InvalidInputError):
        assert validate_image(b"\x89PNG\r\n\x1a\n" + b"".join(parts)) is PNG
