"""What adding messages does when the model behind LiteLLM fails: what raises, and what stays."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core import MemoryExtractionConfig, MemoryExtractionMode, OracleAgentMemory
from oracleagentmemory.core.extractors.payloads import extraction_schema
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.errors import ModelError, RetryableError
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.extraction.answers import BOTH, TEA, item, whole
from tests.sdk.extraction.models import (
    EXTRACTION,
    LINKS,
    SUMMARY,
    inline,
    memories_of,
    open_client,
    said,
    scripted_llm,
)

BAD_GATEWAY = "<html>bad gateway</html>"
REFUSED = {
    "id": "x",
    "object": "chat.completion",
    "created": 0,
    "model": "scripted",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": None, "refusal": "I must not."},
        }
    ],
}

FAILURES = [
    pytest.param(ScriptedAnswer(status=429, retry_after=7), RetryableError, "wait 7 s", id="429"),
    pytest.param(ScriptedAnswer(status=500, text="oops"), RetryableError, "oops", id="500"),
    pytest.param(ScriptedAnswer(status=503, text="later"), RetryableError, "later", id="503"),
    pytest.param(ScriptedAnswer(status=400, text="too long"), ModelError, "too long", id="400"),
    pytest.param(ScriptedAnswer(status=401), ModelError, "refuses the key", id="401"),
    pytest.param(ScriptedAnswer(cut_after=40), RetryableError, "hung up", id="hangs up"),
    pytest.param(ScriptedAnswer(raw='{"choices": ['), RetryableError, "not JSON", id="half"),
    pytest.param(ScriptedAnswer(raw=BAD_GATEWAY), RetryableError, "not JSON", id="HTML"),
    pytest.param(ScriptedAnswer(raw=json.dumps(REFUSED)), ModelError, "refused", id="refusal"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as started:
        yield started


@pytest.fixture(scope="module")
def opened(
    server: ScriptedModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[OracleAgentMemory, SQLMemoryStore]]:
    path = tmp_path_factory.mktemp("failing") / "memory.sqlite3"
    with open_client(path, scripted_llm(server), inline(enable_context_summary=False)) as both:
        yield both


@pytest.fixture
def store(opened: tuple[OracleAgentMemory, SQLMemoryStore]) -> SQLMemoryStore:
    return opened[1]


@pytest.fixture
def client(opened: tuple[OracleAgentMemory, SQLMemoryStore]) -> OracleAgentMemory:
    return opened[0]


@pytest.fixture
def owners(request: pytest.FixtureRequest) -> dict[str, str]:
    """A user and an agent whom nobody else has, so that there are no older memories."""
    name = request.node.name
    return {"user_id": f"user of {name}", "agent_id": f"agent of {name}"}


@pytest.fixture
def thread(client: OracleAgentMemory, owners: dict[str, str]) -> OracleThread:
    return client.create_thread(**owners)


def tell(*texts: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in texts]


def texts_of(thread: OracleThread) -> list[Any]:
    return [one.content for one in thread.get_messages()]


def check_failed(thread: OracleThread, store: SQLMemoryStore, error: str) -> None:
    """The message is there, no memory is, and the result says why."""
    assert texts_of(thread) == ["I drink tea."]
    assert memories_of(store, thread) == []
    (result,) = thread.extraction_results()
    assert (result.state, result.memory_ids, result.answers) == ("failed", (), ())
    (problem,) = result.problems
    assert (problem.step, problem.raw) == ("extraction", None)
    assert error in problem.reason


# -- extraction ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "error", "says"), FAILURES)
def test_a_failure_is_raised_and_the_message_stays(
    answer: ScriptedAnswer,
    error: type[Exception],
    says: str,
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    thread: OracleThread,
) -> None:
    before = len(server.requests)
    server.add(answer)
    with pytest.raises(error, match=says) as caught:
        thread.add_messages(tell("I drink tea."))
    assert len(server.requests) - before == 1
    if answer.retry_after is not None:
        assert isinstance(caught.value, RetryableError)
        assert caught.value.retry_after == answer.retry_after
    check_failed(thread, store, says)
    server.add(ScriptedAnswer(text=BOTH))
    thread.add_messages(tell("I live in Lyon."))
    assert len(memories_of(store, thread)) == 2
    assert thread.extraction_results()[-1].state == "succeeded"


@pytest.mark.parametrize(("answer", "error", "says"), FAILURES)
def test_in_the_background_nothing_is_raised(
    answer: ScriptedAnswer,
    error: type[Exception],
    says: str,
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    client: OracleAgentMemory,
    owners: dict[str, str],
) -> None:
    background = MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.BACKGROUND)
    thread = client.create_thread(**owners, memory_extraction_config=background)
    server.add(answer)
    thread.add_messages(tell("I drink tea."))
    client.wait_for_memory_extraction()
    check_failed(thread, store, says)
    assert error.__name__ in thread.extraction_results()[0].problems[0].reason


def test_a_model_that_does_not_answer_in_time(
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    client: OracleAgentMemory,
    owners: dict[str, str],
) -> None:
    hasty = scripted_llm(server, timeout=0.2)
    held = threading.Event()
    server.add(ScriptedAnswer(text=BOTH, until=held))
    thread = client.create_thread(**owners, llm=hasty)
    try:
        with pytest.raises(RetryableError, match="did not answer in"):
            thread.add_messages(tell("I drink tea."))
    finally:
        held.set()
    check_failed(thread, store, "did not answer in")


@contextmanager
def resetting() -> Iterator[str]:
    """A server that resets each connection once it has got a request."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reset() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.recv(65_536)
                # Closing without lingering sends RST.
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                connection.close()

        running = threading.Thread(target=reset)
        running.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            running.join()


