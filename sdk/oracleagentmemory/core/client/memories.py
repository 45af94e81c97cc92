"""Memories of every scope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, given
from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.message import get_or_generate_id
from oracleagentmemory.apis.records import (
    MemoryRecord,
    MemoryRecordType,
    MetadataValue,
    RecordStatus,
)
from oracleagentmemory.apis.relations import MemoryLinkType
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.core.autonomouslinking import linked_by_model
from oracleagentmemory.core.background import WorkScope
from oracleagentmemory.core.backgroundwork import deleted, deleted_async
from oracleagentmemory.core.client.part import ClientPart
from oracleagentmemory.core.extractors.settings import resolve_extraction
from oracleagentmemory.core.memoryinput import (
    LinkArguments,
    check_ids,
    check_memory_content,
    check_memory_type,
    check_new_content,
    only_given,
    refuse_unexpected,
    store_options,
)
from oracleagentmemory.core.prepared import written
from oracleagentmemory.errors import NotFoundError
from oracleagentmemory.storage.writes import Prepared, prepared_value


class ClientMemories(ClientPart):
    """Adding, changing, deleting and listing memories."""

    def prepare_add_memory(
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
    ) -> Prepared[str]:
        """Store a memory, with its link if one is asked for; return its id.

        Omitted scope ids are those of the memory to link to; without a link they leave the memory
        without that owner. The arguments and errors are those of ``IAgentMemory.add_memory``. A
        model is asked for links by ``add_memory`` alone, after the memory is stored.
        """
        kind = check_memory_type(memory_type)
        check_ids(memory_id=memory_id, thread_id=thread_id, user_id=user_id, agent_id=agent_id)
        link = LinkArguments(
            memory_id_to_link=memory_id_to_link,
            link_type=link_type,
            link_id=link_id,
            link_timestamp=link_timestamp,
            link_metadata=link_metadata,
        )
        target = link.target(self._store.get_memory)
        scope = only_given(thread_ids=thread_id, user_ids=user_id, agent_ids=agent_id)
        if target is not None:
            memory_id = get_or_generate_id() if memory_id is NOT_SET_MARKER else memory_id
            inherited = {"thread_ids": target.thread_id, "user_ids": target.user_id}
            scope = {**inherited, "agent_ids": target.agent_id, **scope}
        prepared = self._store.prepare_add(
            [check_memory_content(content)],
            kind,
            **scope,
            **only_given(
                record_ids=memory_id,
                metadata=metadata,
                ttl_days=ttl_days,
                ttl_anchor=ttl_anchor,
                statuses=status,
            ),
            **store_options(timestamp, store_kwargs),
        )
        added = prepared.map(lambda ids: ids[0])
        if target is None:
            return added
        return link.linked(self._store, added, (given(memory_id, ""), kind), target)

    def prepare_update_memory(
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
    ) -> Prepared[str]:
        """Change a memory; omitted fields stay, metadata is replaced whole; return its id.

        The arguments and errors are those of ``IAgentMemory.update_memory``.

        Args:
            if_fingerprint: Change it only while the stored memory has this fingerprint.

        Raises:
            ConflictError: If the stored memory has another fingerprint.
        """
        refuse_unexpected("update_memory", kwargs)
        changes = only_given(
            content=check_new_content(content),
            metadata=metadata,
            timestamp=timestamp,
            ttl_days=ttl_days,
            ttl_anchor=ttl_anchor,
            status=status,
        )
        stored = self._memory(memory_id)
        if not changes:
            return prepared_value(memory_id)
        prepared = self._store.prepare_update(
            stored.record_type,
            memory_id,
            **changes,
            if_fingerprint=if_fingerprint,
            visible_only=True,
        )
        return prepared.map(lambda count: found_one(count, memory_id))

    def prepare_delete_memory(
        self, memory_id: str, *, if_fingerprint: str | None = None
    ) -> Prepared[int]:
        """Delete a memory of any of the four types; return 0 or 1.

        Args:
            if_fingerprint: Delete it only while the stored memory has this fingerprint.

        Raises:
            ConflictError: If the stored memory has another fingerprint.
            TimeoutError: If background work on its thread did not end within 300 seconds; nothing
                is deleted.
        """
        stored = self._store.get_memory(check_id(memory_id, "memory_id"))
        if stored is None:
            return prepared_value(0)
        prepared = self._store.prepare_delete(
            stored.record_type,
            memory_id,
            if_fingerprint=if_fingerprint,
            visible_only=True,
        )
        if stored.thread_id is None:
            return prepared
        return self._work.deletion(prepared, WorkScope(thread_id=stored.thread_id))

    add_memory = linked_by_model(prepare_add_memory)
    update_memory = written(prepare_update_memory)
    _update_memory_async = threaded(update_memory)
    update_memory_async = _update_memory_async
    delete_memory = deleted(prepare_delete_memory)
    delete_memory_async = deleted_async(prepare_delete_memory)

    def list_memories(
        self,
        user_id: Maybe[str | None] = NOT_SET_MARKER,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[MemoryRecord]:
        """List the newest ``limit`` memories of the four types, oldest first.

        Args:
            user_id: Any user when omitted, ``None`` for memories without one; so are the others.
            metadata_filter: ``None`` means memories without metadata.
            limit: A safe maximum when omitted, ``None`` for no limit.
        """
        return self._store.list_memories(
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id,
            metadata_filter=metadata_filter,
            limit=limit,
        )

    @property
    def _link_settings(self) -> Mapping[str, Any]:
        return resolve_extraction({}, {}, self._settings_layer.extraction)

    def _memory(self, memory_id: str) -> MemoryRecord:
        stored = self._store.get_memory(check_id(memory_id, "memory_id"))
        if stored is None:
            raise NotFoundError(f"there is no memory with the id {memory_id!r}")
        return stored


def found_one(count: int, memory_id: str) -> str:
    """Return the id of an updated memory, unless it went between reading and writing."""
    if not count:
        raise NotFoundError(f"there is no memory with the id {memory_id!r}")
    return memory_id
