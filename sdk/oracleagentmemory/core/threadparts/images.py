"""Images of a thread."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.apis.records import ImageRecord, MetadataValue
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.apis.validation import check_flag, check_id
from oracleagentmemory.core.imagedescribing import (
    ImageChange,
    ImageDescribing,
    ImageInput,
    described,
)
from oracleagentmemory.core.memoryinput import check_ids, only_given, refuse_unexpected
from oracleagentmemory.core.prepared import written
from oracleagentmemory.core.threadparts.part import ThreadPart
from oracleagentmemory.errors import InvalidInputError, NotFoundError
from oracleagentmemory.storage.writes import Prepared


class ThreadImages(ImageDescribing, ThreadPart):
    """Adding, changing, deleting and listing images of exactly this thread."""

    def _prepare_add_image(
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
    ) -> ImageChange:
        """Store an image of this thread, its user and its agent; return its id.

        The arguments and errors are those of ``OracleAgentMemory.add_image``; what describes the
        image is the thread's model (documented on the page of threads).

        Args:
            user_id: May only say what the thread has, as may ``agent_id`` and ``thread_id``.
        """
        own = {"thread_id": self._thread_id, "user_id": self._user_id, "agent_id": self._agent_id}
        asserted = only_given(thread_id=thread_id, user_id=user_id, agent_id=agent_id)
        for name, owner in asserted.items():
            if owner != own[name]:
                raise InvalidInputError(f"{name} must be that of this thread; omit it to take that")
        new = ImageInput(
            image=image,
            description=description,
            mime_type=mime_type,
            metadata=metadata,
            fields=only_given(
                timestamps=timestamp, ttl_days=ttl_days, ttl_anchor=ttl_anchor, **store_kwargs
            ),
        )
        change = self._image_addition(new, image_id, self._settings, own)
        return replace(change, prepared=self._with_thread(change.prepared))

    def _prepare_update_image(
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
        *,
        if_fingerprint: str | None = None,
        **kwargs: Any,
    ) -> ImageChange:
        """Change an image of this thread; omitted fields stay; return its id.

        The arguments and errors are those of ``OracleAgentMemory.update_image``; images of other
        threads are not found.
        """
        refuse_unexpected("update_image", kwargs)
        stored = self._own_image(image_id)
        if stored is None:
            raise NotFoundError(f"this thread has no image with the id {image_id!r}")
        new = ImageInput(
            image=image,
            description=description,
            mime_type=mime_type,
            metadata=metadata,
            fields=only_given(timestamp=timestamp, ttl_days=ttl_days, ttl_anchor=ttl_anchor),
        )
        return self._image_update(
            stored, new, self._settings, if_fingerprint, thread_id=self._thread_id
        )

    prepare_add_image, add_image = described(_prepare_add_image)
    prepare_update_image, update_image = described(_prepare_update_image)
    _update_image_async = threaded(update_image)
    update_image_async = _update_image_async

    def prepare_delete_image(
        self, image_id: str, *, if_fingerprint: str | None = None
    ) -> Prepared[int]:
        """Delete an image of this thread that is not part of a message; return 0 or 1.

        Args:
            if_fingerprint: Delete it only while the stored image has this fingerprint.

        Raises:
            ValueError: If it is attached to a message; delete or update that.
            ConflictError: If the stored image has another fingerprint.
        """
        return self._store.prepare_delete(
            "image",
            check_id(image_id, "image_id"),
            if_fingerprint=if_fingerprint,
            visible_only=True,
            thread_id=self._thread_id,
        )

    delete_image = written(prepare_delete_image)
    _delete_image_async = threaded(delete_image)
    delete_image_async = _delete_image_async

    def list_images(
        self,
        image_id: Maybe[str] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        include_bytes: Maybe[bool] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[ImageRecord]:
        """List the newest ``limit`` images of this thread, oldest first.

        Images of its messages are among them.

        Args:
            image_id: Only this one; chosen before ``limit``.
            metadata_filter: ``None`` means images without metadata.
            include_bytes: Whether they come with their bytes; needs ``image_id``.
            limit: A safe maximum when omitted, ``None`` for no limit.

        Raises:
            ValueError: If bytes are wanted without ``image_id``.
        """
        check_ids(image_id=image_id)
        check_flag(include_bytes, "include_bytes")
        found = self._store.list(
            "image",
            thread_id=self._thread_id,
            metadata_filter=metadata_filter,
            limit=limit,
            include_bytes=include_bytes,
            record_id=NOT_SET_MARKER if image_id is None else image_id,
        )
        return cast(list[ImageRecord], found)

    def _own_image(self, image_id: str) -> ImageRecord | None:
        stored = self._store.get("image", check_id(image_id, "image_id"))
        mine = isinstance(stored, ImageRecord) and stored.thread_id == self._thread_id
        return cast(ImageRecord, stored) if mine else None
