"""Changing records and threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.memorystore import PerRecordEmbeddingsInput, RecordContentInput
from oracleagentmemory.apis.records import MetadataValue, RecordStatus
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.apis.validation import check_metadata
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.kinds import (
    IMAGE,
    MEMORY,
    MESSAGE,
    PROFILE,
    SUMMARY,
    THREAD,
    Kind,
    can_exist,
    kind_of,
)
from oracleagentmemory.storage.lifecycle import marked_by_hand
from oracleagentmemory.storage.retention import (
    anchor_time,
    check_anchor,
    expiry,
    refreshes_expiry,
)
from oracleagentmemory.storage.statements import changeable
from oracleagentmemory.storage.store.attaching import Attaching, WantedImage
from oracleagentmemory.storage.store.chunks import ChunkRows
from oracleagentmemory.storage.store.drafts import (
    Draft,
    check_status,
    check_timestamp,
    content_columns,
    image_parts,
    keep_reserved,
)
from oracleagentmemory.storage.store.images import image_changes
from oracleagentmemory.storage.store.lifecycle import Lifecycle
from oracleagentmemory.storage.store.retrieval_text import (
    RetrievalText,
    explicit_vectors,
    plan_text,
)
from oracleagentmemory.storage.store.summaries import SummaryUpkeep
from oracleagentmemory.storage.writes import Prepared, prepared_value


@dataclass(slots=True)
class Changes:
    """What an update asks for, checked; NOT_SET where it asks for nothing.

    Attributes:
        columns: New content columns.
        rewrite: New retrieval rows; None leaves or only re-vectors them.
        vectors: Vectors for the existing rows; None clears them.
        images: The image parts of a message's new content; None keeps those that it has.
    """

    columns: dict[str, Any]
    content_text: str | None
    metadata: Any
    timestamp: Any
    status: Any
    ttl_days: Any
    ttl_anchor: Any
    rewrite: RetrievalText | None
    vectors: Any
    chunks: ChunkRows | None = None
    images: list[WantedImage] | None = None


class Updating(Attaching, Lifecycle, SummaryUpkeep):
    """`update` and the changes of threads."""

    def update(
        self,
        record_type: str,
        record_id: str,
        content: RecordContentInput | _NotSetMarker = NOT_SET_MARKER,
        index_text: str | list[str] | _NotSetMarker | None = NOT_SET_MARKER,
        embedding: PerRecordEmbeddingsInput | _NotSetMarker | None = NOT_SET_MARKER,
        metadata: MetadataValue | _NotSetMarker = NOT_SET_MARKER,
        timestamp: str | _NotSetMarker | None = NOT_SET_MARKER,
        ttl_days: int | _NotSetMarker | None = NOT_SET_MARKER,
        ttl_anchor: TimeToLiveAnchor | _NotSetMarker = NOT_SET_MARKER,
        status: RecordStatus | _NotSetMarker = NOT_SET_MARKER,
        text: str | _NotSetMarker | None = NOT_SET_MARKER,
        *,
        if_fingerprint: str | None = None,
    ) -> int:
        """Change a record; omitted arguments leave what they name as it is.

        Args:
            content: The new content; None clears a memory's text and what is searched for it. Of a
                message, images that are no longer part of it are deleted, and one that comes
                without bytes keeps them, and without description its description. That of an
                image are bytes, with their format as `image_mime_type` in `metadata`.
            index_text: What is searched instead of the content, a list being the chunks. None
                clears it, or, together with a content, searches that content. Of an image it is
                the description.
            embedding: A vector, or one for each chunk; None clears them.
            metadata: Replaces the whole metadata; the reserved `$agent_memory` key stays. One that
                holds nothing but `image_mime_type` replaces nothing.
            timestamp: The time of the event; None lets the time of creation show.
            ttl_days: New days to live, counted from `ttl_anchor`; None for the longest life.
            status: The new status.
            text: Deprecated name of `content`.
            if_fingerprint: Change it only while it has this fingerprint.

        Returns:
            1, or 0 when there is no such record.

        Raises:
            InvalidInputError: If nothing would change or arguments exclude each other, or an image
                that is attached to a message is to expire by itself.
            ConflictError: If the record has another fingerprint.
        """
        return self.write(
            self.prepare_update(
                record_type,
                record_id,
                content=_new_content(content, text),
                index_text=index_text,
                embedding=embedding,
                metadata=metadata,
                timestamp=timestamp,
                ttl_days=ttl_days,
                ttl_anchor=ttl_anchor,
                status=status,
                if_fingerprint=if_fingerprint,
            )
        )

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
        thread_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        visible_only: bool = False,
    ) -> Prepared[int]:
        """Prepare what `update` writes.

        Args:
            thread_id: Change it only when it belongs to exactly this thread.
            visible_only: Take an expired record for absent.
        """
        kind = kind_of(record_type)
        if kind is THREAD:
            raise InvalidInputError("threads are changed by update_thread, not by update")
        asked = (content, index_text, embedding, metadata, timestamp, ttl_days, ttl_anchor, status)
        if all(value is NOT_SET_MARKER for value in asked):
            raise InvalidInputError("nothing to update: every field was omitted")
        if kind in (PROFILE, SUMMARY):
            _refuse_dated(kind, timestamp, ttl_days, ttl_anchor)
        metadata = _checked(metadata, check_metadata)
        columns, content_text = _content_change(kind, record_type, content)
        if kind is IMAGE:
            columns, metadata = image_changes(content, index_text, metadata)
            self._check_picture(record_id, columns)
        changes = Changes(
            columns,
            content_text,
            metadata=metadata,
            timestamp=_checked(timestamp, check_timestamp),
            status=_checked(status, check_status),
            ttl_days=self._days(ttl_days, ttl_anchor),
            ttl_anchor=check_anchor(ttl_anchor),
            rewrite=None,
            vectors=NOT_SET_MARKER,
        )
        self._plan_retrieval(kind, changes, content, index_text, embedding)
        if changes.rewrite is not None:
            changes.chunks = self._chunks_for(kind, record_type, record_id, changes.rewrite)
        if kind is MESSAGE and content is not NOT_SET_MARKER:
            changes.images = self._wanted_images(image_parts(kind, content))
        return self._prepared_changes(
            kind,
            record_type,
            record_id,
            changes,
            if_fingerprint=if_fingerprint,
            thread_id=thread_id,
            visible_only=visible_only,
        )

    def _prepared_changes(
        self,
        kind: Kind,
        record_type: str,
        record_id: str,
        changes: Changes,
        *,
        if_fingerprint: str | None,
        thread_id: str | _NotSetMarker | None,
        visible_only: bool,
    ) -> Prepared[int]:
        """Return the change of a record that may be absent, or another than the caller read."""
        if not can_exist(record_id):
            return prepared_value(0)
        # A row is looked for under the type asked for, and absent when it has another.
        parameters = {"id": record_id}
        if kind.type_column is not None:
            parameters["type"] = kind.stored_type(record_type)
        statement = self.statements.select_one(kind, locked=True, expired=not visible_only)

        def apply(transaction: WriteTransaction) -> int:
            row = transaction.execute(statement, parameters).first()
            if row is None or not _in_thread(row, thread_id):
                return 0
            self._compare(transaction, if_fingerprint, kind, row)
            self._apply_changes(transaction, kind, record_type, row, changes)
            return 1

        return Prepared(apply)

    def _days(self, ttl_days: Any, ttl_anchor: Any) -> Any:
        if not refreshes_expiry(ttl_days, ttl_anchor):
            return NOT_SET_MARKER
        return self._by_retention(lambda rules: rules.days(ttl_days))

    def _plan_retrieval(
        self, kind: Kind, changes: Changes, content: Any, index_text: Any, embedding: Any
    ) -> None:
        """Decide what happens to the record's retrieval rows."""
        vectors = None if _absent(embedding) else explicit_vectors(embedding)
        has_content = content is not NOT_SET_MARKER and kind is not IMAGE
        if content is None and kind is not SUMMARY:
            if not _absent(index_text) or vectors is not None:
                raise InvalidInputError(
                    "content=None clears what is searched: give no index_text or embedding with it"
                )
            changes.rewrite = RetrievalText([])
        elif has_content or not _absent(index_text):
            # Without a content, index_text is a str or a list of chunks here.
            source = None if _absent(index_text) else index_text
            changes.rewrite = plan_text(kind, changes.content_text or "", source, vectors)
            changes.rewrite.embed = embedding is not None
        elif index_text is None:
            if vectors is not None:
                raise InvalidInputError(
                    "index_text=None clears what is searched: give no embedding"
                )
            changes.rewrite = RetrievalText([])
        elif embedding is not NOT_SET_MARKER:
            if kind.text is None:
                raise InvalidInputError(f"a {kind.name.replace('_', ' ')} is not searched")
            changes.vectors = vectors
            if vectors is not None:
                self._check_explicit([vectors])

    def _apply_changes(
        self,
        transaction: WriteTransaction,
        kind: Kind,
        record_type: str,
        row: Any,
        changes: Changes,
    ) -> None:
        if kind is IMAGE:
            _refuse_own_life(row, changes)
        values = self._new_values(kind, row, changes)
        if kind is MEMORY and not isinstance(changes.status, _NotSetMarker):
            values |= self._settled_columns(transaction, row.record_id, values["metadata"])
        changed_status = values.get("status") != getattr(row, "status", None)
        record_id = row._mapping[kind.key]
        user_id = record_id if record_type == "user_profile" else getattr(row, "user_id", None)
        self._reserve(transaction, 2 + (len(changes.chunks.columns) if changes.chunks else 0))
        self._set_columns(transaction, kind, record_id, values)
        self._note_update(transaction, kind, row, values, user_id)
        source = {"of_source_id": record_id, "source_type": record_type}
        if changes.rewrite is not None:
            self._rewrite_chunks(transaction, kind, row, values["status"], changes.chunks)
        elif not isinstance(changes.vectors, _NotSetMarker):
            self._replace_vectors(transaction, kind, record_type, row, changes.vectors)
        if changes.rewrite is None and changed_status and kind.text is not None:
            new_status = {"new_status": values["status"], **source}
            transaction.execute(self.statements.set_chunk_status, new_status)
        if kind is MESSAGE and (changes.images is not None or _shared_differs(row, values)):
            self._settle_images(transaction, row, values, changes.images)
        if kind is MESSAGE and changes.columns:
            self._forget_in_summaries(transaction, [row.thread_id], row.order_seq)

    def _set_columns(
        self,
        transaction: WriteTransaction,
        kind: Kind,
        record_id: str,
        values: Mapping[str, Any],
    ) -> None:
        statement = self.statements.update(kind, with_bytes="blob" in values)
        transaction.execute(statement, {"id_": record_id, **values})

    def _new_values(self, kind: Kind, row: Any, changes: Changes) -> dict[str, Any]:
        """Return all changeable columns of a row as they will be."""
        values = changeable(kind, row) | changes.columns
        if not isinstance(changes.metadata, _NotSetMarker):
            values["metadata"] = keep_reserved(changes.metadata, row.metadata)
        if not isinstance(changes.timestamp, _NotSetMarker):
            values["timestamp"] = changes.timestamp
        if not isinstance(changes.ttl_days, _NotSetMarker):
            values["expires_at"] = _new_expiry(changes, values["timestamp"], row.created_at)
        if not isinstance(changes.status, _NotSetMarker):
            values["status"] = changes.status.value
            if kind is MEMORY:
                values["metadata"] = marked_by_hand(values["metadata"], changes.status)
        return values

    def _chunks_for(
        self, kind: Kind, record_type: str, record_id: str, text: RetrievalText
    ) -> ChunkRows | None:
        """Prepare the retrieval rows of a stored record, its scope still unknown."""
        user_id = record_id if record_type == "user_profile" else None
        draft = Draft(kind, record_type, record_id, user_id, {"status": None}, "", text)
        return self._prepare_chunks([draft])[0]

    def _replace_vectors(
        self,
        transaction: WriteTransaction,
        kind: Kind,
        record_type: str,
        row: Any,
        vectors: NDArray[np.float32] | None,
    ) -> None:
        """Set or clear the vectors of the existing retrieval rows."""
        record_id = row._mapping[kind.key]
        source = {"of_source_id": record_id, "source_type": record_type}
        chunks = transaction.execute(self.statements.chunks_of, source).all()
        if vectors is not None and not chunks and len(vectors) == 1:
            text = RetrievalText([""], vectors)
            rows = self._chunks_for(kind, record_type, record_id, text)
            self._rewrite_chunks(transaction, kind, row, row.status, rows)
            return
        if vectors is not None and len(vectors) != len(chunks):
            raise InvalidInputError(
                f"{len(vectors)} vectors do not match the record's {len(chunks)} retrieval rows"
            )
        if vectors is not None:
            self._fix_vectors(transaction, vectors)
        replaced = [
            {"id": chunk.chunk_id, "vector": None if vectors is None else vectors[at]}
            for at, chunk in enumerate(chunks)
        ]
        if replaced:
            transaction.execute(self.statements.set_chunk_vector, replaced)


