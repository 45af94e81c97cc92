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
    """Return the limits of a config, checked.

    Raises:
        InvalidInputError: If a limit is no int, below 1 or above its absolute maximum.
    """
    checked = readable_image_limits(fields)
    for name in fields.keys() - checked.keys():
        raise InvalidInputError(f"{name} must be an int from 1 to {_LIMITS[name][1]}")
    return checked


def readable_image_limits(fields: Mapping[str, object]) -> dict[str, int]:
    """Return the limits among what a thread has saved, without any that cannot hold."""
    return {
        name: value
        for name, (_, largest) in _LIMITS.items()
        if type(value := fields.get(name)) is int and 1 <= value <= largest
    }


def check_image_sizes(sizes: Sequence[int], limits: Mapping[str, int]) -> None:
    """Refuse the images of one LLM request that are too many or too large.

    Args:
        sizes: Raw bytes of each image; base64, text and JSON do not count.
        limits: Resolved limits, all three.

    Raises:
        InvalidInputError: A limit is exceeded; the text names it.
    """
    for name, size, what in (
        ("max_images_per_llm_request", len(sizes), "images"),
        ("max_raw_image_bytes", max(sizes, default=0), "bytes in one image"),
        ("max_total_raw_image_bytes_per_llm_request", sum(sizes), "bytes in all images"),
    ):
        if size > limits[name]:
            raise InvalidInputError(
                f"a model request with {size} {what} exceeds {name} of {limits[name]}; "
                f"send less, or raise the limit up to {_LIMITS[name][1]}"
            )
