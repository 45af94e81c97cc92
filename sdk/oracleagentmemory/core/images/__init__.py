"""Checks and descriptions of images."""

from __future__ import annotations

from oracleagentmemory.core.images.captions import describe_image
from oracleagentmemory.core.images.thumbnails import thumbnail
from oracleagentmemory.core.images.validation import (
    detect_mime_type,
    identify_image,
    validate_image,
)

__all__ = [
    "describe_image",
    "detect_mime_type",
    "identify_image",
    "thumbnail",
    "validate_image",
]
