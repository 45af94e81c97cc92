"""Messages of a thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker, given
from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.message import Message, TextContent
from oracleagentmemory.apis.records import MessageRecord, MetadataValue
from oracleagentmemory.apis.thread import MessageInput
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.apis.validation import check_flag, check_id
from oracleagentmemory.core.background import WorkScope
from oracleagentmemory.core.backgroundwork import deleted, deleted_async
from oracleagentmemory.core.extractors.duejobs import NOTHING_TAUGHT, Taught
from oracleagentmemory.core.memoryinput import only_given, refuse_unexpected
from oracleagentmemory.core.messageinput import check_content, check_messages, with_own_images
from oracleagentmemory.core.threadparts.learning import ThreadLearning, learnt
from oracleagentmemory.errors import InvalidInputError, NotFoundError, WrongTypeError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared, prepared_value

#: Messages that get_messages returns when no end is asked for.
MESSAGE_WINDOW = 100


class ThreadMessages(ThreadLearning):
    """Adding, reading, changing and deleting messages."""

    def _prepare_add_messages(
        self,
        /,
        messages: Sequence[MessageInput],
        metadata: Maybe[MetadataValue | list[MetadataValue]] = NOT_SET_MARKER,
        ttl_days: Maybe[int | list[int | None] | None] = NOT_SET_MARKER,
        ttl_anchor: Maybe[TimeToLiveAnchor | list[TimeToLiveAnchor]] = NOT_SET_MARKER,
        **store_kwargs: Any,
    ) -> Prepared[Taught]:
        """Store messages in order, all or none; return their ids.

        Then memories are extracted from them, links and summary follow: before ``add_messages``
        returns (INLINE) or in the background. The messages stay whatever becomes of that. The
        arguments and errors are those of ``IThread.add_messages``; INLINE also raises what the
        model raises.
        """
        self._work.require_open()
        checked = check_messages(messages, metadata, self._settings.image_limits)
        if not checked.contents:
            return prepared_value(NOTHING_TAUGHT)
        contents = with_own_images(checked.contents, self._has_image)
        prepared = self._store.prepare_add(
            contents,
            "message",
            roles=checked.roles,
            timestamps=checked.timestamps,
            metadata=checked.metadata,
            thread_ids=self._thread_id,
            user_ids=self._user_id,
            agent_ids=self._agent_id,
            **only_given(
                record_ids=NOT_SET_MARKER if checked.ids is None else checked.ids,
                ttl_days=ttl_days,
                ttl_anchor=ttl_anchor,
            ),
            **store_kwargs,
        )
        return self._teach_added(self._with_thread(prepared), contents)

    def _has_image(self, image_id: str) -> bool:
        return self._store.fingerprint("image", image_id) is not None

    def _prepare_update_message(
        self,
        /,
        message_id: str,
        content: Maybe[str | list[Mapping[str, Any]]] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        ttl_days: Maybe[int | None] = NOT_SET_MARKER,
        ttl_anchor: Maybe[TimeToLiveAnchor] = NOT_SET_MARKER,
        *,
        if_fingerprint: str | None = None,
        **kwargs: Any,
    ) -> Prepared[Taught]:
        """Change a message of this thread; return its id.

        New content is extracted from again, with what stands before it; memories of the old
        content stay. The arguments and errors are those of ``IThread.update_message``.

        Args:
            if_fingerprint: Change it only while the stored message has this fingerprint.

        Raises:
            ConflictError: If the stored message has another fingerprint.
        """
        refuse_unexpected("update_message", kwargs)
        changes = only_given(
            content=content
            if isinstance(content, _NotSetMarker)
            else check_content(content, self._settings.image_limits),
            metadata=metadata,
            ttl_days=ttl_days,
            ttl_anchor=ttl_anchor,
        )
        stored = self._message(message_id)
        if not changes:
            return prepared_value(Taught([message_id], None))
        prepared = self._store.prepare_update(
            "message",
            message_id,
            **changes,
            if_fingerprint=if_fingerprint,
            thread_id=self._thread_id,
            visible_only=True,
        )
        updated = prepared.map(lambda count: self._found(count, message_id))
        if "content" not in changes:
            return updated.map(lambda one: Taught([one], None))
        return self._teach_edited(updated, stored, changes["content"])

    def prepare_delete_message(
        self,
        message_id: str,
        *,
        if_fingerprint: str | None = None,
        derived: Literal["keep", "delete"] = "keep",
    ) -> Prepared[int]:
        """Delete a message of this thread; return 0 or 1.

        Args:
            derived: ``"keep"`` the memories that were extracted from it, as documented, or
                ``"delete"`` those that have no other source left.
            if_fingerprint: Delete it only while the stored message has this fingerprint.

        Raises:
            ConflictError: If the stored message has another fingerprint.
            TimeoutError: If background work on the thread did not end within 300 seconds; nothing
                is deleted.
        """
        if derived not in ("keep", "delete"):
            raise InvalidInputError('derived must be "keep" or "delete"')
        prepared = self._store.prepare_delete(
            "message",
            check_id(message_id, "message_id"),
            if_fingerprint=if_fingerprint,
            thread_id=self._thread_id,
            visible_only=True,
        )
        if derived == "delete":
            prepared = self._with_derived(prepared, message_id)
        scope = WorkScope(thread_id=self._thread_id)
        return self._work.deletion(prepared, scope, lambda: self._has_message(message_id))

    def _with_derived(self, prepared: Prepared[int], message_id: str) -> Prepared[int]:
        """Return the deletion of a message together with that of what only it taught."""
        derived = self._store.prepare_delete_derived(message_id)

        def apply(transaction: WriteTransaction) -> int:
            # What hangs on the message goes with it, so its memories are looked for before.
            if self._has_message(message_id):
                derived.apply(transaction)
            return prepared.apply(transaction)

        return Prepared(apply)

    prepare_add_messages, add_messages = learnt(_prepare_add_messages, lambda one: one.message_ids)
    prepare_update_message, update_message = learnt(
        _prepare_update_message, lambda one: one.message_ids[0]
    )
    delete_message = deleted(prepare_delete_message)
    delete_message_async = deleted_async(prepare_delete_message)

    def get_message(
        self, message_id: str, *, included_image_ids: Maybe[list[str]] = NOT_SET_MARKER
    ) -> Message:
        """Return one message of this thread.

        Args:
            included_image_ids: Image parts whose bytes are loaded; unknown ids are ignored.

        Raises:
            KeyError: If this thread has no such message, or it has expired.
            ValueError: If ``included_image_ids`` is no list.
        """
        if included_image_ids is None or isinstance(included_image_ids, _NotSetMarker):
            included_image_ids = []
        elif not isinstance(included_image_ids, list):
            raise InvalidInputError("included_image_ids must be a list of image ids")
        return to_message(self._message(message_id, included_image_ids))

    def get_messages(
        self,
        *,
        start: Maybe[int | None] = NOT_SET_MARKER,
        end: Maybe[int | None] = NOT_SET_MARKER,
        include_image_bytes: Maybe[bool] = NOT_SET_MARKER,
    ) -> list[Message]:
        """Return messages in order: the newest 100 when neither bound is given.

        Args:
            start: Index of the first, from 0; a negative one counts from the end. Without an end,
                100 messages from there.
            end: Index after the last; ``None`` or -1 means to the end, other negative ones count
                from the end.
            include_image_bytes: Whether image parts come with their bytes.
        """
        for name, bound in (("start", start), ("end", end)):
            _check_index(bound, name)
        check_flag(include_image_bytes, "include_image_bytes")
        with_bytes = given(include_image_bytes, False)
        if isinstance(start, _NotSetMarker) and isinstance(end, _NotSetMarker):
            records = self._store.list_thread_messages(
                self._thread_id, last_n=MESSAGE_WINDOW, include_bytes=with_bytes
            )
        else:
            records = self._window(start, end, with_bytes)
        return [to_message(record) for record in records]

    _awaited_get_messages = threaded(get_messages)

    async def get_messages_async(
        self,
        start: Maybe[int | None] = NOT_SET_MARKER,
        end: Maybe[int | None] = NOT_SET_MARKER,
        include_image_bytes: Maybe[bool] = NOT_SET_MARKER,
    ) -> list[Message]:
        """Return messages as :meth:`get_messages` does; the bounds also by position."""
        return await self._awaited_get_messages(
            start=start, end=end, include_image_bytes=include_image_bytes
        )

    def _window(
        self, start: Maybe[int | None], end: Maybe[int | None], with_bytes: bool
    ) -> list[MessageRecord]:
        first = 0 if start is None or isinstance(start, _NotSetMarker) else start
        last = None if end == -1 or isinstance(end, _NotSetMarker) else end
        if first < 0 or (last is not None and last < 0):
            size = self._store.count_thread_messages(self._thread_id)
            first = max(0, first + size) if first < 0 else first
            last = max(0, last + size) if last is not None and last < 0 else last
        if isinstance(end, _NotSetMarker):
            last = first + MESSAGE_WINDOW
        return self._store.thread_window(self._thread_id, first, last, include_bytes=with_bytes)

    def _message(self, message_id: str, with_images: Sequence[str] = ()) -> MessageRecord:
        """Return a message of this thread; the images of some ids come with their bytes."""
        found = self._store.messages([check_id(message_id, "message_id")], with_images)
        if not found or found[0].thread_id != self._thread_id:
            raise NotFoundError(f"this thread has no message with the id {message_id!r}")
        return found[0]

    def _has_message(self, message_id: str) -> bool:
        message = cast("MessageRecord | None", self._store.get("message", message_id))
        return message is not None and message.thread_id == self._thread_id

    def _found(self, count: int, message_id: str) -> str:
        if not count:
            raise NotFoundError(f"this thread has no message with the id {message_id!r}")
        return message_id


def to_message(record: MessageRecord) -> Message:
    """Return a stored message as callers see it: one text part is just its text."""
    content = record.content
    if not isinstance(content, str):
        only = content[0] if len(content) == 1 else None
        content = only.text if isinstance(only, TextContent) else content or ""
    return Message(
        role=record.role or "",
        content=content,
        timestamp=record.timestamp,
        metadata=record.metadata,
        id=record.id,
    )


def _check_index(value: object, what: str) -> None:
    if value is None or isinstance(value, _NotSetMarker):
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise WrongTypeError(f"{what} must be an int or None, not {type(value).__name__}")
