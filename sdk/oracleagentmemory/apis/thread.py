"""The contract of a thread handle."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory._threaded import TwinOwner, threaded
from oracleagentmemory.apis.contextcard import ContextCard
from oracleagentmemory.apis.message import ImageMimeType, Message
from oracleagentmemory.apis.records import (
    ImageRecord,
    MemoryRecordType,
    MetadataValue,
    RecordStatus,
    ThreadRecordType,
)
from oracleagentmemory.apis.relations import MemoryLinkType
from oracleagentmemory.apis.searchresult import SearchResult
from oracleagentmemory.apis.searchscope import SearchScope
from oracleagentmemory.apis.summary import Summary
from oracleagentmemory.apis.ttl import TimeToLiveAnchor


class ThreadMessageTypedDictT(TypedDict):
    """A message as a mapping."""

    role: str
    content: str | list[Mapping[str, Any]] | None
    id: NotRequired[str | None]
    timestamp: NotRequired[str | None]
    metadata: NotRequired[MetadataValue]


class NormalizedMessageT(TypedDict):
    """A message as a mapping, after its fields were checked."""

    role: str
    content: str | list[Mapping[str, Any]] | None
    id: NotRequired[str | None]
    timestamp: NotRequired[str | None]
    metadata: NotRequired[MetadataValue]


MessageInput: TypeAlias = Message | ThreadMessageTypedDictT | Mapping[str, Any]


class IThread(TwinOwner, abc.ABC):
    """A thread of messages with its memories. Each method has an async twin, ``<method>_async``.

    Update and delete methods act only on records of exactly this thread: for others, updates
    raise ``KeyError`` and deletes return 0.
    """

    @property
    @abc.abstractmethod
    def thread_id(self) -> str:
        """Id of the thread."""

    @property
    @abc.abstractmethod
    def user_id(self) -> str:
        """Id of the user whose thread it is."""

    @property
    @abc.abstractmethod
    def agent_id(self) -> str:
        """Id of the agent whose thread it is."""

    @property
    @abc.abstractmethod
    def metadata(self) -> dict[str, Any] | None:
        """Metadata of the thread."""

    # Messages

    @abc.abstractmethod
    def add_messages(
        self,
        /,
        messages: Sequence[MessageInput],
        metadata: Maybe[MetadataValue | list[MetadataValue]] = NOT_SET_MARKER,
        ttl_days: Maybe[int | list[int | None] | None] = NOT_SET_MARKER,
        ttl_anchor: Maybe[TimeToLiveAnchor | list[TimeToLiveAnchor]] = NOT_SET_MARKER,
        **store_kwargs: Any,
    ) -> list[str]:
        """Store messages in order; return their ids.

        Args:
            messages: Message objects, or mappings with ``role``, ``content`` (a text or parts)
                and, if wanted, ``id``, ``timestamp`` and ``metadata``. Either all or none of them
                have an id.
            metadata: Replaces the metadata of every message; a list has one for each.
            ttl_days: Days to live, for all or one for each.
            ttl_anchor: Where ``ttl_days`` counts from, for all or one for each.

        Raises:
            ValueError, TypeError, KeyError: If a message lacks a field or a field cannot be
                stored; nothing is stored then.
        """

    @abc.abstractmethod
    def get_message(
        self, message_id: str, *, included_image_ids: Maybe[list[str]] = NOT_SET_MARKER
    ) -> Message:
        """Return one message.

        Args:
            included_image_ids: Image parts whose bytes are loaded; unknown ids are ignored.

        Raises:
            KeyError: If this thread has no such message, or it has expired.
        """

    @abc.abstractmethod
    def get_messages(
        self,
        *,
        start: Maybe[int | None] = NOT_SET_MARKER,
        end: Maybe[int | None] = NOT_SET_MARKER,
        include_image_bytes: Maybe[bool] = NOT_SET_MARKER,
    ) -> list[Message]:
        """Return messages in order: the newest 100 when neither bound is given.

        Args:
            start: Index of the first, from 0; a negative one counts from the end. Alone, it asks
                for 100 messages.
            end: Index after the last; ``None`` or -1 means to the end, other negative ones count
                from the end.
        """

    @abc.abstractmethod
    def update_message(
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
    ) -> str:
        """Change a message; role and timestamp stay, metadata is replaced whole; return its id.

        Args:
            if_fingerprint: Change it only while the stored message has this fingerprint.

        Raises:
            ConflictError: If the stored message has another fingerprint.
            KeyError: If this thread has no such message, or it has expired.
            TypeError: On an unexpected keyword.
            ValueError: If ``content`` is ``None`` or has no part.
        """

    @abc.abstractmethod
    def delete_message(
        self,
        message_id: str,
        *,
        if_fingerprint: str | None = None,
        derived: Literal["keep", "delete"] = "keep",
    ) -> int:
        """Delete a message; return 0 or 1.

        Args:
            if_fingerprint: Delete it only while the stored message has this fingerprint.
            derived: ``"keep"`` the memories that were extracted from it, as documented, or
                ``"delete"`` those that have no other source left.

        Raises:
            ConflictError: If the stored message has another fingerprint.
            TimeoutError: If background work on the thread did not end in time; nothing is deleted.
        """

    # Memories

    @abc.abstractmethod
    def add_memory(
        self,
        /,
        content: str,
        *,
        memory_type: Maybe[MemoryRecordType] = NOT_SET_MARKER,
        user_id: Maybe[str] = NOT_SET_MARKER,
        agent_id: Maybe[str] = NOT_SET_MARKER,
        thread_id: Maybe[str] = NOT_SET_MARKER,
        memory_id: Maybe[str] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        ttl_days: Maybe[int | None] = NOT_SET_MARKER,
        ttl_anchor: Maybe[TimeToLiveAnchor] = NOT_SET_MARKER,
        status: Maybe[RecordStatus] = NOT_SET_MARKER,
        autonomous_linking: Maybe[bool] = NOT_SET_MARKER,
        memory_id_to_link: Maybe[str] = NOT_SET_MARKER,
        link_type: Maybe[MemoryLinkType] = NOT_SET_MARKER,
        link_id: Maybe[str] = NOT_SET_MARKER,
        link_timestamp: Maybe[str | None] = NOT_SET_MARKER,
        link_metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        **store_kwargs: Any,
    ) -> str:
        """Store a memory of this thread; omitted scope ids are the thread's; return its id."""

    @abc.abstractmethod
    def update_memory(
        self,
        /,
        memory_id: str,
        content: Maybe[str] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        ttl_days: Maybe[int | None] = NOT_SET_MARKER,
        ttl_anchor: Maybe[TimeToLiveAnchor] = NOT_SET_MARKER,
        status: Maybe[RecordStatus] = NOT_SET_MARKER,
        *,
        if_fingerprint: str | None = None,
        **kwargs: Any,
    ) -> str:
        """Change a memory of this thread; return its id.

        Args:
            if_fingerprint: Change it only while the stored memory has this fingerprint.

        Raises:
            ConflictError: If the stored memory has another fingerprint.
            KeyError: If this thread has no such memory, or it has expired.
            TypeError: On an unexpected keyword.
            ValueError: If ``content`` is ``None``.
        """

    @abc.abstractmethod
    def delete_memory(self, memory_id: str, *, if_fingerprint: str | None = None) -> int:
        """Delete a memory of this thread; return 0 or 1."""

    # Search

    @abc.abstractmethod
    def search(
        self,
        query: str,
        *,
        user_id: Maybe[str | None] = NOT_SET_MARKER,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        exact_user_match: Maybe[bool] = NOT_SET_MARKER,
        exact_agent_match: Maybe[bool] = NOT_SET_MARKER,
        exact_thread_match: Maybe[bool] = NOT_SET_MARKER,
        max_results: Maybe[int] = NOT_SET_MARKER,
        token_budget: Maybe[int] = NOT_SET_MARKER,
        soft_token_budget: Maybe[int] = NOT_SET_MARKER,
        record_types: Maybe[list[str]] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        num_hops: Maybe[int] = NOT_SET_MARKER,
        max_linked_results: Maybe[int] = NOT_SET_MARKER,
        include_invalid_results: Maybe[bool] = NOT_SET_MARKER,
        scope: Maybe[SearchScope] = NOT_SET_MARKER,
    ) -> list[SearchResult]:
        """Find records by meaning, most relevant first.

        Omitted scope arguments are the thread's: its user and agent exactly, its thread not, so
        that other threads of the same pair appear. The rest is as in ``IAgentMemory.search``.
        """

    # Images

    @abc.abstractmethod
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
        """Store an image of this thread; return its id."""

    @abc.abstractmethod
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
        """Change an image of this thread; return its id."""

    @abc.abstractmethod
    def delete_image(self, image_id: str) -> int:
        """Delete an image of this thread that is not part of a message; return 0 or 1."""

    @abc.abstractmethod
    def list_images(
        self,
        image_id: Maybe[str] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        include_bytes: Maybe[bool] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[ImageRecord]:
        """List images of this thread."""

    # Relations

    @abc.abstractmethod
    def link_records(
        self,
        source_record_id: str,
        source_record_type: str,
        target_record_id: str,
        target_record_type: str,
        relation_type: str,
        opposite_relation_type: Maybe[str] = NOT_SET_MARKER,
        relation_id: Maybe[str] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
    ) -> str:
        """Relate two memories of this thread; return the relation's id."""

    @abc.abstractmethod
    def update_record_link(
        self,
        relation_id: str,
        relation_type: Maybe[str] = NOT_SET_MARKER,
        opposite_relation_type: Maybe[str] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
    ) -> int:
        """Change a relation of this thread; return 0 or 1."""

    @abc.abstractmethod
    def delete_record_link(
        self,
        source_record_id: Maybe[str] = NOT_SET_MARKER,
        source_record_type: Maybe[str] = NOT_SET_MARKER,
        target_record_id: Maybe[str] = NOT_SET_MARKER,
        target_record_type: Maybe[str] = NOT_SET_MARKER,
        relation_type: Maybe[str] = NOT_SET_MARKER,
        relation_id: Maybe[str] = NOT_SET_MARKER,
    ) -> int:
        """Delete a relation of this thread by its id or by its five parts; return 0 or 1."""

    # Summary and context card

    @abc.abstractmethod
    def get_summary(
        self,
        /,
        except_last: Maybe[int] = NOT_SET_MARKER,
        token_budget: Maybe[int] = NOT_SET_MARKER,
        **kwargs: Any,
    ) -> Summary:
        """Return a summary of the thread.

        Args:
            except_last: Newest messages to leave out.
            token_budget: Estimated tokens after which the text is cut; 0 or less: no cut.
        """

    @abc.abstractmethod
    def get_context_card(
        self,
        /,
        fallback_message_count: Maybe[int] = NOT_SET_MARKER,
        max_relevant_results: Maybe[int] = NOT_SET_MARKER,
        max_recent_messages: Maybe[int] = NOT_SET_MARKER,
        except_last_messages: Maybe[int] = NOT_SET_MARKER,
        min_relevant_results_by_type: Maybe[Mapping[ThreadRecordType, int] | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        include_invalid_results: Maybe[bool] = NOT_SET_MARKER,
        token_budget: Maybe[int | None] = NOT_SET_MARKER,
        soft_token_budget: Maybe[int | None] = NOT_SET_MARKER,
        **kwargs: Any,
    ) -> ContextCard:
        """Return what a prompt should know about the thread."""

    # Background work

    @abc.abstractmethod
    def wait_for_memory_extraction(self, timeout: float | None = 300.0) -> None:
        """Wait for the background extraction accepted so far for this thread.

        Raises:
            ValueError: If ``timeout`` is not above 0.
            TimeoutError: If the work has not ended by then.
        """

    add_messages_async = threaded(add_messages)
    get_message_async = threaded(get_message)
    get_messages_async = threaded(get_messages)
    update_message_async = threaded(update_message)
    delete_message_async = threaded(delete_message)
    add_memory_async = threaded(add_memory)
    update_memory_async = threaded(update_memory)
    delete_memory_async = threaded(delete_memory)
    search_async = threaded(search)
    add_image_async = threaded(add_image)
    update_image_async = threaded(update_image)
    delete_image_async = threaded(delete_image)
    list_images_async = threaded(list_images)
    link_records_async = threaded(link_records)
    update_record_link_async = threaded(update_record_link)
    delete_record_link_async = threaded(delete_record_link)
    get_summary_async = threaded(get_summary)
    get_context_card_async = threaded(get_context_card)
    wait_for_memory_extraction_async = threaded(wait_for_memory_extraction)