def test_a_connection_that_is_reset_or_refused(
    store: SQLMemoryStore, client: OracleAgentMemory, owners: dict[str, str]
) -> None:
    with resetting() as address:
        llm = Llm("openai/scripted", api_base=address, api_key="none")
        thread = client.create_thread(**owners, llm=llm)
        with pytest.raises(RetryableError, match="hung up"):
            thread.add_messages(tell("I drink tea."))
        check_failed(thread, store, "hung up")
    with pytest.raises(RetryableError, match="could not be reached"):
        thread.add_messages(tell("Nobody listens."))
    assert texts_of(thread) == ["I drink tea.", "Nobody listens."]


def test_a_window_that_is_refused_costs_only_itself(
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    client: OracleAgentMemory,
    owners: dict[str, str],
) -> None:
    each = inline(
        enable_context_summary=False, memory_extraction_window=1, memory_extraction_frequency=1
    )
    thread = client.create_thread(**owners, memory_extraction_config=each)
    server.add(
        ScriptedAnswer(when="<content>one", text=whole(item("first"))),
        ScriptedAnswer(when="<content>two", status=400, text="too long"),
        ScriptedAnswer(when="<content>three", text=whole(item("third"))),
    )
    with pytest.raises(ModelError, match="too long"):
        thread.add_messages(tell("one", "two", "three"))
    assert [one.content for one in memories_of(store, thread)] == ["first", "third"]
    (result,) = thread.extraction_results()
    assert (result.state, len(result.memory_ids)) == ("partial", 2)
    assert [one.step for one in result.problems] == ["extraction"]


# -- structured output --------------------------------------------------------------------------


def test_a_server_without_structured_output_is_asked_in_words(
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    client: OracleAgentMemory,
    owners: dict[str, str],
) -> None:
    thread = client.create_thread(**owners, llm=scripted_llm(server))
    before = len(server.requests)
    refusal = "'response_format' of type 'json_schema' is not supported"
    server.add(
        ScriptedAnswer(status=400, text=refusal),
        ScriptedAnswer(text=f"Sure!\n```json\n{BOTH}\n```"),
        ScriptedAnswer(text=whole()),
    )
    thread.add_messages(tell("I drink tea."))
    thread.add_messages(tell("I live in Lyon."))
    assert len(memories_of(store, thread)) == 2
    asked = server.requests[before:]
    assert ["response_format" in one.body for one in asked] == [True, False, False]
    schema = json.dumps(extraction_schema(), ensure_ascii=False)
    assert [schema in said(one) for one in asked] == [False, True, True]
    assert [one.state for one in thread.extraction_results()] == ["succeeded"] * 2


