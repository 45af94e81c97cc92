"""Memories of a thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, given
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
from oracleagentmemory.core.threadparts.part import ThreadPart
from oracleagentmemory.errors import NotFoundError
from oracleagentmemory.storage.writes import Prepared, prepared_value


class ThreadMemories(ThreadPart):
    """Adding, changing and deleting memories of exactly this thread."""

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

        Omitted scope ids are those of the memory to link to, without a link the thread's. The
        arguments and errors are those of ``IAgentMemory.add_memory``. A model is asked for links
        by ``add_memory`` alone, after the memory is stored.
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
        target = link.target(self._own_memory)
        if target is not None:
            memory_id = get_or_generate_id() if memory_id is NOT_SET_MARKER else memory_id
        prepared = self._store.prepare_add(
            [check_memory_content(content)],
            kind,
            thread_ids=given(thread_id, self._thread_id),
            user_ids=given(user_id, self._user_id if target is None else target.user_id),
            agent_ids=given(agent_id, self._agent_id if target is None else target.agent_id),
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
        if target is not None:
            added = link.linked(self._store, added, (given(memory_id, ""), kind), target)
        return self._with_thread(added)

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
        """Change a memory of this thread; omitted fields stay; return its id.

        The arguments and errors are those of ``IThread.update_memory``.

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
        stored = self._own_memory(memory_id)
        if stored is None:
            raise _no_memory(memory_id)
        if not changes:
            return prepared_value(memory_id)
        prepared = self._store.prepare_update(
            stored.record_type,
            memory_id,
            **changes,
            if_fingerprint=if_fingerprint,
            visible_only=True,
            thread_id=self._thread_id,
        )
        return prepared.map(lambda count: _found(count, memory_id))

    def prepare_delete_memory(
        self, memory_id: str, *, if_fingerprint: str | None = None
    ) -> Prepared[int]:
        """Delete a memory of this thread; return 0 or 1.

        Args:
            if_fingerprint: Delete it only while the stored memory has this fingerprint.

        Raises:
            ConflictError: If the stored memory has another fingerprint.
            TimeoutError: If background work on the thread did not end within 300 seconds; nothing
                is deleted.
        """
        stored = self._own_memory(memory_id)
        if stored is None:
            return prepared_value(0)
        prepared = self._store.prepare_delete(
            stored.record_type,
            memory_id,
            if_fingerprint=if_fingerprint,
            visible_only=True,
            thread_id=self._thread_id,
        )
        return self._work.deletion(prepared, WorkScope(thread_id=self._thread_id))

    @property
    def _link_settings(self) -> Mapping[str, Any]:
        return self._settings.extraction

    add_memory = linked_by_model(prepare_add_memory)
    update_memory = written(prepare_update_memory)
    delete_memory = deleted(prepare_delete_memory)
    delete_memory_async = deleted_async(prepare_delete_memory)

    def _own_memory(self, memory_id: str) -> MemoryRecord | None:
        stored = self._store.get_memory(check_id(memory_id, "memory_id"))
        return stored if stored is not None and stored.thread_id == self._thread_id else None


def _no_memory(memory_id: str) -> NotFoundError:
    return NotFoundError(f"this thread has no memory with the id {memory_id!r}")


def _found(count: int, memory_id: str) -> str:
    if not count:
        raise _no_memory(memory_id)
    return memory_id
