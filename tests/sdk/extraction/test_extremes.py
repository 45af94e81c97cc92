"""Answers and messages at the edge of what can be: size, depth, numbers, invisible text."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracleagentmemory.apis import ILlm, LlmResponse
from oracleagentmemory.apis.llms.llm import LlmUsage
from oracleagentmemory.core import MemoryExtractionConfig, MemoryExtractionMode, OracleAgentMemory
from oracleagentmemory.core.embedders import LocalEmbedder
from oracleagentmemory.core.extractors.jobs import JobResult
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.errors import InvalidInputError, ModelAnswerError, RetryableError, StateError
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.client.conftest import WordEmbedder
from tests.sdk.client.models import ListedLlm
from tests.sdk.extraction.answers import BOTH, LYON, TEA, item, whole
from tests.sdk.extraction.models import inline, memories_of, open_client, said, scripted_llm

CONFIG = inline(enable_context_summary=False)
HELLO = [{"role": "user", "content": "hello"}]
#: Processor seconds that nothing here may take, LiteLLM's import and a slow machine included.
LONG_S = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as started:
        yield started


@pytest.fixture(scope="module")
def opened(
    server: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OracleAgentMemory, SQLMemoryStore]]:
    path = tmp_path_factory.mktemp("extremes") / "memory.sqlite3"
    with open_client(path, scripted_llm(server), CONFIG, LocalEmbedder()) as both:
        yield both


@pytest.fixture
def store(opened: tuple[OracleAgentMemory, SQLMemoryStore]) -> SQLMemoryStore:
    return opened[1]


@pytest.fixture
def thread(
    opened: tuple[OracleAgentMemory, SQLMemoryStore], request: pytest.FixtureRequest
) -> OracleThread:
    """A thread whose user and agent nobody else has, so that it finds no older memories."""
    name = request.node.name[:80]
    return opened[0].create_thread(user_id=f"user of {name}", agent_id=f"agent of {name}")


def contents(store: SQLMemoryStore, thread: OracleThread) -> list[str | None]:
    return [one.content for one in memories_of(store, thread)]


ODD_ANSWERS = {
    "not a number": whole(TEA, LYON).replace('"importance": null', '"importance": NaN'),
    "endless": whole(TEA, LYON).replace('"importance": null', '"importance": -Infinity'),
    "too large": whole(TEA, LYON).replace('"importance": null', '"importance": 1e999'),
    "five thousand digits": whole(TEA, LYON).replace(
        '"importance": null', f'"importance": {"9" * 5_000}'
    ),
    "a million digits in words": whole(TEA, item("lives in Lyon", importance="9" * 1_000_000)),
    "the same key a thousand times": '{"memories": [' + '"x", ' * 0 + "{"
    + '"text": "lives in Lyon", ' * 1_000 + '"record_type": "fact"}, '
    + json.dumps(TEA) + "]}",
    "fifty thousand brackets": whole(TEA, LYON) + "[" * 50_000,
    "fifty thousand braces before": "{" * 50_000 + whole(TEA, LYON),
    "a deep scope": whole({**TEA, "scope": json.loads("[" * 500 + "]" * 500)}, LYON),
    "keys of objects": whole({**TEA, "__proto__": {"text": "x"}, "constructor": None}, LYON),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_ANSWERS)
def test_an_odd_answer_keeps_what_can_be_kept(
    name: str, server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    server.add(ScriptedAnswer(text=ODD_ANSWERS[name]))
    began = time.process_time()
    thread.add_messages(HELLO)
    assert time.process_time() - began < LONG_S
    assert set(contents(store, thread)) == {"drinks tea", "lives in Lyon"}
    (result,) = thread.extraction_results()
    check_travels(result)
    assert all(len(one.raw or "") <= 1_000 for one in result.problems)


def check_travels(result: JobResult) -> None:
    """Any reader of JSON can read the result, and any database can keep it."""
    text = json.dumps(result.to_json(), allow_nan=False, ensure_ascii=False)
    text.encode()
    words = [result.answers[0].raw, result.answers[0].finish_reason] if result.answers else []
    assert "\x00" not in "".join([*map(str, words), *(one.reason for one in result.problems)])
    assert JobResult.from_json(json.loads(text)) == result


@pytest.mark.parametrize(
    "text",
    ["\u200b", "\u200b\u200d\ufeff", "🙂", "…", "。", "\x01", "\u202e", "\u0301", "-", "ﷺ" * 30],
    ids=ascii,
)
def test_a_memory_of_hardly_any_text_is_no_trap(
    text: str, server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    server.add(ScriptedAnswer(text=whole(TEA, item(text), LYON)))
    thread.add_messages(HELLO)
    kept = contents(store, thread)
    assert [one for one in kept if one in ("drinks tea", "lives in Lyon")] == [
        "drinks tea",
        "lives in Lyon",
    ]
    assert len(store.search("tea", 10, user_id=thread.user_id)) >= 2


def test_a_message_that_is_longer_than_any_prompt(
    server: ScriptedModelServer, opened: tuple[OracleAgentMemory, SQLMemoryStore]
) -> None:
    client, store = opened
    thread = client.create_thread(user_id="u", agent_id="a", max_message_token_length=0)
    text = "I drink tea & <coffee>.\n" * 50_000
    server.add(ScriptedAnswer(text=BOTH))
    began = time.process_time()
    thread.add_messages([{"role": "user", "content": text}])
    assert time.process_time() - began < LONG_S
    assert len(said(server.requests[-1])) < 450_000
    assert thread.get_messages()[0].content == text
    assert len(contents(store, thread)) == 2
    (result,) = thread.extraction_results()
    assert result.state == "partial"
    assert "memory_extraction_token_limit" in result.problems[0].reason


def test_a_thousand_messages_of_one_call(
    server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    server.add(ScriptedAnswer(text=whole(*(item(f"owns book {n}") for n in range(100)))))
    began = time.process_time()
    ids = thread.add_messages([{"role": "user", "content": f"note {n}"} for n in range(1_000)])
    assert time.process_time() - began < LONG_S
    memories = memories_of(store, thread)
    assert len(memories) == 100
    (sources,) = store.memory_sources([memories[0].id]).values()
    assert [one.message_id for one in sources] == ids


def test_messages_that_do_not_fit_into_the_prompt_are_no_sources(
    server: ScriptedModelServer, opened: tuple[OracleAgentMemory, SQLMemoryStore]
) -> None:
    client, store = opened
    small = inline(enable_context_summary=False, memory_extraction_token_limit=2_500)
    thread = client.create_thread(
        user_id="u", agent_id="small", memory_extraction_config=small, max_message_token_length=0
    )
    server.add(ScriptedAnswer(text=whole(TEA)))
    messages = [{"role": "user", "content": f"note {n}", "metadata": {"n": n}} for n in range(99)]
    messages.append({"role": "user", "content": "I drink tea.", "metadata": {"n": 99}})
    ids = thread.add_messages(messages)
    told = re.findall("note [0-9]+", said(server.requests[-1]))
    assert 0 < len(told) < 99
    (memory,) = memories_of(store, thread)
    sources = [one.message_id for one in store.memory_sources([memory.id])[memory.id]]
    assert sources == ids[-len(told) - 1 :]
    (result,) = thread.extraction_results()
    assert result.state == "partial"
    assert f"{99 - len(told)} new messages" in result.problems[0].reason


@pytest.mark.parametrize("bad", ["\ud800", "tea\x00", "\udfff\ud83d"], ids=ascii)
def test_a_message_that_cannot_be_stored_asks_no_model(
    bad: str, server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    before = len(server.requests)
    with pytest.raises(InvalidInputError):
        thread.add_messages([*HELLO, {"role": "user", "content": bad}])
    assert len(server.requests) == before
    assert thread.get_messages() == []


def test_a_lone_surrogate_in_the_answers_body_is_mended(
    server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    server.add(ScriptedAnswer(text=whole(item("likes \ud83d apples\x00"), 7)))
    thread.add_messages(HELLO)
    assert contents(store, thread) == ["likes \ufffd apples"]
    (result,) = thread.extraction_results()
    assert [one.raw for one in result.problems] == ["7"]
    check_travels(result)


# -- models and embedders that are no good ------------------------------------------------------


class RudeLlm(ILlm):
    """Answers with whatever it was given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.model = "rude"

    def generate(self, prompt: Any, *, response_json_schema: Any = None, **kwargs: Any) -> Any:
        """Give or raise it."""
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [None, 7, b"[]", {"memories": []}, LlmResponse(None)])  # type: ignore[arg-type]
def test_an_answer_that_is_no_text(answer: Any, tmp_path: Path) -> None:
    with open_client(tmp_path / "memory.sqlite3", RudeLlm(answer), CONFIG) as (client, _):
        thread = client.create_thread(user_id="u", agent_id="a")
        with pytest.raises(ModelAnswerError, match="not a text"):
            thread.add_messages(HELLO)
        assert len(thread.get_messages()) == 1
        (result,) = thread.extraction_results()
        assert result.state == "failed"


