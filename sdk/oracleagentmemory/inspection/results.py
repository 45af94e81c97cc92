"""What an inspection returns: rows, pages, counts, users and agents, days, statistics."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, TypeAlias

from oracleagentmemory.apis.records import (
    AgentProfileRecord,
    ImageRecord,
    MemoryRecord,
    MessageRecord,
    ThreadRecord,
    UserProfileRecord,
)
from oracleagentmemory.storage.fingerprints import ImageMark, fingerprint

#: The kinds of record that have pages, counts and day series.
RowKind: TypeAlias = Literal["memory", "message", "thread", "image"]
#: Counts are exact up to here.
COUNT_LIMIT = 10_000


@dataclass(frozen=True, kw_only=True)
class Row:
    """A record with what the store knows about it.

    Attributes:
        record: The record as the store's ``get`` returns it, without the bytes of images.
        seq: Its number in the order of creation; ``None`` for a thread, which has none.
        columns: The stored row by column name; bytes of an image are an ``ImageMark``.
        version: How often our SDK wrote it, from 1; ``None`` when that is not recorded.
        created_at: Aware, UTC, like the other times.
        effective_at: The caller's timestamp when it is ISO-8601, else ``created_at``.
        updated_at: The last write by our SDK; ``None`` when that is not recorded.
        expires_at: When it becomes invisible; ``None`` for never.
        noted_fingerprint: Of the row as our SDK last wrote it; ``None`` when it never did.
    """

    kind: RowKind
    record: MemoryRecord | MessageRecord | ThreadRecord | ImageRecord
    seq: int | None
    columns: Mapping[str, Any] = field(repr=False)
    version: int | None
    created_at: datetime
    effective_at: datetime
    updated_at: datetime | None
    expires_at: datetime | None
    noted_fingerprint: str | None

    @property
    def is_changed_outside(self) -> bool:
        """Whether something other than our SDK wrote the row last, on a store with notes."""
        return self.noted_fingerprint != self.fingerprint

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    @property
    def byte_count(self) -> int | None:
        """How many bytes an image has; ``None`` for other kinds."""
        mark = self.columns.get("blob")
        return mark.byte_count if isinstance(mark, ImageMark) else None

    @functools.cached_property
    def fingerprint(self) -> str:
        """What ``if_fingerprint`` of an update or delete is compared with; reads no bytes."""
        return fingerprint(self.kind, self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Rows, newest first.

    Attributes:
        older: Pass it as ``before=`` for the next page; ``None`` when nothing is older.
        newer: Pass it as ``after=`` for the page before; ``None`` when nothing is newer.
    """

    rows: list[Row]
    older: str | None
    newer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How many records match: exact, or ``capped`` at 10,000 when there are more."""

    value: int
    capped: bool

    @classmethod
    def of(cls, value: int) -> Count:
        """A count from a number that was counted up to one above the limit."""
        return cls(value=min(value, COUNT_LIMIT), capped=value > COUNT_LIMIT)

    def __str__(self) -> str:
        return f"{self.value:,}+" if self.capped else f"{self.value:,}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetValue:
    """A value and how many records have it; ``None`` stands for those without one."""

    value: str | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The most frequent values of matching records.

    Attributes:
        values: By column (``memory_type status user_id agent_id``, those that the kind has),
            most frequent first.
        capped: Whether only the first 10,000 of more matches were counted.
    """

    values: Mapping[str, list[FacetValue]]
    capped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that our SDK wrote.

    Attributes:
        number: Its place in the order of changes.
        user_id: Whose record; ``None`` for a record of no user.
        record_kind: Such as ``memory message thread profile thread_summary``.
        record_id: The record; for ``scope`` what was deleted with the records that hung on it.
        operation: ``add``, ``update``, ``delete``, or ``scope`` for many records at once.
        fingerprint: Of the record after the change; ``None`` when it is gone.
        process: Which process wrote it, if that is known.
    """

    number: int
    user_id: str | None
    record_kind: str
    record_id: str
    operation: str
    fingerprint: str | None
    changed_at: datetime
    process: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePage:
    """Changes, newest first.

    Attributes:
        older: Pass it as ``before=`` for the next page; ``None`` when nothing is older.
        newer: Pass it as ``after=`` for the page before; ``None`` when nothing is newer.
        is_recorded: False on a store without our own tables, where changes leave no trace.
    """

    changes: list[Change]
    older: str | None
    newer: str | None
    is_recorded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsidePage:
    """Records that something other than our SDK wrote last, newest first.

    Attributes:
        rows: Those found; ``Row.noted_fingerprint`` is ``None`` where our SDK never wrote.
        scanned: How many records were compared.
        older: Pass it as ``before=`` to go on; ``None`` when all have been compared.
        is_recorded: False on a store without our own tables, where nothing can be compared.
    """

    rows: list[Row]
    scanned: int
    older: str | None
    is_recorded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """A user or an agent: an id that a profile or any visible record carries.

    Attributes:
        profile: Its profile, if it has one.
        threads, messages, memories: How many visible records carry the id.
        last_effective_at: The latest effective time of the messages and memories, without any
            the time the newest thread was stored; ``None`` without that too.
    """

    id: str
    profile: UserProfileRecord | AgentProfileRecord | None
    threads: int
    messages: int
    memories: int
    last_effective_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorPage:
    """Users or agents in ascending order of their ids.

    Attributes:
        next: Pass it as ``after=``; ``None`` on the last page.
        previous: Pass it as ``before=``; ``None`` on the first page.
    """

    actors: list[Actor]
    previous: str | None
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDigest:
    """What a list of threads shows of one.

    Attributes:
        message_count, memory_count: Its visible messages and memories.
        first_text: The start of its first message, at most 200 characters.
        last_effective_at: The latest effective time of those; ``None`` without any.
    """

    message_count: int
    memory_count: int
    first_text: str
    last_effective_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCount:
    """How many records have their effective time on a local day."""

    day: date
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The whole store in numbers, whatever its records' scope.

    Attributes:
        rows: Stored rows by kind (``thread message memory image relation thread_summary
            user_profile agent_profile``), expired ones included.
        expired: Of these, the rows that have expired and wait for the purge, by kind.
        memory_types: Visible memories of each type.
        statuses: Visible memories of each status.
        chunks: Stored text parts.
        orphan_chunks: Text parts whose record is gone.
        vectors: Text parts with a vector.
        sources: Notes of which message a memory was extracted from; ``None`` on a store without
            our own tables.
        orphan_sources: Of these, notes whose memory or message is gone.
        dimension: Numbers in each vector; ``None`` before the first.
        embedder_id: Identity of the embedder that made them, if it has one.
        file_bytes: Size of the database file; ``None`` where the store is not a file.
    """

    rows: Mapping[str, int]
    expired: Mapping[str, int]
    memory_types: Mapping[str, int]
    statuses: Mapping[str, int]
    chunks: int
    orphan_chunks: int
    vectors: int
    sources: int | None
    orphan_sources: int | None
    dimension: int | None
    embedder_id: str | None
    file_bytes: int | None