def _absent(value: Any) -> bool:
    return value is None or isinstance(value, _NotSetMarker)


def _new_content(content: Any, text: Any) -> Any:
    if isinstance(text, _NotSetMarker):
        return content
    warnings.warn(
        "text= is deprecated since 26.8.0 and will be removed in 27.1; use content=",
        DeprecationWarning,
        stacklevel=3,
    )
    if not isinstance(content, _NotSetMarker):
        raise InvalidInputError("content and text are the same argument: give one of them")
    return text


def _checked(value: Any, check: Callable[[Any], Any]) -> Any:
    return value if isinstance(value, _NotSetMarker) else check(value)


def _refuse_dated(kind: Kind, *values: Any) -> None:
    if any(not isinstance(value, _NotSetMarker) for value in values):
        name = kind.name.replace("_", " ")
        raise InvalidInputError(f"a {name} has no timestamp and no time to live")


def _content_change(
    kind: Kind, record_type: str, content: Any
) -> tuple[dict[str, Any], str | None]:
    if isinstance(content, _NotSetMarker):
        return {}, None
    if content is None and kind is MEMORY:
        return {"content": ""}, ""
    if content is not None and kind is IMAGE:
        return {}, None  # of which `image_changes` makes columns
    if content is None and kind is not SUMMARY:
        named = f"an {kind.name}" if kind is IMAGE else f"a {kind.name}"
        raise InvalidInputError(f"the content of {named} cannot be None; delete the record")
    return content_columns(kind, record_type, content)


def _shared_differs(message: Any, values: Mapping[str, Any]) -> bool:
    """Tell whether a change is one that the images of a message share."""
    return (message.expires_at, message.status) != (values["expires_at"], values["status"])


def _refuse_own_life(image: Any, changes: Changes) -> None:
    if image.message_id is not None and not isinstance(changes.ttl_days, _NotSetMarker):
        raise InvalidInputError(
            f"image {image.record_id!r} expires with the message that it is attached to: update "
            "the message"
        )


def _in_thread(row: Any, thread_id: Any) -> bool:
    return isinstance(thread_id, _NotSetMarker) or getattr(row, "thread_id", None) == thread_id


def _new_expiry(changes: Changes, timestamp: str | None, created_at: datetime) -> datetime | None:
    if changes.ttl_days is None:
        return None
    start = anchor_time(changes.ttl_anchor, timestamp)
    return expiry(changes.ttl_days, start or created_at)
