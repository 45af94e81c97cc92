"""The summary of a thread as it stands, and making it anew in a transaction of one's own."""

from __future__ import annotations

from typing import Any

import pytest

from oracleagentmemory.core import OracleAgentMemory, OracleThread, SQLiteMemoryStore
from oracleagentmemory.errors import StateError
from oracleagentmemory.inspection import StandingSummary, StoreInspector
from tests.sdk.client.models import ListedLlm


def says(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text, "timestamp": "2024-05-01T12:00:00+00:00"}


def standing(store: SQLiteMemoryStore) -> StandingSummary:
    return StoreInspector(store).thread_summary("t")


def thread_of(client: OracleAgentMemory, llm: Any = None) -> OracleThread:
    options = {} if llm is None else {"llm": llm}
    return client.create_thread(thread_id="t", user_id="u", agent_id="a", **options)


def test_without_a_model_the_messages_stand_for_the_summary_and_nothing_is_saved(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    thread = thread_of(client)
    assert standing(store) == StandingSummary(
        text="", topics=(), is_transcript=True, is_current=True
    )
    thread.add_messages([says("hello"), says("again")])
    before = store.list("thread_summary", thread_id="t", limit=None)
    shown = standing(store)
    assert shown.text.count("user (2024-05-01T12:00:00+00:00)") == 2
    assert (shown.is_transcript, shown.is_current) == (True, True)
    assert store.list("thread_summary", thread_id="t", limit=None) == before


def test_the_saved_summary_of_a_model_stands_until_a_newer_one(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    llm = ListedLlm(*({"summary": one, "topics": ["greeting"]} for one in ("first", "second")))
    thread = thread_of(client, llm)
    assert thread.prepare_refresh_summary() is None
    thread.add_messages([says("hello")])
    prepared = thread.prepare_refresh_summary()
    assert prepared is not None
    assert standing(store).is_transcript
    assert store.write(prepared) is True
    shown = standing(store)
    assert (shown.text, list(shown.topics)) == ("first", ["greeting"])
    assert (shown.is_transcript, shown.is_current) == (False, True)
    thread.add_messages([says("again")])
    assert (standing(store).text, standing(store).is_current) == ("first", False)
    stale, fresh = thread.prepare_refresh_summary(), thread.prepare_refresh_summary()
    assert stale is not None
    assert fresh is not None
    assert store.write(fresh) is True
    assert store.write(stale) is False
    assert (standing(store).text, standing(store).is_current) == ("second", True)
    assert llm.calls == 3


def test_a_model_is_not_asked_inside_a_transaction(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    thread = thread_of(client, ListedLlm())
    thread.add_messages([says("hello")])
    with store.engine.write(), pytest.raises(StateError):
        thread.prepare_refresh_summary()
