"""The API's answers, built from the rows and records of the services."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from ninja import Status
from pydantic import BaseModel, Field

from memoryapp.services.search import Answer
from memoryapp.services.summaries import Card
from oracleagentmemory.apis.message import ImageContent, MessageContent
from oracleagentmemory.apis.records import MessageRecord, Record
from oracleagentmemory.inspection import Count as RowCount
from oracleagentmemory.inspection import RelationRow, Row, StandingSummary

if TYPE_CHECKING:
    from oracleagentmemory.apis.records import ImageRecord


class ContentPart(BaseModel):
    """One part of a message of several parts."""

    type: str
    text: str | None = None
    id: str | None = Field(default=None, description="Of an image; see `/images`.")
    mime_type: str | None = None
    description: str | None = None


class Stored(BaseModel):
    """What every stored record has."""

    id: str
    user_id: str | None
    agent_id: str | None
    metadata: dict[str, Any] | None
    created_at: datetime
    updated_at: datetime | None
    expires_at: datetime | None
    fingerprint: str = Field(description="Also the ETag, for If-Match.")


class ThreadOut(Stored):
    """A thread."""


class MessageOut(Stored):
    """A message of a thread."""

    thread_id: str | None
    role: str
    content: str | list[ContentPart]
    timestamp: str | None = Field(description="The caller's time as given, else of creation.")


class MemoryOut(Stored):
    """A memory."""

    memory_type: str
    content: str | None
    status: str
    thread_id: str | None
    timestamp: str | None = Field(description="The caller's time as given, else of creation.")


class ImageOut(Stored):
    """An image, without its bytes."""

    description: str
    mime_type: str
    byte_count: int
    status: str
    thread_id: str | None
    message_id: str | None = Field(description="The message that it is a part of, if any.")
    timestamp: str | None = Field(description="The caller's time as given, else of creation.")


class RelationOut(BaseModel):
    """A relation from one memory, its source, to another, its target."""

    id: str
    source_record_id: str
    source_record_type: str
    source_status: str
    target_record_id: str
    target_record_type: str
    target_status: str
    relation_type: str
    opposite_relation_type: str = Field(description="How the relation reads from its target.")
    timestamp: str | None = Field(description="The caller's time as given, if any.")
    metadata: dict[str, Any] | None
    created_at: datetime
    fingerprint: str = Field(description="Also the ETag, for If-Match.")


class SummaryOut(BaseModel):
    """The summary of a thread."""

    content: str
    topics: list[str]
    is_transcript: bool = Field(description="The messages themselves: no model summed them up.")
    is_current: bool = Field(description="Whether it covers the newest message.")


class ContextCardOut(BaseModel):
    """What a prompt should know about a thread."""

    content: str = Field(description="The card as XML-like text; empty when it holds nothing.")
    summary: str
    topics: list[str]


class CountOut(BaseModel):
    """How many match in all: exact, or 10,000 and `capped` when there are more."""

    value: int
    capped: bool


class PageOut(BaseModel):
    """What every list answers: newest first."""

    count: CountOut
    next: str | None = Field(description="The cursor of the next, older page.")
    previous: str | None = Field(description="The cursor of the page before, which is newer.")


class ThreadPageOut(PageOut):
    """A page of threads."""

    threads: list[ThreadOut]


class MessagePageOut(PageOut):
    """A page of a thread's messages."""

    messages: list[MessageOut]


class MemoryPageOut(PageOut):
    """A page of memories."""

    memories: list[MemoryOut]


class RelationPageOut(PageOut):
    """A page of relations."""

    relations: list[RelationOut]


class ImagePageOut(PageOut):
    """A page of images."""

    images: list[ImageOut]


class MessageIds(BaseModel):
    """The ids of new messages, in order."""

    message_ids: list[str]


class RecordOut(BaseModel):
    """A record that a search found."""

    id: str
    record_type: str
    content: str | list[ContentPart] | None
    role: str | None
    status: str
    user_id: str | None
    agent_id: str | None
    thread_id: str | None
    timestamp: str | None
    metadata: dict[str, Any] | None


class StageOut(BaseModel):
    """Where a hit stood in one stage of the search, and its score there: higher is better."""

    rank: int
    score: float


class SearchResult(BaseModel):
    """One hit; `relevance` is 1 - distance, never below 0."""

    rank: int
    distance: float
    relevance: float
    record: RecordOut
    stages: dict[str, StageOut] = Field(
        {}, description="With `explain`, by stage; one that did not rank the record is missing."
    )


class SearchOut(BaseModel):
    """The hits, best first."""

    strategy: str = Field(description="What was compared: `vector`, `keyword` or `hybrid`.")
    stages: list[str] = Field([], description="With `explain`, the stages in their order.")
    results: list[SearchResult]


