"""Images of users, agents and threads."""

from __future__ import annotations

from typing import Any, cast

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker
from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.apis.records import ImageRecord, MetadataValue, ThreadRecord
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.apis.validation import check_flag, check_id
from oracleagentmemory.core.client.part import ClientPart
from oracleagentmemory.core.imagedescribing import (
    ImageChange,
    ImageDescribing,
    ImageInput,
    described,
    no_image,
)
from oracleagentmemory.core.imageinput import check_listed
from oracleagentmemory.core.memoryinput import check_ids, only_given, refuse_unexpected
from oracleagentmemory.core.prepared import written
from oracleagentmemory.core.threadsettings import (
    EMPTY_LAYER,
    ThreadSettings,
    resolve_settings,
    saved_layer,
)
from oracleagentmemory.errors import InvalidInputError, NotFoundError
from oracleagentmemory.storage.writes import Prepared


class ClientImages(ImageDescribing, ClientPart):
    """Adding, changing, deleting and listing images."""

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
        """Store an image; return its id.

        The bytes are stored as they come. Limits and the way to a description are those saved with
        the thread, where one is given, else the client's (documented on the page of the client).

        Args:
            image: A still PNG, JPEG or WebP image of at most 20,000,000 pixels and
                ``max_raw_image_bytes``.
            description: What the image is found by; empty for none. Omitted or ``None``, the
                client's model describes the image: before anything is stored (INLINE), or
                afterwards in the background.
            mime_type: What the image must be; detected when omitted.
            image_id: Generated when omitted.
            user_id: Owner; at least one of the three must not be ``None``. With a thread, user and
                agent are the thread's, and what is given must be the same.
            metadata: A JSON object.
            timestamp: The time of what it shows; that of its creation when omitted or ``None``.
            ttl_days: Days that it lives; the store's default when omitted, no end for ``None``.

        Raises:
            ValueError: If an argument cannot be accepted, or there is no model to describe it.
            KeyError: If there is no such thread.
            RuntimeError: If a model would be asked inside a write transaction.
            TimeoutError: If the queue of the background was full for too long and the settings
                say ``WAIT_THEN_RAISE``; the image is stored.
        """
        thread, owners = self._image_owners(user_id, agent_id, thread_id)
        new = ImageInput(
            image=image,
            description=description,
            mime_type=mime_type,
            metadata=metadata,
            fields=only_given(
                timestamps=timestamp, ttl_days=ttl_days, ttl_anchor=ttl_anchor, **store_kwargs
            ),
        )
        return self._image_addition(new, image_id, self._image_settings(thread), owners)

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
        """Change an image; omitted fields stay; return its id.

        Args:
            image: New bytes; needs ``mime_type``.
            description: Takes the place of the stored one, also in searches. ``None`` lets the
                client's model describe the image anew; in the background, the old description of
                the same bytes stays until then.
            mime_type: What the new bytes are.
            metadata: Takes the place of the stored object; ``None`` clears it.
            timestamp: ``None`` clears it.
            ttl_days: Refreshes the expiry, ``None`` clears it; not for images of messages.
            if_fingerprint: Change it only while the stored image has this fingerprint.

        Raises:
            KeyError: If there is no such image, or it has expired.
            ValueError: If an argument cannot be accepted, nothing is given, or there is no model.
            ConflictError: If the stored image has another fingerprint, or is another one than the
                model has seen.
            TypeError: On an unexpected keyword.
            RuntimeError: If a model would be asked inside a write transaction.
            TimeoutError: As from ``add_image``.
        """
        refuse_unexpected("update_image", kwargs)
        stored = self._store.get("image", check_id(image_id, "image_id"))
        if not isinstance(stored, ImageRecord):
            raise no_image(image_id)
        new = ImageInput(
            image=image,
            description=description,
            mime_type=mime_type,
            metadata=metadata,
            fields=only_given(timestamp=timestamp, ttl_days=ttl_days, ttl_anchor=ttl_anchor),
        )
        thread = None if stored.thread_id is None else self._thread_of_image(stored.thread_id)
        return self._image_update(stored, new, self._image_settings(thread), if_fingerprint)

    prepare_add_image, add_image = described(_prepare_add_image)
    prepare_update_image, update_image = described(_prepare_update_image)
    _update_image_async = threaded(update_image)
    update_image_async = _update_image_async

    def prepare_delete_image(
        self, image_id: str, *, if_fingerprint: str | None = None
    ) -> Prepared[int]:
        """Delete an image that is not part of a message; return 0 or 1.

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
        )

    delete_image = written(prepare_delete_image)
    _delete_image_async = threaded(delete_image)
    delete_image_async = _delete_image_async

    def list_images(
        self,
        image_id: Maybe[str] = NOT_SET_MARKER,
        user_id: Maybe[str | None] = NOT_SET_MARKER,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        include_bytes: Maybe[bool] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[ImageRecord]:
        """List the newest ``limit`` images of a user, agent or thread, oldest first.

        Images of messages are among them.

        Args:
            image_id: Only this one; chosen before ``limit``.
            user_id: Any user when omitted, ``None`` for images without one; so are the others. At
                least one of the three must be given and not ``None``.
            metadata_filter: ``None`` means images without metadata.
            include_bytes: Whether they come with their bytes; needs ``image_id``.
            limit: A safe maximum when omitted, ``None`` for no limit.

        Raises:
            ValueError: If no owner is named, or bytes are wanted without ``image_id``.
        """
        check_ids(image_id=image_id)
        check_flag(include_bytes, "include_bytes")
        check_listed(user_id=user_id, agent_id=agent_id, thread_id=thread_id)
        found = self._store.list(
            "image",
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id,
            metadata_filter=metadata_filter,
            limit=limit,
            include_bytes=include_bytes,
            record_id=NOT_SET_MARKER if image_id is None else image_id,
        )
        return cast(list[ImageRecord], found)

    def _image_owners(
        self,
        user_id: Maybe[str | None],
        agent_id: Maybe[str | None],
        thread_id: Maybe[str | None],
    ) -> tuple[ThreadRecord | None, dict[str, str | None]]:
        """Return the thread of a new image and all owners; those of a thread are the thread's.

        Raises:
            InvalidInputError: If none is given, or one that is not the thread's.
            NotFoundError: If there is no such thread.
        """
        check_ids(user_id=user_id, agent_id=agent_id, thread_id=thread_id)
        owners = only_given(user_id=user_id, agent_id=agent_id)
        if thread_id is None or isinstance(thread_id, _NotSetMarker):
            if all(owner is None for owner in owners.values()):
                raise InvalidInputError(
                    "an image needs an owner: give a user_id, agent_id or thread_id"
                )
            return None, owners
        thread = self._thread_of_image(thread_id)
        if thread is None:
            raise NotFoundError(f"there is no thread with the id {thread_id!r}")
        for name, owner in owners.items():
            if owner != getattr(thread, name):
                raise InvalidInputError(
                    f"{name} must be that of the thread {thread_id!r}; omit it to take that one"
                )
        return thread, {
            "thread_id": thread_id,
            "user_id": thread.user_id,
            "agent_id": thread.agent_id,
        }

    def _thread_of_image(self, thread_id: str) -> ThreadRecord | None:
        return cast("ThreadRecord | None", self._store.get("thread", thread_id))

    def _image_settings(self, thread: ThreadRecord | None) -> ThreadSettings:
        """Return what governs an image: the settings saved with its thread, then the client's."""
        of_client = self._settings_layer
        saved = EMPTY_LAYER
        if thread is not None:
            saved = saved_layer(thread.runtime_config, of_client.search_config)
        return resolve_settings(EMPTY_LAYER, saved, of_client)
