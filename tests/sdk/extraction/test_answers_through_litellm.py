"""What a thread keeps of the answers of models: LiteLLM's client against a server over HTTP."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator

import pytest

from oracleagentmemory.apis import MemoryRecord
from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.core.extractors.jobs import JobResult
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.extraction.answers import BOTH, CASES, KEPT, LYON, TEA, Case, item, whole
from tests.sdk.extraction.models import (
    EXTRACTION,
    inline,
    memories_of,
    open_client,
    said,
    scripted_llm,
)

MESSAGES = [
    {"role": "user", "content": "I moved to Lyon, and no coffee for me, please: tea."},
    {"role": "assistant", "content": "Noted & written down: <tea>!"},
]


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as started:
        yield started


@pytest.fixture(scope="module")
def opened(
    server: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OracleAgentMemory, SQLMemoryStore]]:
    path = tmp_path_factory.mktemp("answers") / "memory.sqlite3"
    with open_client(path, scripted_llm(server), inline(enable_context_summary=False)) as both:
        yield both


@pytest.fixture
def store(opened: tuple[OracleAgentMemory, SQLMemoryStore]) -> SQLMemoryStore:
    return opened[1]


@pytest.fixture
def thread(
    opened: tuple[OracleAgentMemory, SQLMemoryStore], request: pytest.FixtureRequest
) -> OracleThread:
    """A thread whose user and agent nobody else has, so that it finds no older memories."""
    name = request.node.name
    return opened[0].create_thread(user_id=f"user of {name}", agent_id=f"agent of {name}")


def learn(
    thread: OracleThread, messages: list[dict[str, str]] = MESSAGES
) -> tuple[list[str], JobResult, list[str]]:
    """Add messages; return their ids, what came of it, and what the caller was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ids = thread.add_messages(messages)
    return ids, thread.extraction_results()[-1], [str(one.message) for one in caught]


def check_messages_are_intact(thread: OracleThread, ids: list[str]) -> None:
    stored = [(one.id, one.role, one.content) for one in thread.get_messages()]
    assert stored == [
        (id_, one["role"], one["content"]) for id_, one in zip(ids, MESSAGES, strict=True)
    ]


def check_memories_are_the_threads(
    store: SQLMemoryStore,
    thread: OracleThread,
    memories: list[MemoryRecord],
    ids: list[str],
    job_id: str,
) -> None:
    """Each is in the scope of its thread and names both messages and the job."""
    sources = store.memory_sources([one.id for one in memories])
    for one in memories:
        scope = (one.thread_id, one.user_id, one.agent_id)
        assert scope == (thread.thread_id, thread.user_id, thread.agent_id)
        assert [source.message_id for source in sources[one.id]] == ids
        assert {source.job_id for source in sources[one.id]} == {job_id}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_thread_keeps_of_an_answer(
    case: Case, server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    before = len(server.requests)
    server.add(ScriptedAnswer(text=case.answer, finish_reason=case.finish_reason))
    ids, result, warned = learn(thread)

    assert [EXTRACTION in said(one) for one in server.requests[before:]] == [True]
    check_messages_are_intact(thread, ids)
    memories = memories_of(store, thread)
    assert [(one.record_type, one.content) for one in memories] == list(case.kept)
    check_memories_are_the_threads(store, thread, memories, ids, result.job_id)
    first = (memories[0].metadata or {}) if memories else {}
    assert first.get(RESERVED_KEY, {}) == case.reserved

    assert result.memory_ids == tuple(one.id for one in memories)
    assert result.state == ("partial" if case.lost else "succeeded")
    assert [one.step for one in result.problems] == ["extraction"] * len(case.lost)
    for part, problem in zip(case.lost, result.problems, strict=True):
        assert part in problem.reason
        assert problem.raw is not None
    # The job keeps the answer as it came; what a model thinks aloud, LiteLLM takes off.
    raw = case.answer.rpartition("</think>")[2]
    assert [(one.step, one.raw) for one in result.answers] == [("extraction", raw)]
    assert result.answers[0].finish_reason == case.finish_reason
    assert len(warned) == int(case.warns), warned


def test_what_is_lost_is_in_the_result_word_by_word(
    server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    bad = [7, {"record_type": "fact", "note": "héllo"}, {"fact": 1}, "x" * 20_001]
    server.add(ScriptedAnswer(text=whole(TEA, *bad, LYON)))
    _, result, warned = learn(thread)
    raw = [one.raw or "" for one in result.problems]
    assert [json.loads(one) for one in raw[:3]] == bad[:3]
    assert raw[3] == "x" * 1_000
    assert len(result.memory_ids) == 2
    assert warned == []


def test_of_ten_thousand_memories_the_first_hundred_are_kept(
    server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    answer = whole(*(item(f"owns {number}") for number in range(10_000)))
    server.add(ScriptedAnswer(text=answer))
    _, result, warned = learn(thread)
    assert len(result.memory_ids) == len(memories_of(store, thread)) == 100
    assert len(result.answers[0].raw) == len(answer)
    assert len(warned) == 1


def test_the_same_answer_again_adds_sources_only(
    server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    server.add(ScriptedAnswer(text=BOTH), ScriptedAnswer(text=BOTH.replace("drinks", "DRINKS")))
    first, one, _ = learn(thread)
    second, two, _ = learn(thread)
    assert one.memory_ids == two.memory_ids
    memories = memories_of(store, thread)
    assert [(one.record_type, one.content) for one in memories] == list(KEPT)
    sources = store.memory_sources(two.memory_ids)
    assert all([s.message_id for s in rows] == first + second for rows in sources.values())
