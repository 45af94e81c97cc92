"""Files that forms send: bounded like every other body, and never on disk."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import MemoryFileUploadHandler


class BoundedUploadHandler(MemoryFileUploadHandler):
    """Refuse a larger body before it is read; Django's own handlers would fill the disk with it."""

    def handle_raw_input(
        self,
        input_data: Any,
        META: dict[str, Any],
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        """Compare the length of the whole body with FILE_UPLOAD_MAX_MEMORY_SIZE."""
        super().handle_raw_input(input_data, META, content_length, boundary, encoding)
        if not self.activated:
            raise RequestDataTooBig("the body is larger than MEMORY_MAX_BODY_BYTES")