def test_a_provider_that_is_known_to_have_none_is_never_asked_for_it(
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    client: OracleAgentMemory,
    owners: dict[str, str],
) -> None:
    llm = Llm("featherless_ai/scripted", api_base=server.api_base, api_key="none")
    thread = client.create_thread(**owners, llm=llm)
    before = len(server.requests)
    server.add(ScriptedAnswer(text=f"Here: {BOTH}"))
    thread.add_messages(tell("I drink tea and live in Lyon."))
    assert len(memories_of(store, thread)) == 2
    (asked,) = server.requests[before:]
    assert "response_format" not in asked.body


# -- what follows the memories ------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "error", "says"), FAILURES)
def test_links_that_fail_cost_no_memory_and_raise_nothing(
    answer: ScriptedAnswer,
    error: type[Exception],
    says: str,
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    thread: OracleThread,
) -> None:
    server.add(ScriptedAnswer(text=whole(TEA)))
    thread.add_messages(tell("I drink tea."))
    server.add(
        ScriptedAnswer(when=EXTRACTION, text=whole(item("drinks green tea", "preference"))), answer
    )
    thread.add_messages(tell("Green tea, to be exact."))
    assert [one.content for one in memories_of(store, thread)] == ["drinks tea", "drinks green tea"]
    result = thread.extraction_results()[-1]
    assert (result.state, len(result.memory_ids), result.relation_ids) == ("partial", 1, ())
    assert [one.step for one in result.problems] == ["links"]
    assert says in result.problems[0].reason
    assert error.__name__ in result.problems[0].reason


LINK_ANSWERS = {
    "empty": ("", "empty"),
    "refusal": ("I will not.", "no JSON"),
    "unknown source": ('{"source_resolutions": {"someone": {"links": []}}}', "none of the new"),
    "unknown type": (
        '{"links": [{"target_memory_id": "OLD", "link_type": "likes"}]}',
        "no known link_type",
    ),
    "unknown target": (
        '{"links": [{"target_memory_id": "m1", "link_type": "refines"}]}',
        "was not shown",
    ),
    "to itself": ('{"links": [{"target_memory_id": "NEW", "link_type": "refines"}]}', "itself"),
    "cut": ('{"links": [{"target_memory_id": "OLD", "link_type": "refi', "cut off"),
}


