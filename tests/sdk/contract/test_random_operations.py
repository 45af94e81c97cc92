"""Random operations against a plain dictionary: same records, and every table agrees."""

from __future__ import annotations

import random
from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.snapshots import check_agreement
from tests.sdk.search.stores import VOCABULARY

USERS = ("u1", "u2", None)
THREADS = ("t1", "t2", "t3")


class Model:
    """What a store should hold: content, metadata and status by type and id."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.threads: dict[str, str | None] = {}
        self.records: dict[tuple[str, str], dict[str, Any]] = {}
        self.count = 0

    def text(self) -> str:
        return " ".join(self.dice.choices(VOCABULARY, k=self.dice.randint(0, 4)))

    def step(self, store: SQLMemoryStore) -> None:
        actions = [self.add, self.add, self.add, self.update, self.update, self.delete,
                   self.thread, self.delete_thread, self.delete_user]  # fmt: skip
        self.dice.choice(actions)(store)

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
        store.add(texts, record_type, record_ids=ids, thread_ids=thread_id, user_ids=user_id,
                  roles=roles, metadata=metadata)  # fmt: skip
        for record_id, text in zip(ids, texts, strict=True):
            self.records[record_type, record_id] = {
                "content": text,
                "metadata": metadata,
                "thread_id": thread_id,
                "user_id": user_id,
                "status": RecordStatus.VALID,
            }

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
        assert store.update(*key, **change) == 1
        self.records[key] |= change

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
        assert found == self.records
        for user_id in USERS:
            wanted = {
                key
                for key, one in self.records.items()
                if one["user_id"] == user_id and one["content"]
            }
            hits = store.search("red", 1000, user_id=user_id, exact_user_match=True)
            assert {(one.record_type, one.id) for one, _ in hits} == wanted


@pytest.mark.parametrize("seed", range(4))
def test_random_operations_agree_with_a_dictionary_and_with_every_table(
    store: SQLMemoryStore, seed: int
) -> None:
    model = Model(random.Random(seed))
    store.add_agent("a1", "red")  # fixes the dimension, and stays out of every user's scope
    store.delete("agent_profile", "a1")
    for at in range(60):
        model.step(store)
        if at % 15 == 14:
            model.check(store)
            check_agreement(store)
