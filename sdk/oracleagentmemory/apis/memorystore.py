"""The contract of a memory store and the batch of records that it takes."""

from __future__ import annotations

import abc
import builtins
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory._threaded import TwinOwner, threaded
from oracleagentmemory._warn import warn_caller
from oracleagentmemory.apis.message import MessageContent
from oracleagentmemory.apis.records import MessageRecord, MetadataValue, Record, RecordStatus
from oracleagentmemory.apis.relations import RecordRelation, RelationType
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.errors import InvalidInputError, WrongTypeError

MetadataFilter: TypeAlias = dict[str, Any] | None
RecordContentInput: TypeAlias = str | Mapping[str, object] | Sequence[MessageContent] | bytes | None
PerBatchRecordContentsInput: TypeAlias = Sequence[RecordContentInput]
PerRecordIndexTextInput: TypeAlias = str | list[str]
PerBatchIndexTextsInput: TypeAlias = list[str | list[str] | None]
VectorInput: TypeAlias = list[float] | NDArray[np.floating[Any]]
PerRecordEmbeddingsInput: TypeAlias = VectorInput | list[VectorInput]
PerBatchEmbeddingsInput: TypeAlias = list[PerRecordEmbeddingsInput]


@dataclass
class PendingRecordBatch:
    """Records of one type that are ready to be stored; scalars apply to every record.

    Attributes:
        contents: What is returned, one entry a record.
        index_texts: What is searched instead: ``None`` means the content, a list its chunks.
        embeddings: Vectors that bypass the embedder, shape ``(D,)`` or ``(chunks, D)`` a record.
        texts: Deprecated name of ``contents``.

    Raises:
        WrongTypeError: If ``record_type`` or both ``contents`` and ``texts`` are omitted.
        InvalidInputError: If ``contents`` and ``texts`` are both given.
    """

    contents: PerBatchRecordContentsInput | _NotSetMarker = NOT_SET_MARKER
    record_type: str | _NotSetMarker = NOT_SET_MARKER
    record_ids: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER
    index_texts: PerBatchIndexTextsInput | _NotSetMarker = NOT_SET_MARKER
    embeddings: PerBatchEmbeddingsInput | _NotSetMarker = NOT_SET_MARKER
    thread_ids: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER
    user_ids: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER
    agent_ids: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER
    roles: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER
    timestamps: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER
    metadata: MetadataValue | list[MetadataValue] | _NotSetMarker = NOT_SET_MARKER
    ttl_days: int | list[int | None] | _NotSetMarker | None = NOT_SET_MARKER
    ttl_anchor: TimeToLiveAnchor | list[TimeToLiveAnchor] | _NotSetMarker = NOT_SET_MARKER
    statuses: RecordStatus | list[RecordStatus] | _NotSetMarker = NOT_SET_MARKER
    _expires_at: list[datetime.datetime | None] | _NotSetMarker = NOT_SET_MARKER
    texts: PerBatchRecordContentsInput | _NotSetMarker = NOT_SET_MARKER
    _initialized: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.record_type, _NotSetMarker):
            raise WrongTypeError("PendingRecordBatch needs record_type")
        if not isinstance(self.texts, _NotSetMarker):
            texts, self.texts = self.texts, NOT_SET_MARKER
            _warn_of_texts()
            if not isinstance(self.contents, _NotSetMarker):
                raise InvalidInputError("give contents or the deprecated texts, not both")
            self.contents = texts
        if isinstance(self.contents, _NotSetMarker):
            raise WrongTypeError("PendingRecordBatch needs contents")
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        late = name == "texts" and getattr(self, "_initialized", False)
        if late and not isinstance(value, _NotSetMarker):
            _warn_of_texts()
            name = "contents"
        super().__setattr__(name, value)


def _warn_of_texts() -> None:
    warn_caller(
        "PendingRecordBatch(texts=...) is deprecated and will be removed in 27.1; use contents=...",
        DeprecationWarning,
    )