@pytest.mark.parametrize(
    "usage", [None, "many", LlmUsage(1.5, 2), LlmUsage("a", 2), LlmUsage(-1, 2), LlmUsage(True, 2)]
)  # type: ignore[arg-type]
def test_a_result_travels_whatever_a_model_says_beside_its_text(usage: Any, tmp_path: Path) -> None:
    answer = LlmResponse(whole(TEA), usage, finish_reason="sto\ud800p\x00")
    llm = RudeLlm(answer)
    llm.model = "model \udfff"
    with open_client(tmp_path / "memory.sqlite3", llm, CONFIG) as (client, store):
        thread = client.create_thread(user_id="u", agent_id="a")
        thread.add_messages(HELLO)
        (memory,) = memories_of(store, thread)
        (result,) = thread.extraction_results()
        assert result.answers[0].usage is None
        assert store.memory_sources([memory.id])[memory.id][0].model == "model \ufffd"
        check_travels(result)
        llm.answer = RetryableError("busy \ud800\x00")
        with pytest.raises(RetryableError):
            thread.add_messages(HELLO)
        check_travels(thread.extraction_results()[-1])


@pytest.mark.parametrize(
    ("name", "noted"),
    [
        ("", None),
        (7, None),
        ("é" * 100, "é" * 64),
        ("arn:aws:" + "x" * 300, "arn:aws:" + "x" * 120),
    ],
    ids=["empty", "a number", "two bytes a letter", "long"],
)
def test_a_models_name_is_noted_as_far_as_there_is_room(
    name: Any, noted: str | None, tmp_path: Path
) -> None:
    llm = RudeLlm(LlmResponse(whole(TEA)))
    llm.model = name
    with open_client(tmp_path / "memory.sqlite3", llm, CONFIG) as (client, store):
        thread = client.create_thread(user_id="u", agent_id="a")
        thread.add_messages(HELLO)
        (memory,) = memories_of(store, thread)
        assert store.memory_sources([memory.id])[memory.id][0].model == noted
        assert thread.extraction_results()[0].answers[0].model == noted


