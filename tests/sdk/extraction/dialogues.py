"""Dialogues to import, a model that answers by what messages say, and what is then learnt.

The model is a script of the scripted server, so any process can be pointed at it. Links stay
within a thread, since the texts of its messages and memories begin with its id: so the order in
which threads take turns makes no difference. Where several threads share a user and an agent, the
nearest memories of one must be those of its own thread, which `ThreadEmbedder` sees to.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory.apis.records import MEMORY_TYPES, MemoryRecord
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.core.extractors.payloads import LINK_TYPES
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.testing import ScriptedAnswer
from tests.sdk.client.conftest import DIMENSION, WordEmbedder
from tests.sdk.extraction.models import EXTRACTION, LINKS, SUMMARY

FILE = Path(__file__).parents[3] / "benchmarks" / "data" / "sgd_dialogues.jsonl"

# In the rules before a prompt's elements no tag has a line of its own.
_FIRST_ELEMENT = re.compile(r"^<\w+>$", re.MULTILINE)


@dataclass(frozen=True)
class Dialogue:
    """A thread to be; its messages have ids, and texts that begin with the thread's."""

    thread_id: str
    user_id: str
    agent_id: str
    messages: tuple[dict[str, str], ...]

    def calls(self) -> Iterator[list[dict[str, str]]]:
        """Yield what each call of ``add_messages`` adds: one to five messages."""
        rest = list(self.messages)
        while rest:
            size = 1 + _number(rest[0]["content"]) % 5
            yield rest[:size]
            rest = rest[size:]


