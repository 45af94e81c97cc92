"""Limits of images that are stored or sent to an LLM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.errors import InvalidInputError

_MIB = 1024 * 1024

#: Field, SDK default, absolute maximum.
_LIMITS: dict[str, tuple[int, int]] = {
    "max_raw_image_bytes": (10 * _MIB, 32 * _MIB),
    "max_images_per_llm_request": (100, 512),
    "max_total_raw_image_bytes_per_llm_request": (100 * _MIB, 256 * _MIB),
}


@dataclass(frozen=True)
class ImageInputLimitConfig:
    """Limits of images; omitted fields are inherited, none can be switched off.

    The values are checked when a client or a thread resolves the config.

    Attributes:
        max_raw_image_bytes: Bytes of one image: 10 MiB by default, at most 32 MiB.
        max_images_per_llm_request: 100 by default, at most 512.
        max_total_raw_image_bytes_per_llm_request: Bytes of all images of one request, without
            base64 and text: 100 MiB by default, at most 256 MiB.
    """

    max_raw_image_bytes: Maybe[int] = NOT_SET_MARKER
    max_images_per_llm_request: Maybe[int] = NOT_SET_MARKER
    max_total_raw_image_bytes_per_llm_request: Maybe[int] = NOT_SET_MARKER


DEFAULT_IMAGE_LIMITS: dict[str, int] = {name: default for name, (default, _) in _LIMITS.items()}


def check_image_limits(fields: Mapping[str, object]) -> dict[str, int]:
    """Return the limits of a config or of a saved thread, checked.

    Raises:
        InvalidInputError: If a limit is no int, below 1 or above its absolute maximum.
    """
    checked: dict[str, int] = {}
    for name, value in fields.items():
        _, largest = _LIMITS[name]
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
            raise InvalidInputError(f"{name} must be an int from 1 to {largest}")
        checked[name] = value
    return checked


def check_image_sizes(sizes: Sequence[int], limits: Mapping[str, int]) -> None:
    """Refuse the images of one LLM request that are too many or too large.

    Args:
        sizes: Raw bytes of each image; base64, text and JSON do not count.
        limits: Resolved limits, all three.

    Raises:
        InvalidInputError: A limit is exceeded; the text names it.
    """
    for name, size in (
        ("max_images_per_llm_request", len(sizes)),
        ("max_raw_image_bytes", max(sizes, default=0)),
        ("max_total_raw_image_bytes_per_llm_request", sum(sizes)),
    ):
        if size > limits[name]:
            what = f"{size} images" if name == "max_images_per_llm_request" else f"{size} bytes"
            raise InvalidInputError(
                f"a model request with {what} exceeds {name} of {limits[name]}; "
                f"send less, or raise the limit up to {_LIMITS[name][1]}"
            )
