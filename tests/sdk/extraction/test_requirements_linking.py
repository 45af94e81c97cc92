"""Links that a model finds for a memory that a caller adds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core import MemoryLinkExtractionMode, OracleAgentMemory
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import RetryableError, WrongTypeError
from tests.sdk.client.conftest import EXTRACTION_OFF
from tests.sdk.extraction.models import EXTRACTION, LINKS, inline, open_client
from tests.sdk.extraction.steps import StepLlm, linked, shown

Opened = tuple[OracleAgentMemory, SQLMemoryStore]
OWNERS: dict[str, Any] = {"thread_id": "t1", "user_id": "u1", "agent_id": "a1"}


@pytest.fixture
def llm() -> StepLlm:
    llm = StepLlm()
    llm.answers[LINKS] = [linked("refines", "likes pizza, with olives")] * 9
    return llm


@pytest.fixture
def opened(tmp_path: Path, llm: StepLlm) -> Iterator[Opened]:
    # Without links in extraction: these do not depend on it.
    config = inline(memory_link_extraction_mode=MemoryLinkExtractionMode.DISABLED)
    with open_client(tmp_path / "memory.sqlite3", llm, config) as both:
        client = both[0]
        client.create_thread(**OWNERS).add_memory(
            "likes pizza", memory_id="old", autonomous_linking=False
        )
        yield both


@pytest.fixture
def store(opened: Opened) -> SQLMemoryStore:
    return opened[1]


@pytest.fixture(params=["client", "thread"])
def adder(request: pytest.FixtureRequest, opened: Opened) -> Any:
    """What adds the memory: the client with the scope given, or the thread."""
    client = opened[0]
    return client if request.param == "client" else client.get_thread("t1")


def add(adder: Any, text: str, **more: Any) -> str:
    owners = OWNERS if isinstance(adder, OracleAgentMemory) else {}
    return str(adder.add_memory(text, **owners, **more))


def relations(store: SQLMemoryStore) -> list[tuple[str, str, str]]:
    return [
        (one.source_record_id, one.relation_type, one.target_record_id)
        for one in store.list_relations(limit=None)
    ]


def test_r041_a_model_links_what_is_added(adder: Any, store: SQLMemoryStore, llm: StepLlm) -> None:
    added = add(adder, "likes pizza with olives")
    assert llm.steps == [LINKS]
    assert shown(llm.told(LINKS)[0], "existing_memories") == ["likes pizza"]
    assert relations(store) == [(added, "refines", "old")]
    old = store.get_memory("old")
    assert old is not None
    assert old.status is RecordStatus.INVALID
    # A caller's memory keeps its text, whatever the model would rather have it say.
    new = store.get_memory(added)
    assert new is not None
    assert new.content == "likes pizza with olives"


def test_r041_the_async_twin_links_too(adder: Any, store: SQLMemoryStore, llm: StepLlm) -> None:
    owners = OWNERS if isinstance(adder, OracleAgentMemory) else {}
    added = asyncio.run(adder.add_memory_async("likes pizza with olives", **owners))
    assert relations(store) == [(added, "refines", "old")]


@pytest.mark.parametrize("wanted", [True, None])
def test_r041_linking_may_be_asked_for(
    wanted: bool | None, adder: Any, store: SQLMemoryStore
) -> None:
    added = add(adder, "likes pizza with olives", autonomous_linking=wanted)
    assert relations(store) == [(added, "refines", "old")]


def test_r041_linking_is_switched_off_for_one_call(
    adder: Any, store: SQLMemoryStore, llm: StepLlm
) -> None:
    add(adder, "likes pizza with olives", autonomous_linking=False)
    assert (llm.steps, relations(store)) == ([], [])


def test_r041_without_a_model_nothing_is_linked(adder: Any, store: SQLMemoryStore) -> None:
    bare = OracleAgentMemory(store=store, memory_extraction_config=EXTRACTION_OFF)
    one = (
        bare
        if isinstance(adder, OracleAgentMemory)
        else bare.get_thread("t1", memory_extraction_config=EXTRACTION_OFF)
    )
    added = add(one, "likes pizza with olives")
    assert store.get_memory(added) is not None
    assert relations(store) == []
    bare.close()


FAILURES = {
    "raises": ValueError("I like pizza"),
    "is busy": RetryableError("I like pizza"),
    "says nothing": "",
    "says nonsense": "I like pizza",
    "links to what is not there": {
        "links": [{"target_memory_id": "I like pizza", "link_type": "refines"}]
    },
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
def test_r041_a_failure_keeps_the_memory_and_is_logged_without_its_text(
    failure: Any,
    adder: Any,
    store: SQLMemoryStore,
    llm: StepLlm,
    caplog: pytest.LogCaptureFixture,
) -> None:
    llm.answers[LINKS] = [failure]
    added = add(adder, "likes pizza with olives")
    memory = store.get_memory(added)
    assert memory is not None
    assert (memory.content, memory.status) == ("likes pizza with olives", RecordStatus.VALID)
    assert relations(store) == []
    (record,) = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert added in record.getMessage()
    assert "I like pizza" not in caplog.text


def test_r041_only_memories_of_exactly_the_same_user_and_agent_are_candidates(
    opened: Opened, store: SQLMemoryStore, llm: StepLlm
) -> None:
    client = opened[0]
    client.add_memory("likes pizza", user_id="u2", agent_id="a1", autonomous_linking=False)
    client.add_memory("likes pizza", user_id="u1", autonomous_linking=False)
    client.add_memory("likes pizza", autonomous_linking=False)
    llm.asked.clear()
    client.add_memory("likes pizza a lot", user_id="u9")
    assert llm.asked == []
    added = client.add_memory("likes pizza a lot", user_id="u1", agent_id="a1")
    assert relations(store) == [(added, "refines", "old")]


def test_r041_the_switch_must_be_a_flag(adder: Any, store: SQLMemoryStore) -> None:
    with pytest.raises(WrongTypeError, match="autonomous_linking"):
        add(adder, "likes pizza with olives", autonomous_linking="yes")
    assert [one.id for one in store.list_memories(limit=None)] == ["old"]


WHERE = {
    MemoryLinkExtractionMode.DISABLED: [],
    MemoryLinkExtractionMode.DURING_EXTRACTION: [EXTRACTION],
    MemoryLinkExtractionMode.POST_EXTRACTION: [LINKS],
}


@pytest.mark.parametrize("mode", WHERE)
def test_r125_instructions_for_links_go_wherever_links_are_asked_for(
    mode: MemoryLinkExtractionMode, opened: Opened, llm: StepLlm
) -> None:
    config = inline(
        memory_link_extraction_mode=mode,
        memory_extraction_custom_instructions="Learn tastes.",
        memory_link_extraction_custom_instructions="Link tastes.",
        memory_extraction_frequency=1,
        enable_context_summary=False,
    )
    thread = opened[0].get_thread("t1", memory_extraction_config=config)
    thread.add_messages([{"role": "user", "content": "likes pizza with olives"}])
    told = list(zip(llm.steps, llm.systems, strict=True))
    assert [step for step, system in told if "Link tastes." in system] == WHERE[mode]
    assert [step for step, system in told if "Learn tastes." in system] == [EXTRACTION]
