"""Random operations against a plain dictionary: same records, and every table agrees.

At the end the store is dumped and restored elsewhere: the same bytes again, whatever happened.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.backends import BACKENDS, forget
from tests.sdk.contract.snapshots import check_agreement
from tests.sdk.search.stores import DIMENSION, VOCABULARY, Clock, WordEmbedder

USERS = ("u1", "u2", None)
THREADS = ("t1", "t2", "t3")


class Model:
    """What a store should hold: content, metadata and status by type and id, and until when."""

    def __init__(self, dice: random.Random, clock: Clock) -> None:
        self.dice = dice
        self.clock = clock
        self.threads: dict[str, str | None] = {}
        self.records: dict[tuple[str, str], dict[str, Any]] = {}
        #: When a record was made and when it expires, by its key.
        self.lives: dict[tuple[str, str], tuple[datetime, datetime | None]] = {}
        self.count = 0

    def text(self) -> str:
        return " ".join(self.dice.choices(VOCABULARY, k=self.dice.randint(0, 4)))

    def step(self, store: SQLMemoryStore) -> None:
        often = [self.add, self.add, self.add, self.update, self.update, self.delete]
        seldom = [self.thread, self.delete_thread, self.delete_user, self.wait, self.purge]
        self.dice.choice([*often, *seldom])(store)

    def thread(self, store: SQLMemoryStore) -> None:
        thread_id = self.dice.choice(THREADS)
        if thread_id not in self.threads:
            user_id = self.threads[thread_id] = self.dice.choice(USERS)
            store.write(store.prepare_create_thread(thread_id, user_id=user_id, agent_id=None))

    def add(self, store: SQLMemoryStore) -> None:
        record_type = self.dice.choice(("memory", "fact", "message"))
        thread_id = self.dice.choice([*self.threads, None])
        user_id = self.dice.choice(USERS)
        ids = [f"r{self.count + at}" for at in range(self.dice.randint(1, 4))]
        self.count += len(ids)
        texts = [self.text() for _ in ids]
        metadata = self.dice.choice((None, {}, {"a": self.count}))
        roles = "user" if record_type == "message" else None
        days = self.dice.choice((None, None, 1, 2))
        store.add(texts, record_type, record_ids=ids, thread_ids=thread_id, user_ids=user_id,
                  roles=roles, metadata=metadata, ttl_days=days)  # fmt: skip
        for record_id, text in zip(ids, texts, strict=True):
            self.live((record_type, record_id), self.clock.now, days)
            self.records[record_type, record_id] = {
                "content": text,
                "metadata": metadata,
                "thread_id": thread_id,
                "user_id": user_id,
                "status": RecordStatus.VALID,
            }

    def live(self, key: tuple[str, str], created_at: datetime, days: int | None) -> None:
        end = None if days is None else created_at + timedelta(days=days)
        self.lives[key] = (created_at, end)

    def expired(self, key: tuple[str, str]) -> bool:
        end = self.lives[key][1]
        return end is not None and end <= self.clock.now

    def wait(self, store: SQLMemoryStore) -> None:
        self.clock.pass_days(self.dice.choice((0.25, 0.5, 1)))

    def purge(self, store: SQLMemoryStore) -> None:
        gone = [key for key in self.records if self.expired(key)]
        assert store.purge_expired() == len(gone)
        for key in gone:
            del self.records[key]

    def update(self, store: SQLMemoryStore) -> None:
        if not self.records:
            return
        key = self.dice.choice(list(self.records))
        change: dict[str, Any] = {}
        if self.dice.random() < 0.5:
            change["content"] = self.text()
        if key[0] == "message" and self.dice.random() < 0.5:
            change["status"] = self.dice.choice(list(RecordStatus))
        if not change:
            change["metadata"] = {"b": self.dice.random()}
        days = self.dice.choice((None, 1, 3))
        life: dict[str, Any] = {"ttl_days": days} if self.dice.random() < 0.3 else {}
        assert store.update(*key, **change, **life) == 1
        self.records[key] |= change
        if life:
            self.live(key, self.lives[key][0], days)

    def delete(self, store: SQLMemoryStore) -> None:
        if self.records:
            key = self.dice.choice(list(self.records))
            assert store.delete(*key) == 1
            del self.records[key]

    def delete_thread(self, store: SQLMemoryStore) -> None:
        if self.threads and self.dice.random() < 0.5:
            thread_id = self.dice.choice(list(self.threads))
            assert store.delete_thread(thread_id) == 1
            self.forget(threads={thread_id}, user_id=0)

    def delete_user(self, store: SQLMemoryStore) -> None:
        if self.dice.random() < 0.3:
            assert store.delete("user_profile", "u1", cascade=True) == 0
            owned = {one for one, user_id in self.threads.items() if user_id == "u1"}
            self.forget(threads=owned, user_id="u1")

    def forget(self, *, threads: set[str], user_id: Any) -> None:
        for thread_id in threads:
            del self.threads[thread_id]
        self.records = {
            key: one
            for key, one in self.records.items()
            if one["thread_id"] not in threads and one["user_id"] != user_id
        }

    def check(self, store: SQLMemoryStore) -> None:
        listed: list[Any] = [
            *store.list("message", limit=None),
            *store.list_memories(limit=None),
        ]
        found = {
            (one.record_type, one.id): {
                "content": one.content,
                "metadata": one.metadata,
                "thread_id": one.thread_id,
                "user_id": one.user_id,
                "status": one.status,
            }
            for one in listed
        }
        visible = {key: one for key, one in self.records.items() if not self.expired(key)}
        assert found == visible
        for user_id in USERS:
            wanted = {
                key for key, one in visible.items() if one["user_id"] == user_id and one["content"]
            }
            hits = store.search("red", 1000, user_id=user_id, exact_user_match=True)
            assert {(one.record_type, one.id) for one, _ in hits} == wanted


@pytest.mark.parametrize("seed", range(4))
def test_random_operations_agree_with_a_dictionary_and_with_every_table(
    store: SQLMemoryStore, seed: int, clock: Clock, backend: str, tmp_path: Path
) -> None:
    if backend == "oracle-live":
        pytest.skip("expiry is compared with the database's clock, which no test can move")
    model = Model(random.Random(seed), clock)
    store.add_agent("a1", "red")  # fixes the dimension, and stays out of every user's scope
    store.delete("agent_profile", "a1")
    for at in range(75):
        model.step(store)
        if at % 15 == 14:
            model.check(store)
            check_agreement(store)
    assert store.check().ok
    folder = tmp_path / "restored"
    folder.mkdir()
    restored = BACKENDS[backend](folder, embedder=WordEmbedder(), vector_dim=DIMENSION)
    restored.engine.clock = clock
    try:
        with store.dump() as first:
            restored.restore(first)
            first.seek(0)
            with restored.dump() as second:
                assert second.read() == first.read()
        model.check(restored)
        assert restored.check().ok
    finally:
        restored.close()
        forget(backend, folder)
