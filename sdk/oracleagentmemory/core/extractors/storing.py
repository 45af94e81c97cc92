"""Storing what an extraction found: no text twice in a thread, and nothing for what is gone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from oracleagentmemory.apis.memorystore import PendingRecordBatch
from oracleagentmemory.apis.records import MemoryRecord, RecordStatus
from oracleagentmemory.apis.sources import MemorySource
from oracleagentmemory.core.extractors.normalise import normalised_text
from oracleagentmemory.errors import AgentMemoryError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.core.extractors.jobs import ExtractionJob
    from oracleagentmemory.core.extractors.journal import JobJournal
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory that is to be stored in the scope of a job's thread."""

    memory_id: str
    record_type: str
    text: str
    timestamp: str | None = None
    metadata: dict[str, Any] | None = None

    @property
    def likeness(self) -> tuple[str, str]:
        """What is equal for memories that say the same."""
        return (self.record_type, normalised_text(self.text))


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of new memories.

    Attributes:
        new: Those that are stored.
        ids: The stored memory of each, in order: its own id or that of an equal one.
        gone: Whether nothing is stored, since the thread or all its messages are gone.
    """

    new: list[NewMemory] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    gone: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return what a journal keeps."""
        return {"new": [one.memory_id for one in self.new], "ids": self.ids}


class _ChangedMeanwhileError(AgentMemoryError):
    """Another writer has added or ended an equal memory since this one was prepared."""


class MemoryWriter:
    """Stores the memories of one job.

    Args:
        model: Name of the model that found them.
        prompt_version: The prompt that found them.
    """

    def __init__(
        self,
        store: OracleMemoryStore,
        job: ExtractionJob,
        journal: JobJournal,
        *,
        model: str | None,
        prompt_version: str,
    ) -> None:
        self._store = store
        self._job = job
        self._journal = journal
        self._model = model
        self._prompt_version = prompt_version

    def store(self, key: str, found: Sequence[NewMemory], message_ids: Sequence[str]) -> Stored:
        """Store memories with their sources, unless an equal one only gains a source.

        Args:
            key: Where the journal notes it; what an earlier run of the job noted there is given
                back and nothing is written again.
            message_ids: The messages that they come from.
        """
        noted = self._journal.recall(key)
        if noted is not None:
            return Stored([one for one in found if one.memory_id in noted["new"]], noted["ids"])
        while True:
            try:
                return self._store.write(self._prepared(key, found, message_ids))
            except _ChangedMeanwhileError:  # each time another writer has got further
                continue

    def _prepared(
        self, key: str, found: Sequence[NewMemory], message_ids: Sequence[str]
    ) -> Prepared[Stored]:
        thread_id = self._job.thread_id or ""
        known, newest = self._known(0)
        new, ids = _without_equals(found, known)
        kept = {at: one.likeness for at, one in zip(ids, found, strict=True)}
        for one in new:
            del kept[one.memory_id]
        expires_at = self._store.first_expiry(message_ids) if found else None
        addition = self._store.prepare_add_batches(list(self._batches(new, expires_at)))
        longer = self._store.prepare_extend_life(list(kept), expires_at)
        locked = self._store.prepare_lock_messages(thread_id, message_ids)

        def apply(transaction: WriteTransaction) -> Stored:
            present = locked.apply(transaction)
            self._journal.fence(transaction)
            if not present:
                return Stored(gone=True)
            meanwhile, _ = self._known(newest)
            if any(one.likeness in meanwhile for one in new) or not self._still(kept):
                raise _ChangedMeanwhileError("an equal memory came or went meanwhile")
            addition.apply(transaction)
            longer.apply(transaction)
            own = {one.memory_id for one in new}
            self._sources(ids, own, present, message_ids).apply(transaction)
            stored = Stored(new, ids)
            self._journal.remember(key, stored.to_json(), transaction)
            return stored

        return Prepared(apply)

    def _still(self, kept: Mapping[str, tuple[str, str]]) -> bool:
        """Whether memories still are valid and say what they said."""
        return all(
            (memory := self._store.get_memory(memory_id)) is not None
            and _says(memory, likeness)
            and memory.thread_id == self._job.thread_id
            for memory_id, likeness in kept.items()
        )

    def _known(self, after: int) -> tuple[dict[tuple[str, str], str], int]:
        """Return the thread's valid memories by likeness, and the newest place among them."""
        texts = self._store.thread_texts(self._job.thread_id or "", after=after)
        known: dict[tuple[str, str], str] = {}
        for one in texts:
            if (one.user_id, one.agent_id) == (self._job.user_id, self._job.agent_id):
                known.setdefault((one.memory_type, normalised_text(one.content)), one.memory_id)
        return known, max((one.order_seq for one in texts), default=after)

    def _batches(
        self, new: Sequence[NewMemory], expires_at: datetime | None
    ) -> Iterator[PendingRecordBatch]:
        """Yield the memories as batches of one type each, in order.

        None outlives the first of its messages to go.
        """
        for record_type, group in itertools.groupby(new, key=lambda one: one.record_type):
            rows = list(group)
            yield PendingRecordBatch(
                contents=[one.text for one in rows],
                record_type=record_type,
                record_ids=[one.memory_id for one in rows],
                thread_ids=self._job.thread_id,
                user_ids=self._job.user_id,
                agent_ids=self._job.agent_id,
                timestamps=[one.timestamp for one in rows],
                metadata=[one.metadata for one in rows],
                _expires_at=[expires_at] * len(rows),
            )

    def _sources(
        self, memory_ids: Sequence[str], own: set[str], present: set[str], among: Sequence[str]
    ) -> Prepared[int]:
        """Note where memories come from.

        One that was there without any source, added by a caller for example, gains its sources
        without the job: it did not come from them and does not go with them.
        """
        kept = [one for one in dict.fromkeys(memory_ids) if one not in own]
        noted = self._store.memory_sources(kept) if kept else {}
        extracted = own | {
            one for one in kept if any(source.job_id is not None for source in noted[one])
        }
        return self._store.prepare_add_sources(
            [
                MemorySource(
                    memory_id=memory_id,
                    message_id=message_id,
                    job_id=self._job.job_id if memory_id in extracted else None,
                    model=self._model,
                    prompt_version=self._prompt_version,
                )
                for memory_id in dict.fromkeys(memory_ids)
                for message_id in among
                if message_id in present
            ]
        )


def _says(memory: MemoryRecord, likeness: tuple[str, str]) -> bool:
    said = (memory.record_type, normalised_text(memory.content or ""))
    return memory.status is RecordStatus.VALID and said == likeness


def _without_equals(
    found: Sequence[NewMemory], known: dict[tuple[str, str], str]
) -> tuple[list[NewMemory], list[str]]:
    """Return the memories that no other one equals, and each one's id or that of its equal."""
    ids_by_likeness = dict(known)
    new, ids = [], []
    for one in found:
        equal = ids_by_likeness.get(one.likeness)
        if equal is None:
            ids_by_likeness[one.likeness] = one.memory_id
            new.append(one)
        ids.append(equal or one.memory_id)
    return new, ids
