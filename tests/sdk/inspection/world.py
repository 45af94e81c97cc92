"""A small store full of differences, and the plain Python that says what a filter selects."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from oracleagentmemory.apis.memorystore import PendingRecordBatch
from oracleagentmemory.apis.records import RecordStatus
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.inspection import ANY

USERS = ("ada", "béla", "空", "d'oh")
AGENTS = ("scout", "a/b")
THREADS = tuple(f"thread {number}" for number in range(7))
TYPES = ("memory", "fact", "guideline", "preference")
_AT_ONCE = 15
EPOCH = datetime(2026, 3, 1, 12, tzinfo=UTC)
METADATA: tuple[dict[str, Any] | None, ...] = (None, {}, {"k": 1}, {"k": 2, "tags": ["x", "y"]})
#: Metadata filters with what they mean.
METADATA_FILTERS = (
    ({}, lambda metadata: True),
    ({"k": 1}, lambda metadata: metadata.get("k") == 1),
    ({"k": {"$not": 1}}, lambda metadata: metadata.get("k") != 1),
    ({"tags": {"$array_contains": "y"}}, lambda metadata: "y" in metadata.get("tags", [])),
)


@dataclass(frozen=True)
class Known:
    """A record as the test stored it."""

    id: str
    kind: str
    type: str
    user_id: str | None
    agent_id: str | None
    thread_id: str | None
    status: str | None
    effective_at: datetime
    metadata: dict[str, Any] | None
    expired: bool = False


class World:
    """The records of a store, in the order in which they were stored.

    Attributes:
        known: The records of each kind, oldest first.
    """

    def __init__(self, store: Any, seed: int = 7, size: int = 75) -> None:
        self.store = store
        self._random = random.Random(seed)
        self.known: dict[str, list[Known]] = {"thread": [], "message": [], "memory": []}
        for number, thread_id in enumerate(THREADS):
            self._add_thread(thread_id, EPOCH + timedelta(hours=number // 3))
        for start in range(0, size, _AT_ONCE):
            self._add_some(range(start, min(start + _AT_ONCE, size)))

    def ids(self, kind: str, filters: Mapping[str, Any]) -> list[str]:
        """The ids that a filter selects, newest first."""
        known = reversed(self.known[kind])
        return [record.id for record in known if selects(filters, record)]

    def _add_thread(self, thread_id: str, created_at: datetime) -> None:
        user_id, agent_id = self._random.choice(USERS), self._random.choice(AGENTS)
        metadata = self._random.choice(METADATA)
        self.store.engine.clock = lambda: created_at
        self.store.write(
            self.store.prepare_create_thread(
                thread_id,
                user_id=user_id,
                agent_id=agent_id,
                metadata=metadata,
                runtime_config={},
                runtime_state={},
            )
        )
        self.known["thread"].append(
            Known(
                id=thread_id,
                kind="thread",
                type="thread",
                user_id=user_id,
                agent_id=agent_id,
                thread_id=thread_id,
                status=None,
                effective_at=created_at,
                metadata=metadata,
            )
        )
        # Threads that were made at the same moment are ordered by their ids.
        self.known["thread"].sort(key=lambda thread: (thread.effective_at, thread.id))

    def _add_some(self, numbers: range) -> None:
        """Store records of all kinds in one transaction, so at one moment."""
        created_at = EPOCH + timedelta(minutes=numbers[0])
        self.store.engine.clock = lambda: created_at
        batches = []
        for number in numbers:
            kind = "message" if number % 3 == 0 else "memory"
            record, told = self._record(kind, number, created_at)
            self.known[kind].append(record)
            batches.append(self._batch(record, told))
        self.store.add_batches(batches)

    def _record(
        self, kind: str, number: int, created_at: datetime
    ) -> tuple[Known, datetime | None]:
        pick = self._random.choice
        told = pick((None, None, created_at + timedelta(days=self._random.randint(-40, 40))))
        expired = self._random.random() < 0.2
        if expired:
            told = EPOCH - timedelta(days=30)
        record = Known(
            id=f"{kind} {number}",
            kind=kind,
            type="message" if kind == "message" else pick(TYPES),
            user_id=pick((*USERS, None)),
            agent_id=pick((*AGENTS, None)),
            thread_id=pick((*THREADS, None)),
            status=pick(("valid", "valid", "invalid")),
            effective_at=created_at if told is None else told,
            metadata=pick(METADATA),
            expired=expired,
        )
        return record, told

    def _batch(self, record: Known, told: datetime | None) -> PendingRecordBatch:
        batch = PendingRecordBatch(
            contents=[f"text of {record.id}"],
            record_type=record.type,
            record_ids=record.id,
            user_ids=record.user_id,
            agent_ids=record.agent_id,
            thread_ids=record.thread_id,
            metadata=record.metadata,
            statuses=RecordStatus(record.status),
            timestamps=None if told is None else told.isoformat(),
        )
        if record.kind == "message":
            batch.roles = "user"
        if record.expired:
            batch.ttl_days, batch.ttl_anchor = 1, TimeToLiveAnchor.TIMESTAMP
        return batch


def selects(filters: Mapping[str, Any], record: Known) -> bool:
    """Whether a record is visible and fulfils every filter."""
    conditions = [not record.expired]
    for name in ("user_id", "agent_id", "thread_id"):
        wanted = filters.get(name, ANY)
        conditions.append(wanted is ANY or getattr(record, name) == wanted)
    for name, field in (("user_ids", "user_id"), ("memory_types", "type"), ("ids", "id")):
        members = filters.get(name)
        conditions.append(members is None or getattr(record, field) in members)
    conditions.append(filters.get("status") in (None, record.status))
    conditions.append(filters.get("since") is None or record.effective_at >= filters["since"])
    conditions.append(filters.get("until") is None or record.effective_at < filters["until"])
    meaning = {repr(one): test for one, test in METADATA_FILTERS}
    wanted = filters.get("metadata_filter")
    conditions.append(wanted is None or meaning[repr(wanted)](record.metadata or {}))
    return all(conditions)