@pytest.mark.parametrize("failure", [SystemExit("out"), KeyboardInterrupt(), RecursionError("x")])
def test_a_model_that_ends_its_thread_ends_one_job(failure: BaseException, tmp_path: Path) -> None:
    background = MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.BACKGROUND)
    with open_client(tmp_path / "memory.sqlite3", RudeLlm(failure), CONFIG) as (client, store):
        options = {"user_id": "u", "agent_id": "a", "memory_extraction_config": background}
        bad = client.create_thread(**options)
        good = client.create_thread(**options, llm=ListedLlm({"memories": [TEA]}))
        bad.add_messages(HELLO)
        good.add_messages(HELLO)
        client.wait_for_memory_extraction(20)
        assert [one.state for one in bad.extraction_results()] == ["failed"]
        assert contents(store, good) == ["drinks tea"]


class SulkingEmbedder(WordEmbedder):
    """Embeds messages but no memory."""

    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[Any]:
        """Raise for what extraction found."""
        if "drinks tea" in texts:
            raise RetryableError("the embedder is busy")
        return super().embed(texts, is_query=is_query)


def test_an_embedder_that_fails_loses_no_answer(tmp_path: Path) -> None:
    llm = ListedLlm({"memories": [TEA, LYON]})
    path = tmp_path / "memory.sqlite3"
    with open_client(path, llm, CONFIG, SulkingEmbedder()) as (client, store):
        thread = client.create_thread(user_id="u", agent_id="a")
        with pytest.raises(RetryableError, match="embedder is busy"):
            thread.add_messages(HELLO)
        assert store.list_memories(limit=None) == []
        (result,) = thread.extraction_results()
        assert result.state == "failed"
        assert "drinks tea" in result.answers[0].raw


def test_vectors_that_are_no_numbers_store_no_half_of_an_answer(tmp_path: Path) -> None:
    class Broken(WordEmbedder):
        def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[Any]:
            rows = super().embed(texts, is_query=is_query)
            return np.full_like(rows, np.nan) if "lives in Lyon" in texts else rows

    llm = ListedLlm({"memories": [TEA, LYON]})
    with open_client(tmp_path / "memory.sqlite3", llm, CONFIG, Broken()) as (client, store):
        thread = client.create_thread(user_id="u", agent_id="a")
        with pytest.raises(StateError, match="not finite"):
            thread.add_messages(HELLO)
        assert store.list_memories(limit=None) == []
        assert "lives in Lyon" in thread.extraction_results()[0].answers[0].raw
