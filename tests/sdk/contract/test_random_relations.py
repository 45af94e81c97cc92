"""Random links, changes of them and of their memories: statuses equal those of a plain model."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.snapshots import check_agreement, rows_of
from tests.sdk.search.stores import Clock

STEPS, SEEDS = 70, 3
ENDING = {"supersedes", "refines", "duplicates"}
LABELS = [*sorted(ENDING), "supports", "contradicts", "mine"]
VALID, INVALID = RecordStatus.VALID, RecordStatus.INVALID


@dataclass
class Memory:
    """What the model knows of a memory."""

    kind: str
    thread_id: str | None
    ends_at: datetime | None
    by_hand: bool = False


@dataclass
class Model:
    """Memories, and source, target and label of each relation."""

    dice: random.Random
    clock: Clock
    store: SQLMemoryStore
    memories: dict[str, Memory] = field(default_factory=dict)
    links: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    count: int = 0

    def step(self) -> None:
        often = [self.link, self.link, self.link, self.add, self.relabel, self.unlink, self.by_hand]
        seldom = [self.delete, self.delete_thread, self.wait, self.purge]
        self.dice.choice(often * 2 + seldom)()

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def visible(self) -> list[str]:
        return [
            name
            for name, one in self.memories.items()
            if one.ends_at is None or one.ends_at > self.clock.now
        ]

    def add(self) -> None:
        kind, thread_id = self.dice.choice(("memory", "fact")), self.dice.choice(("t1", "t2", None))
        days, status = (
            self.dice.choice((None, None, 1, 2)),
            self.dice.choice((VALID, VALID, INVALID)),
        )
        new = self.name("m")
        self.store.add(["red"], kind, record_ids=new, thread_ids=thread_id, ttl_days=days,
                       statuses=status, user_ids=self.dice.choice(("u1", "u2", None)))  # fmt: skip
        end = None if days is None else self.clock.now + timedelta(days=days)
        self.memories[new] = Memory(kind, thread_id, end, by_hand=status is INVALID)

    def link(self) -> None:
        if len(self.visible()) < 2:
            return
        source, target = self.dice.sample(self.visible(), 2)
        label, new = self.dice.choice(LABELS), self.name("r")
        kinds = self.memories[source].kind, self.memories[target].kind
        ends = {one[:2] for one in self.links.values()}
        wrong = (target, source) in ends or (source, target, label) in self.links.values()
        arguments = (source, kinds[0], target, kinds[1], label)
        if wrong:
            with pytest.raises(ValueError, match="already"):
                self.store.add_relations(*arguments, relation_ids=new)
        else:
            assert self.store.add_relations(*arguments, relation_ids=new) == [new]
            self.links[new] = (source, target, label)

    def relabel(self) -> None:
        if not self.links:
            return
        chosen, label = self.dice.choice(list(self.links)), self.dice.choice(LABELS)
        source, target, _ = self.links[chosen]
        others = [one for key, one in self.links.items() if key != chosen]
        if (source, target, label) in others:
            with pytest.raises(ValueError, match="one type"):
                self.store.update_relations(chosen, label)
        else:
            assert self.store.update_relations([chosen, "nobody"], label) == [chosen]
            self.links[chosen] = (source, target, label)

    def unlink(self) -> None:
        some = self.dice.sample(list(self.links), min(len(self.links), self.dice.randint(0, 2)))
        assert self.store.delete_relations(some) == len(some)
        for one in some:
            del self.links[one]

    def by_hand(self) -> None:
        if not self.memories:
            return
        chosen = self.dice.choice(list(self.memories))
        status = self.dice.choice((VALID, INVALID))
        change: dict[str, Any] = {"metadata": {"n": self.count}} if self.dice.random() < 0.5 else {}
        assert self.store.update(self.memories[chosen].kind, chosen, status=status, **change) == 1
        self.memories[chosen].by_hand = status is INVALID

    def delete(self) -> None:
        if self.memories:
            chosen = self.dice.choice(list(self.memories))
            assert self.store.delete(self.memories[chosen].kind, chosen) == 1
            self.forget({chosen})

    def delete_thread(self) -> None:
        thread_id = self.dice.choice(("t1", "t2"))
        assert self.store.delete_thread(thread_id) == 1
        self.forget({name for name, one in self.memories.items() if one.thread_id == thread_id})
        self.create_thread(thread_id)

    def create_thread(self, thread_id: str) -> None:
        self.store.write(self.store.prepare_create_thread(thread_id, user_id="u1", agent_id=None))

    def wait(self) -> None:
        self.clock.pass_days(self.dice.choice((0.5, 1)))

    def purge(self) -> None:
        gone = self.memories.keys() - set(self.visible())
        assert self.store.purge_expired() == len(gone)
        self.forget(gone)

    def forget(self, names: Any) -> None:
        for name in names:
            del self.memories[name]
        self.links = {
            key: one for key, one in self.links.items() if not {one[0], one[1]} & set(names)
        }

    def check(self) -> None:
        ended = {target for _, target, label in self.links.values() if label in ENDING}
        wanted = {
            name: "invalid" if one.by_hand or name in ended else "valid"
            for name, one in self.memories.items()
        }
        rows = rows_of(self.store, self.store.tables.memory)
        assert {row.record_id: row.status for row in rows} == wanted
        chunks = rows_of(self.store, self.store.tables.record_chunks)
        assert {row.source_id: row.status for row in chunks} == wanted
        for row in rows:
            noted = (row.metadata or {}).get("$agent_memory", {})
            assert ("invalidation_reason" in noted) == (row.record_id in ended)
            assert ("invalidated_by" in noted) == self.memories[row.record_id].by_hand
        seen = set(self.visible())
        listed = {one.id for one in self.store.list_relations(limit=None)}
        assert listed == {key for key, one in self.links.items() if {one[0], one[1]} <= seen}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_statuses_equal_those_of_a_model_after_random_changes(
    store: SQLMemoryStore, clock: Clock, seed: int
) -> None:
    model = Model(random.Random(seed), clock, store)
    for thread_id in ("t1", "t2"):
        model.create_thread(thread_id)
    for _ in range(STEPS):
        model.step()
        model.check()
    check_agreement(store)
    assert store.check().ok