def thread_out(row: Row) -> ThreadOut:
    """Build the answer for a thread."""
    return ThreadOut(**_stored(row))


def message_out(row: Row) -> MessageOut:
    """Build the answer for a message."""
    record = row.record
    return MessageOut(
        **_stored(row),
        thread_id=record.thread_id,
        role=_role(record) or "",
        content=_content(record.content) or "",
        timestamp=record.timestamp,
    )


def memory_out(row: Row) -> MemoryOut:
    """Build the answer for a memory."""
    record = row.record
    return MemoryOut(
        **_stored(row),
        memory_type=record.record_type,
        content=record.content if isinstance(record.content, str) else None,
        status=record.status.value,
        thread_id=record.thread_id,
        timestamp=record.timestamp,
    )


def image_out(row: Row) -> ImageOut:
    """Build the answer for an image."""
    record = cast("ImageRecord", row.record)
    return ImageOut(
        **_stored(row),
        description=record.content or "",
        mime_type=record.mime_type.value,
        byte_count=row.byte_count or 0,
        status=record.status.value,
        thread_id=record.thread_id,
        message_id=record.message_id,
        timestamp=record.timestamp,
    )


def relation_out(row: RelationRow) -> RelationOut:
    """Build the answer for a relation."""
    relation = row.relation
    return RelationOut(
        id=relation.id,
        source_record_id=relation.source_record_id,
        source_record_type=relation.source_record_type,
        source_status=row.source.record.status.value,
        target_record_id=relation.target_record_id,
        target_record_type=relation.target_record_type,
        target_status=row.target.record.status.value,
        relation_type=relation.relation_type,
        opposite_relation_type=relation.opposite_relation_type,
        timestamp=relation.timestamp,
        metadata=relation.metadata,
        created_at=row.created_at,
        fingerprint=row.fingerprint,
    )


def summary_out(summary: StandingSummary) -> SummaryOut:
    """Build the answer for a summary."""
    return SummaryOut(
        content=summary.text,
        topics=list(summary.topics),
        is_transcript=summary.is_transcript,
        is_current=summary.is_current,
    )


def card_out(card: Card) -> ContextCardOut:
    """Build the answer for a context card."""
    return ContextCardOut(
        content=card.content, summary=card.summary, topics=list(card.topics or ())
    )


def search_out(answer: Answer) -> SearchOut:
    """Build the answer of a search."""
    return SearchOut(
        strategy=answer.strategy,
        stages=list(answer.stages),
        results=[
            SearchResult(
                rank=hit.rank,
                distance=hit.distance,
                relevance=hit.relevance,
                record=_record_out(hit.record),
                stages={
                    name: StageOut(rank=standing.rank, score=standing.score)
                    for name, standing in hit.standings.items()
                },
            )
            for hit in answer.found
        ],
    )


def count_out(count: RowCount) -> CountOut:
    """Build the answer's count."""
    return CountOut(value=count.value, capped=count.capped)


def _stored(row: Row) -> dict[str, Any]:
    record = row.record
    return {
        "id": record.id,
        "user_id": record.user_id,
        "agent_id": record.agent_id,
        "metadata": record.metadata,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "expires_at": row.expires_at,
        "fingerprint": row.fingerprint,
    }


def _record_out(record: Record) -> RecordOut:
    return RecordOut(
        id=record.id,
        record_type=record.record_type,
        content=_content(record.content),
        role=_role(record),
        status=record.status.value,
        user_id=getattr(record, "user_id", None),
        agent_id=getattr(record, "agent_id", None),
        thread_id=getattr(record, "thread_id", None),
        timestamp=record.timestamp,
        metadata=record.metadata,
    )


def _role(record: Record) -> str | None:
    return record.role if isinstance(record, MessageRecord) else None


def _content(content: str | Sequence[MessageContent] | None) -> str | list[ContentPart] | None:
    if content is None or isinstance(content, str):
        return content
    return [_part(part) for part in content]


def _part(part: MessageContent) -> ContentPart:
    if isinstance(part, ImageContent):
        return ContentPart(
            type=part.type,
            id=part.id,
            mime_type=part.mime_type.value,
            description=part.description,
        )
    return ContentPart(type=part.type, text=getattr(part, "text", None))


class StillRunningOut(BaseModel):
    """A deletion that is done; jobs that read what is gone still run and can store nothing."""

    job_ids: list[str]


def deleted_out(still_running: Sequence[str]) -> Status[None] | Status[StillRunningOut]:
    """Answer a deletion: 204, or 202 with the jobs that are still to notice it."""
    if still_running:
        return Status(202, StillRunningOut(job_ids=list(still_running)))
    return Status(204, None)
