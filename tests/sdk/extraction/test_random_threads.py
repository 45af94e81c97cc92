"""Random life of two threads against a plain model: what is learnt, from what, and what it leaves.

The model of the test learns every message whole, so that a plain list can tell what there must be.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import MemoryRecord, RecordStatus
from oracleagentmemory.core import MemoryLinkExtractionMode, OracleAgentMemory
from oracleagentmemory.core.extractors.normalise import normalised_text
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from tests.sdk.extraction.models import inline, open_client
from tests.sdk.extraction.steps import StepLlm

#: Few, and alike, so that much is said twice.
TEXTS = ("likes tea", "Likes  TEA.", "lives in Lyon", "owns a cat", "喜欢茶", "喜欢茶。", "")
CONFIG = inline(
    enable_context_summary=False, memory_link_extraction_mode=MemoryLinkExtractionMode.DISABLED
)


@dataclass(eq=False)
class Memory:
    """What a memory should be; ``sources`` say of each message whether it was extracted."""

    thread_id: str
    record_type: str
    text: str
    sources: dict[str, bool] = field(default_factory=dict)

    @property
    def likeness(self) -> tuple[str, str, str]:
        return self.thread_id, self.record_type, normalised_text(self.text)


class Model:
    """Acts on the threads, and notes what there must be then."""

    def __init__(
        self, dice: random.Random, client: OracleAgentMemory, store: SQLMemoryStore
    ) -> None:
        self.dice = dice
        self.client = client
        self.store = store
        self.threads = {
            name: client.create_thread(thread_id=name, user_id="u1", agent_id="a1")
            for name in ("t1", "t2")
        }
        self.messages: dict[str, str] = {}
        self.memories: list[Memory] = []
        #: Pairs of which the first ends the second.
        self.links: list[tuple[Memory, Memory]] = []
        self.count = 0

    def step(self) -> None:
        often = [self.tell, self.tell, self.tell, self.edit, self.forget]
        self.dice.choice([*often, self.add, self.rewrite, self.delete, self.end, self.revive])()

    def text(self) -> str:
        return self.dice.choice(TEXTS)

    def thread(self) -> OracleThread:
        return self.dice.choice(list(self.threads.values()))

    def stored(self, memory: Memory) -> MemoryRecord:
        """Return the record of a memory: both sides keep the order in which they came."""
        return self.store.list_memories(limit=None)[self.memories.index(memory)]

    # -- messages

    def tell(self) -> None:
        thread, texts = self.thread(), [self.text() for _ in range(self.dice.randint(1, 3))]
        ids = [f"m{self.count + at}" for at in range(len(texts))]
        self.count += len(ids)
        thread.add_messages(
            [
                {"role": "user", "content": text, "id": one}
                for one, text in zip(ids, texts, strict=True)
            ]
        )
        self.messages |= dict.fromkeys(ids, thread.thread_id)
        self.learn(thread.thread_id, texts, ids)

    def edit(self) -> None:
        if self.messages:
            message_id, thread_id = self.dice.choice(list(self.messages.items()))
            text = self.text()
            self.threads[thread_id].update_message(message_id, content=text)
            self.learn(thread_id, [text], [message_id])

    def forget(self) -> None:
        if not self.messages:
            return
        message_id, thread_id = self.dice.choice(list(self.messages.items()))
        derived: Any = self.dice.choice(("keep", "delete"))
        assert self.threads[thread_id].delete_message(message_id, derived=derived) == 1
        del self.messages[message_id]
        if derived == "delete":
            for one in [one for one in self.memories if one.sources == {message_id: True}]:
                self.drop(one)
        for one in self.memories:
            one.sources.pop(message_id, None)

    def learn(self, thread_id: str, texts: list[str], message_ids: list[str]) -> None:
        """Note what an extraction of these messages leaves."""
        for text in texts:
            new = Memory(thread_id, "fact", " ".join(text.split()))
            if not new.text:
                continue
            equal = (one for one in self.memories if one.likeness == new.likeness)
            known = next(filter(self.is_valid, equal), None)
            if known is None:
                self.memories.append(new)
            memory = known or new
            extracted = known is None or any(known.sources.values())
            for message_id in message_ids:
                memory.sources.setdefault(message_id, extracted)

    # -- memories

    def add(self) -> None:
        thread, text = self.thread(), self.text()
        record_type: Any = self.dice.choice(("fact", "memory"))
        thread.add_memory(text, memory_type=record_type, autonomous_linking=False)
        self.memories.append(Memory(thread.thread_id, record_type, text))

    def rewrite(self) -> None:
        if self.memories:
            memory, text = self.dice.choice(self.memories), self.text()
            self.client.update_memory(self.stored(memory).id, content=text)
            memory.text = text

    def delete(self) -> None:
        if self.memories:
            memory = self.dice.choice(self.memories)
            assert self.client.delete_memory(self.stored(memory).id) == 1
            self.drop(memory)

    def drop(self, memory: Memory) -> None:
        self.memories.remove(memory)
        self.links = [pair for pair in self.links if memory not in pair]

    def end(self) -> None:
        if len(self.memories) < 2:
            return
        pair = tuple(self.dice.sample(self.memories, 2))
        if not any(set(one) == set(pair) for one in self.links):
            source, target = map(self.stored, pair)
            self.client.link_records(
                source.id, source.record_type, target.id, target.record_type, "supersedes"
            )
            self.links.append((pair[0], pair[1]))

    def revive(self) -> None:
        if self.links:
            pair = self.dice.choice(self.links)
            source, target = map(self.stored, pair)
            (link,) = (
                one
                for one in self.store.list_relations(limit=None)
                if (one.source_record_id, one.target_record_id) == (source.id, target.id)
            )
            assert self.client.delete_record_link(relation_id=link.id) == 1
            self.links.remove(pair)

    # -- comparing

    def is_valid(self, memory: Memory) -> bool:
        return all(target is not memory for _, target in self.links)

    def expected(self) -> list[Any]:
        return [
            (one.thread_id, one.record_type, one.text, self.is_valid(one), one.sources)
            for one in self.memories
        ]

    def found(self) -> list[Any]:
        records = self.store.list_memories(limit=None)
        sources = self.store.memory_sources([one.id for one in records])
        return [
            (
                one.thread_id,
                one.record_type,
                one.content or "",
                one.status is RecordStatus.VALID,
                {source.message_id: source.job_id is not None for source in sources[one.id]},
            )
            for one in records
        ]


@pytest.mark.parametrize("seed", range(6))
def test_what_threads_learn_follows_a_plain_model(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    with open_client(tmp_path / "memory.sqlite3", StepLlm(), CONFIG) as (client, store):
        model = Model(dice, client, store)
        for number in range(60):
            model.step()
            assert model.found() == model.expected(), (seed, number)
        assert store.check().findings == ()
        assert {one.id for one in store.list("message", limit=None)} == set(model.messages)
        # It did not pass by doing nothing.
        assert any(len(one.sources) > 1 for one in model.memories)
