"""Images of a thread. Their methods are documented; this version does not store images."""

from __future__ import annotations

from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.apis.records import ImageRecord, MetadataValue
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.core.client.images import NO_IMAGES
from oracleagentmemory.core.threadparts.part import ThreadPart
from oracleagentmemory.errors import NotYetError


class ThreadImages(ThreadPart):
    """Images of exactly this thread."""

    def add_image(
        self,
        /,
        image: bytes,
        description: Maybe[str | None] = NOT_SET_MARKER,
        mime_type: Maybe[ImageMimeType] = NOT_SET_MARKER,
        image_id: Maybe[str] = NOT_SET_MARKER,
        user_id: Maybe[str | None] = NOT_SET_MARKER,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        thread_id: Maybe[str] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        ttl_days: Maybe[int | None] = NOT_SET_MARKER,
        ttl_anchor: Maybe[TimeToLiveAnchor] = NOT_SET_MARKER,
        **store_kwargs: Any,
    ) -> str:
        """Not supported by this version: raises ``NotImplementedError``."""
        raise NotYetError(NO_IMAGES)

    def update_image(
        self,
        /,
        image_id: str,
        image: Maybe[bytes] = NOT_SET_MARKER,
        description: Maybe[str | None] = NOT_SET_MARKER,
        mime_type: Maybe[ImageMimeType] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        ttl_days: Maybe[int | None] = NOT_SET_MARKER,
        ttl_anchor: Maybe[TimeToLiveAnchor] = NOT_SET_MARKER,
        **kwargs: Any,
    ) -> str:
        """Not supported by this version: raises ``NotImplementedError``."""
        raise NotYetError(NO_IMAGES)

    def delete_image(self, image_id: str) -> int:
        """Not supported by this version: raises ``NotImplementedError``."""
        raise NotYetError(NO_IMAGES)

    def list_images(
        self,
        image_id: Maybe[str] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        include_bytes: Maybe[bool] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[ImageRecord]:
        """Not supported by this version: raises ``NotImplementedError``."""
        raise NotYetError(NO_IMAGES)