class IMemoryStore(TwinOwner, abc.ABC):
    """Contract of a memory store. Each method has an async twin, ``<method>_async``."""

    @abc.abstractmethod
    def add(
        self,
        /,
        contents: PerBatchRecordContentsInput | _NotSetMarker = NOT_SET_MARKER,
        record_type: str | _NotSetMarker = NOT_SET_MARKER,
        index_texts: PerBatchIndexTextsInput | _NotSetMarker = NOT_SET_MARKER,
        embeddings: PerBatchEmbeddingsInput | _NotSetMarker = NOT_SET_MARKER,
        record_ids: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        thread_ids: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        user_ids: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        agent_ids: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        roles: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        timestamps: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        metadata: MetadataValue | builtins.list[MetadataValue] | _NotSetMarker = NOT_SET_MARKER,
        ttl_days: int | builtins.list[int | None] | _NotSetMarker | None = NOT_SET_MARKER,
        ttl_anchor: TimeToLiveAnchor
        | builtins.list[TimeToLiveAnchor]
        | _NotSetMarker = NOT_SET_MARKER,
        statuses: RecordStatus | builtins.list[RecordStatus] | _NotSetMarker = NOT_SET_MARKER,
        **store_kwargs: Any,
    ) -> builtins.list[str]:
        """Store records of one type; return their ids in order."""

    @abc.abstractmethod
    def add_batches(
        self, /, batches: builtins.list[PendingRecordBatch], **store_kwargs: Any
    ) -> builtins.list[str]:
        """Store prepared batches in one transaction; return all ids in order."""

    @abc.abstractmethod
    def get(
        self,
        record_type: str,
        record_id: str,
        include_bytes: bool | _NotSetMarker = NOT_SET_MARKER,
    ) -> Record | None:
        """Return a record by type and id, or ``None``."""

    @abc.abstractmethod
    def list(
        self,
        record_type: str,
        *,
        limit: int | _NotSetMarker | None = NOT_SET_MARKER,
        thread_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        user_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        agent_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        metadata_filter: MetadataFilter | _NotSetMarker = NOT_SET_MARKER,
        include_bytes: bool | _NotSetMarker = NOT_SET_MARKER,
        record_id: str | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[Record]:
        """Return the newest ``limit`` records of a type, oldest first."""

    @abc.abstractmethod
    def list_thread_messages(
        self,
        thread_id: str,
        *,
        last_n: int | None = None,
        range_start_seq_no: int | None = None,
        range_end_seq_no: int | None = None,
        include_bytes: bool | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[MessageRecord]:
        """Return messages of a thread in order, from start to before end, the last n of them."""

    @abc.abstractmethod
    def search(
        self,
        query: str | None,
        k: int,
        *,
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
        """Return at most ``k`` records with their distance, nearest first."""

    @abc.abstractmethod
    def update(
        self,
        record_type: str,
        record_id: str,
        *,
        content: RecordContentInput | _NotSetMarker = NOT_SET_MARKER,
        index_text: PerRecordIndexTextInput | _NotSetMarker | None = NOT_SET_MARKER,
        embedding: PerRecordEmbeddingsInput | _NotSetMarker | None = NOT_SET_MARKER,
        metadata: MetadataValue | _NotSetMarker = NOT_SET_MARKER,
        timestamp: str | _NotSetMarker | None = NOT_SET_MARKER,
        ttl_days: int | _NotSetMarker | None = NOT_SET_MARKER,
        ttl_anchor: TimeToLiveAnchor | _NotSetMarker = NOT_SET_MARKER,
        status: RecordStatus | _NotSetMarker = NOT_SET_MARKER,
        text: str | _NotSetMarker | None = NOT_SET_MARKER,
        if_fingerprint: str | None = None,
    ) -> int:
        """Change a record; return 1, or 0 when there is none.

        Args:
            if_fingerprint: Change it only while the stored record has this fingerprint; so for
                the deletes.
        """

    @abc.abstractmethod
    def delete(
        self,
        record_type: str,
        record_id: str,
        cascade: bool = False,
        *,
        if_fingerprint: str | None = None,
    ) -> int:
        """Delete a record; return 1, or 0 when there is none."""

    @abc.abstractmethod
    def delete_thread(self, thread_id: str, *, if_fingerprint: str | None = None) -> int:
        """Delete a thread and all that belongs to it; return 1, or 0 when there is none."""

    @abc.abstractmethod
    def add_user(
        self,
        user_id: str | _NotSetMarker = NOT_SET_MARKER,
        information: str | _NotSetMarker = NOT_SET_MARKER,
        metadata: MetadataValue | _NotSetMarker = NOT_SET_MARKER,
    ) -> str:
        """Store a user's profile; return the user id."""

    @abc.abstractmethod
    def add_agent(
        self,
        agent_id: str,
        information: str,
        metadata: MetadataValue | _NotSetMarker = NOT_SET_MARKER,
    ) -> str:
        """Store an agent's profile; return the agent id."""

    @abc.abstractmethod
    def add_relations(
        self,
        source_record_ids: str | builtins.list[str],
        source_record_types: str | builtins.list[str],
        target_record_ids: str | builtins.list[str],
        target_record_types: str | builtins.list[str],
        relation_types: RelationType | builtins.list[RelationType],
        opposite_relation_types: RelationType
        | builtins.list[RelationType]
        | _NotSetMarker = NOT_SET_MARKER,
        relation_ids: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        timestamps: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        metadata: MetadataValue | builtins.list[MetadataValue] | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[str]:
        """Store relations, all or none; return their ids in order."""

    @abc.abstractmethod
    def get_relation(
        self,
        source_record_id: str | _NotSetMarker = NOT_SET_MARKER,
        source_record_type: str | _NotSetMarker = NOT_SET_MARKER,
        target_record_id: str | _NotSetMarker = NOT_SET_MARKER,
        target_record_type: str | _NotSetMarker = NOT_SET_MARKER,
        relation_type: RelationType | _NotSetMarker = NOT_SET_MARKER,
        relation_id: str | _NotSetMarker = NOT_SET_MARKER,
    ) -> RecordRelation | None:
        """Return a relation by its id or by its five parts, or ``None``."""

    @abc.abstractmethod
    def list_relations(
        self,
        relation_type: str | _NotSetMarker = NOT_SET_MARKER,
        source_record_id: str | _NotSetMarker = NOT_SET_MARKER,
        source_record_type: str | _NotSetMarker = NOT_SET_MARKER,
        target_record_id: str | _NotSetMarker = NOT_SET_MARKER,
        target_record_type: str | _NotSetMarker = NOT_SET_MARKER,
        limit: int | _NotSetMarker | None = NOT_SET_MARKER,
        metadata_filter: MetadataFilter | _NotSetMarker = NOT_SET_MARKER,
        relation_id: str | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[RecordRelation]:
        """Return the newest ``limit`` relations, oldest first."""

    @abc.abstractmethod
    def update_relations(
        self,
        relation_ids: str | builtins.list[str],
        relation_types: RelationType | builtins.list[RelationType] | _NotSetMarker = NOT_SET_MARKER,
        opposite_relation_types: RelationType
        | builtins.list[RelationType]
        | _NotSetMarker = NOT_SET_MARKER,
        timestamps: str | builtins.list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        metadata: MetadataValue | builtins.list[MetadataValue] | _NotSetMarker = NOT_SET_MARKER,
    ) -> builtins.list[str]:
        """Change relations; return the ids of those that exist."""

    @abc.abstractmethod
    def delete_relations(self, relation_ids: str | builtins.list[str]) -> int:
        """Delete relations; return how many there were."""

    add_async = threaded(add)
    add_batches_async = threaded(add_batches)
    get_async = threaded(get)
    list_async = threaded(list)
    list_thread_messages_async = threaded(list_thread_messages)
    search_async = threaded(search)
    update_async = threaded(update)
    delete_async = threaded(delete)
    delete_thread_async = threaded(delete_thread)
    add_agent_async = threaded(add_agent)
    add_relations_async = threaded(add_relations)
    get_relation_async = threaded(get_relation)
    list_relations_async = threaded(list_relations)
    update_relations_async = threaded(update_relations)
    delete_relations_async = threaded(delete_relations)

    _awaited_add_user = threaded(add_user)

    async def add_user_async(
        self,
        user_id: str,
        information: str,
        metadata: MetadataValue | _NotSetMarker = NOT_SET_MARKER,
    ) -> str:
        """Store a user's profile as :meth:`add_user` does, the user id and text given."""
        return await self._awaited_add_user(user_id, information, metadata)
