"""The interface of stores that the client works with."""

from __future__ import annotations

import abc
import builtins
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker
from oracleagentmemory.apis.embedders import IEmbedder
from oracleagentmemory.apis.memorystore import IMemoryStore, MetadataFilter, PendingRecordBatch
from oracleagentmemory.apis.records import (
    MemoryRecord,
    MessageRecord,
    MetadataValue,
    Record,
    ThreadSummaryRecord,
)
from oracleagentmemory.apis.sources import MemorySource
from oracleagentmemory.storage.store.summaries import SummaryDraft
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.storage.store.sources import MemoryText

T = TypeVar("T")


class OracleMemoryStore(IMemoryStore):
    """A store whose changes can be prepared first and written later, several at once.

    Each `prepare_x` checks and computes all that `x` needs, without any lock; `write` applies it.
    `x` itself is `write(prepare_x(...))`.

    Attributes:
        embedder: Makes vectors of texts, where there is one.
    """

    embedder: IEmbedder | None

    @abc.abstractmethod
    def write(self, prepared: Prepared[T]) -> T:
        """Apply a prepared change in a write transaction and return its result."""

    @abc.abstractmethod
    def write_all(self, prepared: Sequence[Prepared[Any]]) -> builtins.list[Any]:
        """Apply several prepared changes in one transaction, in order."""

    @property
    @abc.abstractmethod
    def in_transaction(self) -> bool:
        """Whether a transaction, ours or a caller's, is open on this thread."""

    @property
    @abc.abstractmethod
    def in_callers_transaction(self) -> bool:
        """Whether slow work on this thread would hold an open write transaction."""

    @abc.abstractmethod
    def read_together(self, reads: Sequence[Callable[[], T]], at_most: int) -> builtins.list[T]:
        """Run reads, so many at the same time; inside a transaction one after another."""

    @abc.abstractmethod
    def refuse_in_transaction(self, what: str) -> None:
        """Raise StateError when a slow step would hold an open transaction of this thread."""

    @abc.abstractmethod
    def search(
        self,
        query: str | None,
        k: int,
        query_vector: builtins.list[float] | None = None,
        thread_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        exact_user_match: bool = False,
        exact_agent_match: bool = False,
        exact_thread_match: bool = False,
        record_types: set[str] | None = None,
        metadata_filter: MetadataFilter = None,
        num_hops: int = 0,
        max_linked_results: int = 100,
        include_invalid_results: bool = True,
    ) -> builtins.list[tuple[Record, float]]:
        """Return at most `k` records with their distance, nearest first; by position too."""

    @abc.abstractmethod
    def prepare_add(
        self, contents: Any = NOT_SET_MARKER, record_type: Any = NOT_SET_MARKER, **fields: Any
    ) -> Prepared[builtins.list[str]]:
        """Prepare `add`."""

    @abc.abstractmethod
    def prepare_add_batches(
        self, batches: Sequence[PendingRecordBatch], **store_kwargs: Any
    ) -> Prepared[builtins.list[str]]:
        """Prepare `add_batches`."""

    @abc.abstractmethod
    def prepare_update(
        self,
        record_type: str,
        record_id: str,
        *,
        content: Any = NOT_SET_MARKER,
        index_text: Any = NOT_SET_MARKER,
        embedding: Any = NOT_SET_MARKER,
        metadata: Any = NOT_SET_MARKER,
        timestamp: Any = NOT_SET_MARKER,
        ttl_days: Any = NOT_SET_MARKER,
        ttl_anchor: Any = NOT_SET_MARKER,
        status: Any = NOT_SET_MARKER,
        if_fingerprint: str | None = None,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        visible_only: bool = False,
    ) -> Prepared[int]:
        """Prepare `update`, if wanted only for a record of one thread or an unexpired one."""

    @abc.abstractmethod
    def prepare_delete(
        self,
        record_type: str,
        record_id: str,
        cascade: bool = False,
        *,
        if_fingerprint: str | None = None,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        visible_only: bool = False,
    ) -> Prepared[int]:
        """Prepare `delete`, if wanted only for a record of one thread or an unexpired one."""

    @abc.abstractmethod
    def prepare_add_relations(
        self,
        source_record_ids: Any,
        source_record_types: Any,
        target_record_ids: Any,
        target_record_types: Any,
        relation_types: Any,
        opposite_relation_types: Any = NOT_SET_MARKER,
        relation_ids: Any = NOT_SET_MARKER,
        timestamps: Any = NOT_SET_MARKER,
        metadata: Any = NOT_SET_MARKER,
    ) -> Prepared[builtins.list[str]]:
        """Prepare `add_relations`."""

    @abc.abstractmethod
    def prepare_update_relations(
        self,
        relation_ids: Any,
        relation_types: Any = NOT_SET_MARKER,
        opposite_relation_types: Any = NOT_SET_MARKER,
        timestamps: Any = NOT_SET_MARKER,
        metadata: Any = NOT_SET_MARKER,
    ) -> Prepared[builtins.list[str]]:
        """Prepare `update_relations`."""

    @abc.abstractmethod
    def prepare_delete_relations(self, relation_ids: Any) -> Prepared[int]:
        """Prepare `delete_relations`."""

    @abc.abstractmethod
    def prepare_delete_thread(
        self, thread_id: str, *, if_fingerprint: str | None = None
    ) -> Prepared[int]:
        """Prepare `delete_thread`."""

    @abc.abstractmethod
    def prepare_add_user(
        self,
        user_id: Any = NOT_SET_MARKER,
        information: Any = NOT_SET_MARKER,
        metadata: Any = NOT_SET_MARKER,
    ) -> Prepared[str]:
        """Prepare `add_user`."""

    @abc.abstractmethod
    def prepare_add_agent(
        self, agent_id: Any, information: Any, metadata: Any = NOT_SET_MARKER
    ) -> Prepared[str]:
        """Prepare `add_agent`."""

    @abc.abstractmethod
    def prepare_create_thread(
        self,
        thread_id: str,
        *,
        user_id: str | None,
        agent_id: str | None,
        metadata: MetadataValue = None,
        runtime_config: Mapping[str, Any] | None = None,
        runtime_state: Mapping[str, Any] | None = None,
    ) -> Prepared[str]:
        """Prepare a new thread."""

    @abc.abstractmethod
    def prepare_update_thread(
        self,
        thread_id: str,
        *,
        metadata: Any = NOT_SET_MARKER,
        runtime_config: Any = NOT_SET_MARKER,
        runtime_state: Any = NOT_SET_MARKER,
        if_fingerprint: str | None = None,
    ) -> Prepared[int]:
        """Prepare a change of a thread."""

    @abc.abstractmethod
    def prepare_save_summary(self, thread_id: str, draft: SummaryDraft) -> Prepared[bool]:
        """Prepare the saving of a thread's summary; gives whether it was saved."""

    @abc.abstractmethod
    def summary_holds(self, summary: ThreadSummaryRecord) -> bool:
        """Say whether no message that a summary covers has expired since it was saved."""

    @abc.abstractmethod
    def get_memory(self, memory_id: str) -> MemoryRecord | None:
        """Return the memory of any of the four types, None when there is none."""

    @abc.abstractmethod
    def list_memories(
        self,
        limit: Maybe[int | None] = NOT_SET_MARKER,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        user_id: Maybe[str | None] = NOT_SET_MARKER,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        metadata_filter: MetadataFilter | _NotSetMarker = NOT_SET_MARKER,
        record_id: Maybe[str] = NOT_SET_MARKER,
    ) -> builtins.list[MemoryRecord]:
        """Return the newest memories of all four types, oldest first."""

    @abc.abstractmethod
    def thread_window(
        self, thread_id: str, start: int, end: int | None, *, include_bytes: bool = False
    ) -> builtins.list[MessageRecord]:
        """Return the visible messages of a thread by their positions."""

    @abc.abstractmethod
    def messages(
        self,
        message_ids: Sequence[str],
        include_image_bytes: bool | Collection[str] = False,
    ) -> builtins.list[MessageRecord]:
        """Return messages in the order of their ids, without those that are not there or expired.

        Args:
            message_ids: Any number of ids; one that comes twice is returned twice.
            include_image_bytes: Whether their images come with their bytes; or the ids of those
                images that do, unknown ones counting for nothing.
        """

    @abc.abstractmethod
    def count_thread_messages(self, thread_id: str) -> int:
        """Return how many visible messages a thread has."""

    @abc.abstractmethod
    def memory_sources(self, memory_ids: Sequence[str]) -> dict[str, builtins.list[MemorySource]]:
        """Return the messages that memories were extracted from, by memory id."""

    @abc.abstractmethod
    def derived_memories(self, message_ids: Sequence[str]) -> dict[str, builtins.list[str]]:
        """Return the memories that were extracted from messages, by message id."""

    @abc.abstractmethod
    def prepare_add_sources(self, sources: Sequence[MemorySource]) -> Prepared[int]:
        """Prepare to note where memories came from."""

    @abc.abstractmethod
    def prepare_delete_derived(self, message_id: str) -> Prepared[builtins.list[str]]:
        """Prepare to delete the memories that have no source but this message."""

    @abc.abstractmethod
    def thread_texts(self, thread_id: str, *, after: int = 0) -> builtins.list[MemoryText]:
        """Return the valid memories of a thread, oldest first."""

    @abc.abstractmethod
    def first_expiry(self, message_ids: Sequence[str]) -> datetime | None:
        """Return when the first of some messages expires."""

    @abc.abstractmethod
    def prepare_lock_messages(
        self, thread_id: str, message_ids: Sequence[str]
    ) -> Prepared[set[str]]:
        """Prepare to lock messages of a thread; gives those that are still there."""

    @abc.abstractmethod
    def prepare_extend_life(
        self, memory_ids: Sequence[str], until: datetime | None
    ) -> Prepared[int]:
        """Prepare to let memories live longer, ``None`` for ever; gives how many had to."""

    @abc.abstractmethod
    def fingerprint(self, record_type: str, record_id: str) -> str | None:
        """Return what `if_fingerprint=` takes for a record, None when there is none."""

    @abc.abstractmethod
    def purge_expired(self) -> int:
        """Delete every expired record; return how many."""

    @abc.abstractmethod
    def prepare_purge(self) -> Prepared[int]:
        """Prepare one step of `purge_expired`; it gives 0 when nothing was left."""

    @abc.abstractmethod
    def count_expired(self) -> int:
        """Return how many records `purge_expired` would delete."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close what the store has opened."""
