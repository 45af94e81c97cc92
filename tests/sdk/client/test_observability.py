"""Events of clients, threads, stores and models, and who hears them."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from oracleagentmemory.core import (
    OracleAgentMemory,
    OracleThread,
    PruningMemorySearchConfig,
    SQLiteMemoryStore,
)
from oracleagentmemory.core.embedders import Embedder
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.errors import InvalidInputError, ModelError
from oracleagentmemory.observability import (
    AgentMemoryCompletedEvent,
    AgentMemoryStartedEvent,
    ApiOperationCompletedEvent,
    ApiOperationStartedEvent,
    EmbedderCompletedEvent,
    EmbedderStartedEvent,
    Event,
    EventListener,
    GenericEventListener,
    LlmGenerationCompletedEvent,
    LlmGenerationStartedEvent,
    MemoryStoreStartedEvent,
    OperationKind,
    ThreadCompletedEvent,
    ThreadStartedEvent,
    emit_event,
    register_event_listeners,
)
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.client.conftest import EXTRACTION_OFF

SECRET = "the vault code is 4711"


class Ear(EventListener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def on_event(self, event: Event) -> None:
        """Keep the event."""
        self.events.append(event)

    @property
    def names(self) -> list[str]:
        """Names of the events, in order."""
        return [event.event_name for event in self.events]


@pytest.fixture
def ear() -> Iterator[Ear]:
    """A registered listener."""
    ear = Ear()
    with register_event_listeners([ear]):
        yield ear


def test_every_operation_has_a_pair_that_shares_its_uuid(
    ear: Ear, client: OracleAgentMemory
) -> None:
    client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    assert ear.names == [
        "agent_memory.create_thread.started",
        "memory_store.write.started",
        "memory_store.write.completed",
        "agent_memory.create_thread.completed",
    ]
    started, *_, completed = ear.events
    assert isinstance(started, AgentMemoryStartedEvent)
    assert isinstance(completed, AgentMemoryCompletedEvent)
    assert re.fullmatch(r"ev_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.started", started.event_id)
    assert completed.event_id == started.event_id.removesuffix("started") + "completed"
    assert completed.started_event_id == started.event_id
    assert (started.component, started.api_class) == ("agent_memory", "IAgentMemory")
    assert (started.concrete_class, started.method) == ("OracleAgentMemory", "create_thread")
    assert started.operation_kind is OperationKind.CREATE
    assert started.arguments == {"thread_id": "t1", "user_id": "u1", "agent_id": "a1"}
    assert started.argument_summary == {
        name: {"type": "str", "length": 2} for name in ("thread_id", "user_id", "agent_id")
    }
    assert (completed.success, completed.error_type) == (True, None)
    assert completed.result_summary == {"type": "OracleThread"}
    assert started.timestamp <= completed.timestamp


def test_a_threads_events_name_the_thread_and_the_stores_own_calls_are_one_operation(
    ear: Ear, thread: OracleThread
) -> None:
    ear.events.clear()
    thread.add_messages([{"role": "user", "content": SECRET}])
    started, store_started, store_completed, completed = ear.events
    assert isinstance(started, ThreadStartedEvent)
    assert isinstance(completed, ThreadCompletedEvent)
    assert (started.thread_id, started.user_id, started.agent_id) == ("t1", "u1", "a1")
    assert isinstance(store_started, MemoryStoreStartedEvent)
    assert (store_started.event_name, store_started.concrete_class) == (
        "memory_store.add.started",
        "SQLiteMemoryStore",
    )
    assert store_completed.result_summary == {"type": "list", "length": 1}
    assert completed.result_summary == {"type": "list", "length": 1}


def test_a_store_called_by_itself_tells_once(ear: Ear, store: SQLiteMemoryStore) -> None:
    store.add([SECRET], "memory", record_ids=["m"], user_ids="u1")
    store.update("memory", "m", metadata={"a": 1})
    store.search("vault", 3)
    store.get("memory", "m")
    store.delete("memory", "m")
    started = [one for one in ear.events if isinstance(one, ApiOperationStartedEvent)]
    assert [(one.method, one.operation_kind.value) for one in started] == [
        ("add", "create"),
        ("update", "update"),
        ("search", "read"),
        ("get", "read"),
        ("delete", "delete"),
    ]
    assert len(ear.events) == 10


def test_a_failed_operation_completes_with_the_errors_class(
    ear: Ear, client: OracleAgentMemory
) -> None:
    with pytest.raises(KeyError):
        client.get_thread("nobody")
    with pytest.raises(TypeError):
        client.delete_thread()  # type: ignore[call-arg]
    completed = [one for one in ear.events if isinstance(one, AgentMemoryCompletedEvent)]
    assert [(one.method, one.success, one.error_type) for one in completed] == [
        ("get_thread", False, "NotFoundError"),
        ("delete_thread", False, "TypeError"),
    ]
    assert [one.result for one in completed] == [None, None]


def test_a_twin_is_heard_as_its_method_on_its_own_thread(
    ear: Ear, client: OracleAgentMemory
) -> None:
    heard_on: set[str] = set()
    noting = GenericEventListener(
        AgentMemoryStartedEvent, lambda event: heard_on.add(threading.current_thread().name)
    )

    async def both() -> None:
        with register_event_listeners([noting]):
            await asyncio.gather(
                client.add_memory_async("one", user_id="u1"),
                client.add_memory_async("two", user_id="u2"),
            )
        await client.add_memory_async("three", user_id="u3")

    asyncio.run(both())
    assert Counter(ear.names)["agent_memory.add_memory.started"] == 3
    assert Counter(ear.names)["agent_memory.add_memory.completed"] == 3
    assert {name.rpartition("_")[0] for name in heard_on} == {"oracleagentmemory-async"}


def test_only_the_registering_context_is_heard_and_only_inside_its_block(
    client: OracleAgentMemory,
) -> None:
    inner, outer = Ear(), Ear()
    with register_event_listeners([outer]) as registered:
        assert registered == [outer]
        with register_event_listeners([inner]):
            client.add_user("u1", "a user")
            stranger = threading.Thread(target=client.add_user, args=("u2", "another"))
            stranger.start()
            stranger.join()
        client.add_user("u3", "a third")
    client.add_user("u4", "a fourth")
    name = "agent_memory.add_user.started"
    assert [Counter(ear.names)[name] for ear in (outer, inner)] == [2, 1]


def test_a_listener_that_fails_is_logged_and_nobody_else_notices(
    client: OracleAgentMemory, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Ear):
        def on_event(self, event: Event) -> None:
            raise RuntimeError("broken ear")

    class Odd(Ear):
        def subscribed_event_types(self) -> Any:
            raise RuntimeError("odd ear")

    ear = Ear()
    with caplog.at_level(logging.ERROR), register_event_listeners([Broken(), Odd(), ear]):
        client.add_user("u1", "a user")
    assert [user.id for user in client.list_users()] == ["u1"]
    assert ear.names[0] == "agent_memory.add_user.started"
    assert "listener Broken failed on agent_memory.add_user.started" in caplog.text
    assert "listener Odd failed" in caplog.text
    assert SECRET not in caplog.text


@pytest.mark.parametrize("wrong", [[object()], [Ear], "ear", None, [None]])
def test_only_listeners_can_be_registered(wrong: Any) -> None:
    with pytest.raises(TypeError, match="EventListener"), register_event_listeners(wrong):
        pass


def test_a_listener_hears_the_types_it_asks_for(client: OracleAgentMemory) -> None:
    completed: list[ApiOperationCompletedEvent] = []
    listener = GenericEventListener(ApiOperationCompletedEvent, completed.append)
    assert listener.subscribed_event_types() == [ApiOperationCompletedEvent]
    with register_event_listeners([listener]):
        client.add_user("u1", "a user")
        emit_event(Event(event_id="ev_x", component="mine", event_name="mine.thing"))
    assert {event.success for event in completed} == {True}
    assert len(completed) == 2


def test_an_event_cannot_be_changed_nor_have_other_fields() -> None:
    event = Event(event_id="ev_x", component="mine", event_name="mine.thing")
    with pytest.raises(ValidationError, match="frozen"):
        event.component = "other"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="colour"):
        Event(event_id="ev_x", component="mine", event_name="x", colour="red")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="component"):
        AgentMemoryStartedEvent(
            event_id="ev_x",
            component="thread",  # type: ignore[arg-type]
            event_name="x",
            concrete_class="X",
            method="m",
            operation_kind=OperationKind.READ,
        )


def test_a_dump_masks_what_people_said_unless_it_is_told_not_to(
    ear: Ear, client: OracleAgentMemory
) -> None:
    client.add_memory(SECRET, user_id="u1", metadata={"note": SECRET})
    client.search(SECRET, user_id="u1")
    client.list_memories("u1")
    for event in ear.events:
        assert SECRET not in event.model_dump_json()
        assert SECRET not in str(event.model_dump())
        assert SECRET not in json.dumps(event.to_observability_dict())
    started = ear.events[0]
    assert started.model_dump()["arguments"] == "[REDACTED]"
    assert started.model_dump()["argument_summary"]["content"] == {"type": "str", "length": 22}
    shown = started.model_dump(mask_sensitive_information=False)
    assert shown["arguments"]["content"] == SECRET
    assert json.loads(started.model_dump_json(mask_sensitive_information=False))["arguments"] == {
        "content": SECRET,
        "user_id": "u1",
        "metadata": {"note": SECRET},
    }
    # Results are live objects; as JSON they are text.
    found = next(one for one in ear.events if one.event_name == "agent_memory.search.completed")
    assert SECRET in json.dumps(found.to_observability_dict(mask_sensitive_information=False))
    assert set(started.model_dump(include={"method"})) == {"method"}


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    """A scripted provider."""
    with ScriptedModelServer() as running:
        yield running


def test_models_tell_what_they_were_asked_and_answered(
    ear: Ear, server: ScriptedModelServer
) -> None:
    server.add(ScriptedAnswer(text=SECRET, usage=(11, 3)))
    llm = Llm("openai/scripted", api_base=server.api_base, api_key="sk-very-secret-key")
    llm.generate("What is the code?", max_tokens=5)
    embedder = Embedder("openai/scripted", api_base=server.api_base, api_key="sk-very-secret-key")
    embedder.embed(["one", "two words"], is_query=True)
    asked, answered, given, embedded = ear.events
    assert isinstance(asked, LlmGenerationStartedEvent)
    assert asked.event_name == "llm.generation.started"
    assert (asked.model, asked.api_type) == ("openai/scripted", "chat_completions")
    assert (asked.prompt, asked.llm_generation_config) == ("What is the code?", {"max_tokens": 5})
    assert isinstance(answered, LlmGenerationCompletedEvent)
    assert (answered.content, answered.success) == (SECRET, True)
    assert (answered.input_tokens, answered.output_tokens, answered.total_tokens) == (11, 3, 14)
    assert isinstance(given, EmbedderStartedEvent)
    assert (given.input, given.input_count, given.text_lengths) == (["one", "two words"], 2, [3, 9])
    assert isinstance(embedded, EmbedderCompletedEvent)
    assert (embedded.vector_count, embedded.embedding_dimension) == (2, 64)
    assert embedded.is_query
    assert len(embedded.embedding_vector or ()) == 2
    for event in ear.events:
        assert "sk-very-secret-key" not in event.model_dump_json(mask_sensitive_information=False)
        assert "code" not in event.model_dump_json()


def test_a_models_failure_completes_its_pair(ear: Ear, server: ScriptedModelServer) -> None:
    server.add(ScriptedAnswer(status=401, text="no key", repeat=True))
    with pytest.raises(ModelError):
        Llm("openai/scripted", api_base=server.api_base, api_key="none").generate("hi")
    with pytest.raises(InvalidInputError):
        Llm("openai/scripted", api_base=server.api_base, api_key="none").generate([])
    completed = [one for one in ear.events if isinstance(one, LlmGenerationCompletedEvent)]
    assert [(one.success, one.error_type) for one in completed] == [
        (False, "ModelError"),
        (False, "InvalidInputError"),
    ]


def test_models_called_on_the_sdks_own_threads_are_heard(
    ear: Ear, store: SQLiteMemoryStore, server: ScriptedModelServer
) -> None:
    server.add(ScriptedAnswer(json={"decision": "keep"}, repeat=True))
    llm = Llm("openai/scripted", api_base=server.api_base, api_key="none")
    store.add(["apple", "apple pie", "apple tree"], "memory", user_ids="u1")
    client = OracleAgentMemory(
        store=store,
        search_config=PruningMemorySearchConfig(pruner=llm),
        memory_extraction_config=EXTRACTION_OFF,
    )
    client.search("apple", user_id="u1")
    assert Counter(ear.names)["llm.generation.completed"] == 2


def test_nothing_of_events_is_loaded_before_somebody_listens() -> None:
    code = (
        "import sys\n"
        "from oracleagentmemory.core import *\n"
        "off = MemoryExtractionConfig(extract_memories=False)\n"
        "client = OracleAgentMemory(store=SQLiteMemoryStore(), memory_extraction_config=off)\n"
        "client.add_memory('tea', user_id='u1')\n"
        "assert not [name for name in sys.modules if name.startswith(\n"
        "    ('pydantic', 'oracleagentmemory.observability'))]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
