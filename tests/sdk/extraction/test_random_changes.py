"""Many callers add, edit and delete at random while extraction runs: nothing breaks or is left."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import ILlm, LlmResponse, RecordStatus
from oracleagentmemory.core import (
    BackgroundExtractionQueueFullBehavior,
    MemoryExtractionConfig,
    OracleAgentMemory,
)
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.errors import DuplicateIdError, NotFoundError
from tests.sdk.extraction.dialogues import script
from tests.sdk.extraction.models import open_client

CONFIG = MemoryExtractionConfig(
    background_extraction_queue_full_behavior=BackgroundExtractionQueueFullBehavior.WAIT_THEN_RAISE
)
CALLERS, CALLS = 5, 40


class DialogueLlm(ILlm):
    """The model of the dialogues, without a server."""

    def generate(
        self, prompt: Any, *, response_json_schema: Any = None, **kwargs: Any
    ) -> LlmResponse:
        """Answer by what the messages say."""
        told = "\n".join(one["content"] for one in prompt)
        (reply,) = [one.reply for one in script() if one.when in told]
        assert reply is not None
        said = reply(told)
        return LlmResponse(said if isinstance(said, str) else json.dumps(said))


class Caller:
    """Does something to one of three threads at each call."""

    def __init__(self, client: OracleAgentMemory, store: SQLMemoryStore, seed: int) -> None:
        self.client = client
        self.store = store
        self.random = random.Random(seed)

    def run(self) -> None:
        """Call; what somebody else has created or deleted meanwhile is no failure."""
        ways: list[Callable[[OracleThread], object]] = [
            *[self.add] * 12,
            *[self.edit] * 3,
            *[self.delete_message] * 3,
            self.delete_memory,
            self.delete_thread,
            OracleThread.get_context_card,
        ]
        for _ in range(CALLS):
            try:
                self.random.choice(ways)(self.thread())
            except (NotFoundError, DuplicateIdError):
                continue

    def thread(self) -> OracleThread:
        thread_id = f"t{self.random.randrange(3)}"
        try:
            return self.client.get_thread(thread_id)
        except NotFoundError:
            return self.client.create_thread(thread_id=thread_id, user_id="u", agent_id="a")

    def add(self, thread: OracleThread) -> None:
        texts = [f"{thread.thread_id} says {self.random.randrange(20)}. Well." for _ in range(2)]
        thread.add_messages([{"role": "user", "content": text} for text in texts])

    def edit(self, thread: OracleThread) -> None:
        for one in thread.get_messages()[-1:]:
            text = f"{thread.thread_id} means {self.random.randrange(20)}."
            thread.update_message(str(one.id), content=text)

    def delete_message(self, thread: OracleThread) -> None:
        messages = thread.get_messages()
        if messages:
            chosen = str(self.random.choice(messages).id)
            # With the wait for running work, and behind its back.
            if self.random.random() < 0.5:
                thread.delete_message(chosen, derived=self.random.choice(["keep", "delete"]))
            else:
                self.store.delete("message", chosen)

    def delete_memory(self, thread: OracleThread) -> None:
        for one in self.store.list_memories(limit=None, thread_id=thread.thread_id)[-1:]:
            self.store.delete(one.record_type, one.id)

    def delete_thread(self, thread: OracleThread) -> None:
        if self.random.random() < 0.5:
            self.client.delete_thread(thread.thread_id)
        else:
            self.store.delete("thread", thread.thread_id)


@pytest.mark.parametrize("seed", [1, 2])
def test_callers_that_change_everything_break_nothing(seed: int, tmp_path: Path) -> None:
    with open_client(tmp_path / "memory.sqlite3", DialogueLlm(), CONFIG) as (client, store):
        callers = [Caller(client, store, seed * 100 + n) for n in range(CALLERS)]
        with ThreadPoolExecutor(CALLERS) as pool:
            list(pool.map(Caller.run, callers))
        client.wait_for_memory_extraction()
        results = client.extraction_results()
        assert {one.state for one in results} <= {"succeeded", "partial"}
        lost = {problem.step for one in results for problem in one.problems}
        assert lost <= {"extraction", "links"}
        assert store.check().findings == ()
        memories = store.list_memories(limit=None)
        valid = Counter(
            (one.thread_id, one.record_type, one.content)
            for one in memories
            if one.status is RecordStatus.VALID
        )
        assert set(valid.values()) <= {1}
        assert sum(len(one.memory_ids) for one in results) > CALLS