@pytest.mark.parametrize("name", LINK_ANSWERS)
def test_what_an_answer_about_links_loses_is_in_the_result(
    name: str, server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    answer, reason = LINK_ANSWERS[name]
    server.add(ScriptedAnswer(text=whole(TEA)))
    thread.add_messages(tell("I drink tea."))
    (old,) = memories_of(store, thread)

    def say(_: str) -> str:
        new = memories_of(store, thread)[-1]
        return answer.replace("OLD", old.id).replace("NEW", new.id)

    server.add(
        ScriptedAnswer(when=EXTRACTION, text=whole(item("drinks green tea", "preference"))),
        ScriptedAnswer(when=LINKS, reply=say),
    )
    thread.add_messages(tell("Green tea, to be exact."))
    assert [one.content for one in memories_of(store, thread)] == ["drinks tea", "drinks green tea"]
    result = thread.extraction_results()[-1]
    assert (result.state, result.relation_ids) == ("partial", ())
    assert {one.step for one in result.problems} == {"links"}
    assert any(reason in one.reason for one in result.problems), result.problems
    assert all(one.raw is not None for one in result.problems)
    assert [one.step for one in result.answers] == ["extraction", "links"]


def test_one_bad_link_costs_only_itself(
    server: ScriptedModelServer, store: SQLMemoryStore, thread: OracleThread
) -> None:
    server.add(ScriptedAnswer(text=whole(TEA)))
    thread.add_messages(tell("I drink tea."))
    (old,) = memories_of(store, thread)
    good = {"target_memory_id": f" {old.id} ", "link_type": "REFINES"}
    links = [7, {"target_memory_id": old.id}, good, good, None]
    server.add(
        ScriptedAnswer(when=EXTRACTION, text=whole(item("drinks green tea", "preference"))),
        ScriptedAnswer(when=LINKS, json={"links": links}),
    )
    thread.add_messages(tell("Green tea, to be exact."))
    result = thread.extraction_results()[-1]
    (relation,) = store.list_relations(limit=None, target_record_id=old.id)
    assert result.relation_ids == (relation.id,)
    assert relation.relation_type == "refines"
    assert len(result.problems) == 3


@pytest.mark.parametrize(
    "answer", [ScriptedAnswer(status=429), ScriptedAnswer(status=400), ScriptedAnswer(text=" ")]
)
def test_a_summary_that_fails_costs_nothing_else(
    answer: ScriptedAnswer,
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    client: OracleAgentMemory,
    owners: dict[str, str],
    recwarn: pytest.WarningsRecorder,
) -> None:
    with_summary = inline(enable_context_summary=True)
    thread = client.create_thread(**owners, memory_extraction_config=with_summary)
    server.add(ScriptedAnswer(when=EXTRACTION, text=BOTH), answer)
    thread.add_messages(tell("I drink tea and live in Lyon."))
    assert SUMMARY in said(server.requests[-1])
    assert len(memories_of(store, thread)) == 2
    summaries = store.list("thread_summary", limit=None, thread_id=thread.thread_id)
    assert [one.content["text"] for one in summaries] == [""]  # that of the empty thread
    (result,) = thread.extraction_results()
    assert (result.state, len(result.memory_ids)) == ("partial", 2)
    assert [one.step for one in result.problems] == ["summary"]


def test_a_busy_model_is_not_asked_for_the_windows_that_follow(
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    client: OracleAgentMemory,
    owners: dict[str, str],
) -> None:
    each = inline(
        enable_context_summary=False, memory_extraction_window=1, memory_extraction_frequency=1
    )
    thread = client.create_thread(**owners, memory_extraction_config=each)
    before = len(server.requests)
    server.add(ScriptedAnswer(text=whole(item("first"))), ScriptedAnswer(status=429))
    with pytest.raises(RetryableError, match="busy"):
        thread.add_messages(tell("one", "two", "three", "four"))
    assert len(server.requests) - before == 2
    assert [one.content for one in memories_of(store, thread)] == ["first"]
    (result,) = thread.extraction_results()
    assert result.state == "partial"
    # Whoever reads the result sees that three messages have taught nothing.
    assert any("2 more" in one.reason for one in result.problems), result.problems


def test_a_copy_that_no_model_shortens_is_cut_and_said_to_be(
    server: ScriptedModelServer,
    store: SQLMemoryStore,
    client: OracleAgentMemory,
    owners: dict[str, str],
) -> None:
    thread = client.create_thread(**owners, max_message_token_length=50)
    text = "I drink tea. " * 100
    server.add(ScriptedAnswer(status=400, text="no"), ScriptedAnswer(text=BOTH))
    thread.add_messages(tell(text))
    assert text.strip() not in said(server.requests[-1])
    assert texts_of(thread) == [text]
    assert len(memories_of(store, thread)) == 2
    (result,) = thread.extraction_results()
    assert result.state == "partial"
    assert [one.step for one in result.problems] == ["shortening"]


def test_a_failing_client_leaves_no_thread_or_row_behind(
    tmp_path: Path, server: ScriptedModelServer
) -> None:
    config = inline(enable_context_summary=False)
    with open_client(tmp_path / "memory.sqlite3", scripted_llm(server), config) as (client, store):
        thread = client.create_thread(user_id="u", agent_id="a")
        for _ in range(3):
            server.add(ScriptedAnswer(status=500, text="oops"))
            with pytest.raises(RetryableError):
                thread.add_messages(tell("I drink tea."))
        assert len(store.list("message", limit=None)) == 3
        assert store.list_memories(limit=None) == []
        assert store.list_relations(limit=None) == []
