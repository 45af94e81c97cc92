"""Adding records, profiles and threads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.memorystore import (
    PendingRecordBatch,
    PerBatchEmbeddingsInput,
    PerBatchIndexTextsInput,
    PerBatchRecordContentsInput,
)
from oracleagentmemory.apis.records import MetadataValue, RecordStatus
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.errors import InvalidInputError, WrongTypeError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.kinds import IMAGE
from oracleagentmemory.storage.retention import Retention
from oracleagentmemory.storage.store.base import one_dimension
from oracleagentmemory.storage.store.drafts import Draft, drafts_of
from oracleagentmemory.storage.store.inserting import Inserting
from oracleagentmemory.storage.writes import Prepared, prepared_value


class Adding(Inserting):
    """The `add…` methods and their `prepare_…` twins."""

    def add(
        self,
        contents: PerBatchRecordContentsInput | _NotSetMarker = NOT_SET_MARKER,
        record_type: str | _NotSetMarker = NOT_SET_MARKER,
        index_texts: PerBatchIndexTextsInput | _NotSetMarker = NOT_SET_MARKER,
        embeddings: PerBatchEmbeddingsInput | _NotSetMarker = NOT_SET_MARKER,
        record_ids: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        thread_ids: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        user_ids: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        agent_ids: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        roles: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        timestamps: str | list[str | None] | _NotSetMarker | None = NOT_SET_MARKER,
        metadata: MetadataValue | list[MetadataValue] | _NotSetMarker = NOT_SET_MARKER,
        ttl_days: int | list[int | None] | _NotSetMarker | None = NOT_SET_MARKER,
        ttl_anchor: TimeToLiveAnchor | list[TimeToLiveAnchor] | _NotSetMarker = NOT_SET_MARKER,
        statuses: RecordStatus | list[RecordStatus] | _NotSetMarker = NOT_SET_MARKER,
        **store_kwargs: Any,
    ) -> list[str]:
        """Store records of one type, all or none; scalars apply to every record.

        Args:
            contents: What is returned, one entry a record. None takes `metadata["content"]`.
            record_type: `message`, `memory`, `guideline`, `fact`, `preference`, `user_profile`,
                `agent_profile`, `thread_summary` or `image`, whose contents are bytes.
            index_texts: What is searched instead of the contents; a list holds the chunks. Of an
                image it is the description.
            embeddings: Vectors that bypass the embedder, shape (D,) or (chunks, D) a record.
            record_ids: The caller's ids; generated when omitted.
            roles: Roles of messages.
            timestamps: Times of the events, kept as given.
            metadata: Of an image with `image_mime_type`, which is not stored with the rest.
            ttl_days: Days to live; omitted takes the store's default, None its maximum.
            ttl_anchor: What the days count from, creation unless given.

        Returns:
            The ids, in order.

        Raises:
            InvalidInputError: If an argument cannot be stored, before anything is read.
            NotFoundError: If a named thread does not exist.
            DuplicateIdError: If an id is taken.
        """
        return self.write(
            self.prepare_add(
                contents,
                record_type,
                index_texts,
                embeddings,
                record_ids,
                thread_ids,
                user_ids,
                agent_ids,
                roles,
                timestamps,
                metadata,
                ttl_days,
                ttl_anchor,
                statuses,
                **store_kwargs,
            )
        )

    def prepare_add(
        self,
        contents: Any = NOT_SET_MARKER,
        record_type: Any = NOT_SET_MARKER,
        index_texts: Any = NOT_SET_MARKER,
        embeddings: Any = NOT_SET_MARKER,
        record_ids: Any = NOT_SET_MARKER,
        thread_ids: Any = NOT_SET_MARKER,
        user_ids: Any = NOT_SET_MARKER,
        agent_ids: Any = NOT_SET_MARKER,
        roles: Any = NOT_SET_MARKER,
        timestamps: Any = NOT_SET_MARKER,
        metadata: Any = NOT_SET_MARKER,
        ttl_days: Any = NOT_SET_MARKER,
        ttl_anchor: Any = NOT_SET_MARKER,
        statuses: Any = NOT_SET_MARKER,
        **store_kwargs: Any,
    ) -> Prepared[list[str]]:
        """Prepare what `add` writes."""
        if isinstance(contents, _NotSetMarker) or isinstance(record_type, _NotSetMarker):
            raise InvalidInputError("contents and record_type are required")
        batch = PendingRecordBatch(
            contents=contents,
            record_type=record_type,
            record_ids=record_ids,
            index_texts=index_texts,
            embeddings=embeddings,
            thread_ids=thread_ids,
            user_ids=user_ids,
            agent_ids=agent_ids,
            roles=roles,
            timestamps=timestamps,
            metadata=metadata,
            ttl_days=ttl_days,
            ttl_anchor=ttl_anchor,
            statuses=statuses,
        )
        return self.prepare_add_batches([batch], **store_kwargs)

    def add_batches(self, batches: list[PendingRecordBatch], **store_kwargs: Any) -> list[str]:
        """Store prepared batches, all or none.

        Args:
            batches: Batches with their own types and fields.
            store_kwargs: `batch_size`, a positive number of rows per statement.

        Returns:
            The ids, in the order of batches and rows.
        """
        return self.write(self.prepare_add_batches(batches, **store_kwargs))

    def prepare_add_batches(
        self, batches: Sequence[PendingRecordBatch], **store_kwargs: Any
    ) -> Prepared[list[str]]:
        """Prepare what `add_batches` writes."""
        batch_size = _batch_size(store_kwargs)
        if not all(isinstance(batch, PendingRecordBatch) for batch in batches):
            raise InvalidInputError("add_batches takes PendingRecordBatch objects only")
        if not batches:
            return prepared_value([])
        drafts = self._by_retention(partial(_drafts, batches))
        if not drafts:
            return prepared_value([])
        # A message is followed by the images that are attached to it.
        records = [one for draft in drafts for one in (draft, *draft.images)]
        for record in records:
            if record.kind is IMAGE:
                self._check_picture(record.record_id, record.columns)
        chunks = self._prepare_chunks(records)
        slices = [slice(at, at + batch_size) for at in range(0, len(records), batch_size)]

        def apply(transaction: WriteTransaction) -> list[str]:
            self._require_threads(transaction, _thread_ids(drafts))
            for part in slices:
                self._insert_drafts(transaction, records[part], chunks[part])
            return [draft.record_id for draft in drafts]

        return Prepared(apply)

    def add_user(
        self,
        user_id: str | _NotSetMarker = NOT_SET_MARKER,
        information: str | _NotSetMarker = NOT_SET_MARKER,
        metadata: MetadataValue | _NotSetMarker = NOT_SET_MARKER,
    ) -> str:
        """Store a user's profile.

        Returns:
            The user id, which is also the record's id.

        Raises:
            DuplicateIdError: If a user or an agent with this id has a profile.
        """
        return self.write(self.prepare_add_user(user_id, information, metadata))

    def prepare_add_user(
        self,
        user_id: Any = NOT_SET_MARKER,
        information: Any = NOT_SET_MARKER,
        metadata: Any = NOT_SET_MARKER,
    ) -> Prepared[str]:
        """Prepare what `add_user` writes."""
        return self._prepare_profile("user_profile", user_id, information, metadata)

    def add_agent(
        self,
        agent_id: str,
        information: str,
        metadata: MetadataValue | _NotSetMarker = NOT_SET_MARKER,
    ) -> str:
        """Store an agent's profile; return the agent id, which is also the record's id."""
        return self.write(self.prepare_add_agent(agent_id, information, metadata))

    def prepare_add_agent(
        self, agent_id: Any, information: Any, metadata: Any = NOT_SET_MARKER
    ) -> Prepared[str]:
        """Prepare what `add_agent` writes."""
        return self._prepare_profile("agent_profile", agent_id, information, metadata)

    def _prepare_profile(
        self, record_type: str, actor_id: Any, information: Any, metadata: Any
    ) -> Prepared[str]:
        actor = record_type.removesuffix("_profile")
        if isinstance(actor_id, _NotSetMarker):
            raise InvalidInputError(f"{actor}_id is required")
        if isinstance(information, _NotSetMarker) or information is None:
            raise InvalidInputError("information is required")
        check_id(actor_id, f"{actor}_id")
        added = self.prepare_add([information], record_type, record_ids=actor_id, metadata=metadata)
        return added.map(lambda ids: ids[0])


def _batch_size(store_kwargs: dict[str, Any]) -> int:
    batch_size = store_kwargs.pop("batch_size", 256)
    if store_kwargs:
        raise WrongTypeError(f"unknown argument {next(iter(store_kwargs))!r}")
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise InvalidInputError(f"batch_size must be a positive number, not {batch_size!r:.80}")
    return batch_size


def _drafts(batches: Sequence[PendingRecordBatch], rules: Retention) -> list[Draft]:
    drafts = [one for batch in batches for one in drafts_of(batch, rules)]
    _refuse_repeated_ids([one for draft in drafts for one in (draft, *draft.images)])
    one_dimension([one.text.vectors for one in drafts if one.text.vectors is not None])
    return drafts


def _refuse_repeated_ids(drafts: Sequence[Draft]) -> None:
    seen: set[tuple[str, str]] = set()
    for draft in drafts:
        key = (draft.kind.name, draft.record_id)
        if key in seen:
            where = "the image parts hold the id" if draft.kind is IMAGE else "record_ids holds"
            raise InvalidInputError(f"{where} {draft.record_id!r} twice")
        seen.add(key)


def _thread_ids(drafts: Sequence[Draft]) -> list[str]:
    ids = {draft.columns.get("thread_id") for draft in drafts}
    return [one for one in ids if one is not None]
