"""Summaries and cards on Django's connection: saved with the caller's rows, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory, OracleThread
from oracleagentmemory.errors import StateError
from tests.joined.conftest import Joined
from tests.joined.test_store import Store, open_store
from tests.joined.test_transactions import undone
from tests.sdk.client.models import ListedLlm

LEAST: Any = {"memory": 1, "fact": 1, "guideline": 1}


@pytest.fixture
def store(database: Joined) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


@pytest.fixture
def llm() -> ListedLlm:
    return ListedLlm({"summary": "red car", "topics": []})


@pytest.fixture
def client(store: Store) -> OracleAgentMemory:
    return OracleAgentMemory(
        store=store, memory_extraction_config=MemoryExtractionConfig(extract_memories=False)
    )


@pytest.fixture
def thread(client: OracleAgentMemory, llm: ListedLlm) -> OracleThread:
    thread = client.create_thread(thread_id="t", user_id="ada", agent_id="a", llm=llm)
    thread.add_messages([{"role": "user", "content": "red car", "timestamp": "2024-05-01"}])
    thread.add_memory("red car", memory_id="m", autonomous_linking=False)
    thread.add_memory("blue car", memory_id="f", memory_type="fact", autonomous_linking=False)
    return thread


def saved(store: Store) -> list[Any]:
    return [one.content for one in store.list("thread_summary", thread_id="t")]


def test_a_summary_made_outside_a_block_is_committed(
    database: Joined, store: Store, thread: OracleThread
) -> None:
    assert thread.get_summary().content == "red car"
    database.django.close()
    assert saved(store) == [{"text": "red car", "topics": []}]


def test_inside_a_callers_block_nothing_is_saved_and_no_model_is_asked(
    database: Joined, store: Store, client: OracleAgentMemory, thread: OracleThread, llm: ListedLlm
) -> None:
    before = saved(store)
    with transaction.atomic(using=database.alias):
        for call in (thread.get_summary, thread.get_context_card):
            with pytest.raises(StateError, match="summing up"):
                call()
        quiet = client.get_thread("t")
        assert quiet.get_summary().content == "user (2024-05-01): red car"
        database.add_note("still usable")
    assert (llm.calls, saved(store), database.notes()) == (0, before, ["still usable"])
    thread.get_summary()
    with transaction.atomic(using=database.alias):
        assert thread.get_summary().content == "red car"
    assert llm.calls == 1


def test_a_message_deleted_in_a_block_that_fails_leaves_the_summary(
    database: Joined, store: Store, thread: OracleThread, llm: ListedLlm
) -> None:
    (message,) = store.list_thread_messages("t")
    thread.get_summary()
    with undone(transaction.atomic(using=database.alias)):
        thread.delete_message(message.id)
        assert saved(store) == [{"text": "", "topics": []}]
    assert thread.get_summary().content == "red car"
    assert llm.calls == 1


def test_searches_of_a_card_run_on_the_thread_of_a_test_cases_block(
    database: Joined, store: Store, thread: OracleThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    search = store.search

    def watched(*arguments: Any, **options: Any) -> Any:
        names.append(threading.current_thread().name)
        return search(*arguments, **options)

    monkeypatch.setattr(store, "search", watched)
    block: Any = transaction.atomic(using=database.alias)
    block._from_testcase = True
    with block:
        thread.add_memory("green car", memory_id="g", memory_type="guideline")
        card = thread.get_context_card(min_relevant_results_by_type=LEAST)
    # What only this transaction holds is found.
    assert [result.id for result in card.relevant_results or ()][:3] == ["m", "f", "g"]
    assert set(names) == {threading.current_thread().name}
    names.clear()
    thread.get_context_card(min_relevant_results_by_type=LEAST, max_relevant_results=3)
    assert all(name.startswith("oracleagentmemory-read") for name in names)
    assert len(names) == 3
