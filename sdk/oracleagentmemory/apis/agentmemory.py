"""The contract of a memory client."""

from __future__ import annotations

import abc
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory._threaded import TwinOwner, threaded
from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.apis.records import (
    AgentProfileRecord,
    ImageRecord,
    MemoryRecord,
    MemoryRecordType,
    MessageRecord,
    MetadataValue,
    RecordStatus,
    ThreadRecord,
    UserProfileRecord,
)
from oracleagentmemory.apis.relations import MemoryLinkType
from oracleagentmemory.apis.searchresult import SearchResult
from oracleagentmemory.apis.searchscope import SearchScope
from oracleagentmemory.apis.thread import IThread
from oracleagentmemory.apis.ttl import TimeToLiveAnchor


class IAgentMemory(TwinOwner, abc.ABC):
    """Memory of agents. Each method has an async twin, ``<method>_async``.

    In lists, an omitted scope argument means any and ``None`` means records without one;
    ``metadata_filter=None`` means records without metadata; results are the newest ``limit``
    records, oldest first; an omitted ``limit`` applies a safe maximum, ``None`` removes it.
    """

    # Threads

    @abc.abstractmethod
    def create_thread(
        self,
        /,
        *,
        thread_id: Maybe[str] = NOT_SET_MARKER,
        user_id: Maybe[str] = NOT_SET_MARKER,
        agent_id: Maybe[str] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        **kwargs: Any,
    ) -> IThread:
        """Create a thread; omitted ids are generated.

        Raises:
            ValueError: If an id is ``None``, empty or taken, the metadata is no JSON object, or
                extraction is on and there is no LLM.
        """

    @abc.abstractmethod
    def get_thread(self, thread_id: str) -> IThread:
        """Open a stored thread.

        Raises:
            KeyError: If there is none.
        """

    @abc.abstractmethod
    def update_thread(
        self, /, thread_id: str, metadata: Maybe[MetadataValue] = NOT_SET_MARKER, **kwargs: Any
    ) -> IThread:
        """Change a thread's metadata (replaced whole) and saved configuration.

        Raises:
            KeyError: If there is no such thread.
        """

    @abc.abstractmethod
    def delete_thread(self, thread_id: str, *, if_fingerprint: str | None = None) -> int:
        """Delete a thread with its messages, memories and retrieval data; return 0 or 1."""

    @abc.abstractmethod
    def list_threads(
        self,
        user_id: str | None,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[ThreadRecord]:
        """List the threads of a user."""

    # Users and agents

    @abc.abstractmethod
    def add_user(
        self, user_id: str, information: str, metadata: Maybe[MetadataValue] = NOT_SET_MARKER
    ) -> str:
        """Store a user's profile; return the user id."""

    @abc.abstractmethod
    def add_agent(
        self, agent_id: str, information: str, metadata: Maybe[MetadataValue] = NOT_SET_MARKER
    ) -> str:
        """Store an agent's profile; return the agent id."""

    @abc.abstractmethod
    def list_users(
        self,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[UserProfileRecord]:
        """List user profiles."""

    @abc.abstractmethod
    def list_agents(
        self,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[AgentProfileRecord]:
        """List agent profiles."""

    @abc.abstractmethod
    def delete_user(self, user_id: str, cascade: bool = True) -> int:
        """Delete a user's profile; return how many profiles there were, 0 or 1.

        Args:
            cascade: Also delete the user's threads and every record of the user, even when there
                is no profile.

        Raises:
            TimeoutError: If background work on an owned thread did not end within 300 seconds;
                nothing is deleted.
        """

    @abc.abstractmethod
    def delete_agent(self, agent_id: str, cascade: bool = True) -> int:
        """Delete an agent's profile; the same as :meth:`delete_user` for an agent."""

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
        """Store a memory; return its id.

        Args:
            memory_type: ``"memory"`` when omitted, else also ``"guideline"``, ``"fact"`` or
                ``"preference"``.
            timestamp: When the memory arose, kept as given; omitted or ``None`` shows the time of
                storing.
            ttl_days: Days to live; omitted means the store's default, ``None`` its maximum or
                without end.
            ttl_anchor: Where ``ttl_days`` counts from; ``TIMESTAMP`` needs an ISO-8601
                ``timestamp``.
            autonomous_linking: Whether an LLM looks for links to stored memories.
            memory_id_to_link: Link the new memory to this one; goes with ``link_type``.
            store_kwargs: Options of the store's ``add``.

        Raises:
            ValueError: If the type is unknown, a text, id or metadata cannot be stored, or link
                arguments come without ``memory_id_to_link`` and ``link_type``.
            KeyError: If the thread or the memory to link is unknown.
        """

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
        """Change a memory; omitted fields stay, metadata is replaced whole; return its id.

        Args:
            if_fingerprint: Change it only while the stored memory has this fingerprint.

        Raises:
            ConflictError: If the stored memory has another fingerprint.
            KeyError: If there is no such memory, or it has expired.
            TypeError: On an unexpected keyword.
            ValueError: If ``content`` is ``None``.
        """

    @abc.abstractmethod
    def delete_memory(self, memory_id: str, *, if_fingerprint: str | None = None) -> int:
        """Delete a memory of any of the four types; return 0 or 1."""

    @abc.abstractmethod
    def list_memories(
        self,
        user_id: Maybe[str | None] = NOT_SET_MARKER,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[MemoryRecord]:
        """List memories of the four types."""

    # Messages

    @abc.abstractmethod
    def list_messages(
        self,
        user_id: Maybe[str | None] = NOT_SET_MARKER,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
        include_image_bytes: Maybe[bool] = NOT_SET_MARKER,
    ) -> list[MessageRecord]:
        """List messages."""

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

        Args:
            query: Text that is not blank.
            user_id: Whose records; required, unless ``scope`` says it. ``None`` means records
                without a user.
            agent_id: Given, it is matched exactly unless ``exact_agent_match=False``.
            thread_id: Given, it is matched only with ``exact_thread_match=True``.
            max_results: 1 to 1000, 10 when omitted.
            token_budget: Keep whole results while their estimated tokens fit; 0 or less: no bound.
            soft_token_budget: Also keep the result that reaches this many tokens.
            record_types: All types when omitted.
            metadata_filter: ``None`` means no filter here.
            num_hops: 0 to 5 relations to follow from each memory found.
            max_linked_results: Records attached to one result over all hops.
            include_invalid_results: Whether records that no longer hold are returned; yes when
                omitted.
            scope: Instead of the ids and the ``exact_*_match`` arguments.

        Raises:
            ValueError: If an argument is out of bounds, the query is blank, or the user is
                neither given nor matched exactly.
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
        """Store an image; return its id."""

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
        """Change an image; return its id."""

    @abc.abstractmethod
    def delete_image(self, image_id: str) -> int:
        """Delete an image that is not part of a message; return 0 or 1."""

    @abc.abstractmethod
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
        """List images of at least one user, agent or thread."""

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
        """Relate two memories; return the relation's id."""

    @abc.abstractmethod
    def update_record_link(
        self,
        relation_id: str,
        relation_type: Maybe[str] = NOT_SET_MARKER,
        opposite_relation_type: Maybe[str] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
    ) -> int:
        """Change a relation; return 0 or 1."""

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
        """Delete a relation by its id or by its five parts; return 0 or 1."""

    # Background work

    @abc.abstractmethod
    def wait_for_memory_extraction(self, timeout: float | None = 300.0) -> None:
        """Wait for the background extraction that this client has accepted so far.

        Args:
            timeout: Seconds; ``None`` waits without limit.

        Raises:
            TimeoutError: If the work has not ended by then.
        """

    create_thread_async = threaded(create_thread)
    get_thread_async = threaded(get_thread)
    update_thread_async = threaded(update_thread)
    delete_thread_async = threaded(delete_thread)
    list_threads_async = threaded(list_threads)
    add_user_async = threaded(add_user)
    add_agent_async = threaded(add_agent)
    list_users_async = threaded(list_users)
    list_agents_async = threaded(list_agents)
    delete_user_async = threaded(delete_user)
    delete_agent_async = threaded(delete_agent)
    add_memory_async = threaded(add_memory)
    delete_memory_async = threaded(delete_memory)
    list_memories_async = threaded(list_memories)
    list_messages_async = threaded(list_messages)
    search_async = threaded(search)
    add_image_async = threaded(add_image)
    update_image_async = threaded(update_image)
    delete_image_async = threaded(delete_image)
    list_images_async = threaded(list_images)
    link_records_async = threaded(link_records)
    update_record_link_async = threaded(update_record_link)
    delete_record_link_async = threaded(delete_record_link)
    wait_for_memory_extraction_async = threaded(wait_for_memory_extraction)

    _awaited_update_memory = threaded(update_memory)

    async def update_memory_async(
        self,
        /,
        memory_id: str,
        *,
        content: Maybe[str] = NOT_SET_MARKER,
        metadata: Maybe[MetadataValue] = NOT_SET_MARKER,
        timestamp: Maybe[str | None] = NOT_SET_MARKER,
        ttl_days: Maybe[int | None] = NOT_SET_MARKER,
        ttl_anchor: Maybe[TimeToLiveAnchor] = NOT_SET_MARKER,
        status: Maybe[RecordStatus] = NOT_SET_MARKER,
        if_fingerprint: str | None = None,
        **kwargs: Any,
    ) -> str:
        """Change a memory as :meth:`update_memory` does, its fields by keyword."""
        return await self._awaited_update_memory(
            memory_id,
            content,
            metadata,
            timestamp,
            ttl_days,
            ttl_anchor,
            status,
            if_fingerprint=if_fingerprint,
            **kwargs,
        )