def read_dialogues(count: int, threads_per_scope: int = 1) -> list[Dialogue]:
    """Return the first of the 503 dialogues of the benchmarks.

    Args:
        threads_per_scope: How many have the same user and agent.
    """
    with FILE.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in itertools.islice(lines, count)]
    return [_dialogue(row, place // threads_per_scope) for place, row in enumerate(rows)]


def _dialogue(row: dict[str, Any], scope: int) -> Dialogue:
    thread_id = row["dialogue_id"]
    messages = tuple(
        {"id": f"{thread_id}-{n}", "role": one["role"], "content": f"{thread_id} {one['content']}"}
        for n, one in enumerate(row["messages"])
    )
    return Dialogue(thread_id, f"user-{scope // 5}", f"agent-{scope % 5}", messages)


def import_one_by_one(client: OracleAgentMemory, dialogues: Iterable[Dialogue]) -> None:
    """Add every message, one dialogue after another."""
    for dialogue in dialogues:
        thread = open_thread(client, dialogue)
        for messages in dialogue.calls():
            thread.add_messages(messages)


def import_in_turns(
    client: OracleAgentMemory, dialogues: Sequence[Dialogue], *, at_once: int = 25
) -> None:
    """Add every message, some dialogues at once, a call of each in turn."""
    for start in range(0, len(dialogues), at_once):
        some = dialogues[start : start + at_once]
        threads = [open_thread(client, one) for one in some]
        for turn in itertools.zip_longest(*(one.calls() for one in some)):
            for thread, messages in zip(threads, turn, strict=True):
                if messages is not None:
                    thread.add_messages(messages)


def open_thread(client: OracleAgentMemory, dialogue: Dialogue) -> OracleThread:
    """Create the thread of a dialogue."""
    return client.create_thread(
        thread_id=dialogue.thread_id, user_id=dialogue.user_id, agent_id=dialogue.agent_id
    )


class ThreadEmbedder(WordEmbedder):
    """Texts that begin with the same word are nearer to each other than to any other."""

    embedding_dimension = 2 * DIMENSION

    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[Any]:
        """Return one row a text: three quarters its first word, the rest its words."""
        firsts = np.stack([_direction(text.split(maxsplit=1)[0]) for text in texts])
        rows = np.hstack([3 * firsts, super().embed(texts)]) / np.sqrt(10)
        return rows.astype(np.float32)


def _direction(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    row = np.random.default_rng(seed).normal(size=DIMENSION)
    return row / np.linalg.norm(row)


# -- the model ----------------------------------------------------------------------------------


def script() -> list[ScriptedAnswer]:
    """Return what a scripted server needs to be the model."""
    return [
        ScriptedAnswer(when=EXTRACTION, reply=_memories, repeat=True),
        ScriptedAnswer(when=LINKS, reply=_links, repeat=True),
        ScriptedAnswer(when=SUMMARY, reply=_summary, repeat=True),
    ]


def taught_by(text: str) -> list[tuple[str, str]]:
    """Return type and text of each memory that the model finds in a message: none to two."""
    number = _number(text)
    whole = (MEMORY_TYPES[number % 4], text)
    first = (MEMORY_TYPES[number % 3], re.split(r"(?<=[.?!]) ", text)[0])
    return [[], [whole], [whole], [whole, first], [first]][number % 5]


def _memories(told: str) -> str:
    prompt = _prompt(told)
    past = [
        (int(one.findtext("candidate_index", "0")), _plain(one.findtext("text")))
        for one in prompt.iterfind("past_memories/memory")
    ]
    found: list[dict[str, Any]] = []
    for content in prompt.iterfind("new_messages/message/content"):
        for kind, text in taught_by(_plain(content.text)):
            links = [
                {"target_candidate_index": number, "link_type": link}
                for number, other in past
                if (link := _link_type(text, other))
            ]
            found.append({"text": text, "record_type": kind, "links": links})
    answer = json.dumps({"thoughts": None, "memories": found})
    # Models differ in how they wrap what they are asked for.
    return [answer, f"```json\n{answer}\n```", f"Here they are: {answer}"][len(answer) % 3]


def _links(told: str) -> Any:
    prompt = _prompt(told)
    targets = [_memory(one) for one in prompt.iterfind("existing_memories/memory")]
    resolutions: dict[str, Any] = {}
    for one in prompt.iterfind("new_memories/memory"):
        source_id, text = _memory(one)
        links = [
            {"target_memory_id": target_id, "link_type": link}
            for target_id, other in targets
            if (link := _link_type(text, other))
        ]
        merged = f"{text} (and more)" if len(links) > 1 else None
        resolutions[source_id] = {"updated_source_memory_text": merged, "links": links}
    return {"source_resolutions": resolutions}


def _link_type(text: str, other: str) -> str | None:
    """Return how two texts of one thread are linked, if they are."""
    number = _number(f"{text}\n{other}") % 12
    same_thread = text.split()[0] == other.split()[0]
    return LINK_TYPES[number] if same_thread and number < len(LINK_TYPES) else None


def _summary(told: str) -> Any:
    contents = [_plain(one.text) for one in _prompt(told).iter("content")]
    return {"summary": f"They said: {contents[-1]}", "topics": ["a talk"]}


def _prompt(told: str) -> ElementTree.Element:
    """Return the elements of a prompt."""
    first = _FIRST_ELEMENT.search(told)
    assert first is not None
    return ElementTree.fromstring(f"<prompt>{told[first.start() :]}</prompt>")


def _memory(element: ElementTree.Element) -> tuple[str, str]:
    return _plain(element.findtext("id")), _plain(element.findtext("text"))


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def _number(text: str) -> int:
    return zlib.crc32(text.encode())


# -- what is learnt -----------------------------------------------------------------------------

Learnt = tuple[Any, ...]


def expected_memories(store: SQLMemoryStore) -> set[Learnt]:
    """Return every memory of a store by what does not depend on when it was learnt.

    Each is its scope, type, text and status, the ids of the messages it came from, and its links:
    their type with the scope, type and text of the other memory.
    """
    memories = {one.id: one for one in store.list_memories(limit=None)}
    links: dict[str, set[Learnt]] = {one: set() for one in memories}
    for link in store.list_relations(limit=None):
        target = memories[link.target_record_id]
        links[link.source_record_id].add((link.relation_type, *_said(target)))
    sources = store.memory_sources(list(memories))
    learnt = {
        (
            *_said(memory),
            memory.status,
            frozenset(one.message_id for one in sources[memory_id]),
            frozenset(links[memory_id]),
        )
        for memory_id, memory in memories.items()
    }
    # Two that do not differ would hide each other.
    assert len(learnt) == len(memories)
    return learnt


def _said(memory: MemoryRecord) -> Learnt:
    scope = (memory.thread_id, memory.user_id, memory.agent_id)
    return (*scope, memory.record_type, memory.content)
