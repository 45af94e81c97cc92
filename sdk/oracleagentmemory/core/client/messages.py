"""Messages across threads."""

from __future__ import annotations

from typing import cast

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.records import MessageRecord, MetadataValue
from oracleagentmemory.apis.validation import check_flag
from oracleagentmemory.core.client.part import ClientPart


class ClientMessages(ClientPart):
    """Listing messages."""

    def list_messages(
        self,
        user_id: Maybe[str | None] = NOT_SET_MARKER,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
        include_image_bytes: Maybe[bool] = NOT_SET_MARKER,
    ) -> list[MessageRecord]:
        """List the newest ``limit`` messages, oldest first.

        Args:
            user_id: Any user when omitted, ``None`` for messages without one; so are the others.
            metadata_filter: ``None`` means messages without metadata.
            limit: A safe maximum when omitted, ``None`` for no limit.
            include_image_bytes: Whether image parts come with their bytes.
        """
        check_flag(include_image_bytes, "include_image_bytes")
        found = self._store.list(
            "message",
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id,
            metadata_filter=metadata_filter,
            limit=limit,
            include_bytes=include_image_bytes,
        )
        return cast(list[MessageRecord], found)
