"""Threads: creating, opening, changing, deleting, listing."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core import (
    MemoryExtractionConfig,
    OracleAgentMemory,
    OracleThread,
    SQLiteMemoryStore,
)
from tests.sdk.client.conftest import SilentLlm

Config = MemoryExtractionConfig
ODD_IDS = ["a/b", "a%2Fb", 'a"b', "..", "search", "new", "~x", "空", "x" * 128, "é" * 64]


def test_omitted_ids_are_generated(client: OracleAgentMemory) -> None:
    thread = client.create_thread()
    ids = [thread.thread_id, thread.user_id, thread.agent_id]
    assert len({uuid.UUID(one) for one in ids}) == 3
    assert client.get_thread(thread.thread_id).user_id == thread.user_id


@pytest.mark.parametrize("odd", ODD_IDS)
def test_any_id_of_up_to_128_bytes_works_everywhere(client: OracleAgentMemory, odd: str) -> None:
    thread = client.create_thread(thread_id=odd, user_id=odd, agent_id=odd)
    thread.add_messages([{"role": "user", "content": "pizza", "id": odd}])
    thread.add_memory("pizza", memory_id=odd)
    opened = client.get_thread(odd)
    assert (opened.user_id, opened.agent_id) == (odd, odd)
    assert opened.get_message(odd).content == "pizza"
    found = client.search(
        "pizza", user_id=odd, agent_id=odd, thread_id=odd, exact_thread_match=True
    )
    assert [result.id for result in found] == [odd, odd]
    assert [client.delete_memory(odd), opened.delete_message(odd), client.delete_thread(odd)] == [
        1
    ] * 3


def test_a_number_as_id_becomes_text(client: OracleAgentMemory) -> None:
    thread = client.create_thread(thread_id=7)  # type: ignore[arg-type]
    assert thread.thread_id == "7"
    assert client.get_thread("7").thread_id == "7"


@pytest.mark.parametrize("name", ["thread_id", "user_id", "agent_id"])
@pytest.mark.parametrize("value", [None, "", "x" * 129, "é" * 65, "a\0", "\ud800"])
def test_an_id_that_cannot_be_stored_creates_nothing(
    client: OracleAgentMemory, rows: Callable[[], list[str]], name: str, value: Any
) -> None:
    before = rows()
    with pytest.raises(ValueError, match=name):
        client.create_thread(**{name: value})
    assert rows() == before


@pytest.mark.parametrize("metadata", [[1], "x", {"a": float("nan")}, {"a": "\0"}, {1: 2}])
def test_metadata_that_is_no_json_object_creates_nothing(
    client: OracleAgentMemory, rows: Callable[[], list[str]], metadata: Any
) -> None:
    before = rows()
    with pytest.raises(ValueError, match="metadata"):
        client.create_thread(metadata=metadata)
    assert rows() == before


def test_a_taken_thread_id_is_refused(client: OracleAgentMemory, thread: OracleThread) -> None:
    with pytest.raises(ValueError, match="'t1' exists"):
        client.create_thread(thread_id=thread.thread_id, user_id="other")
    assert client.get_thread("t1").user_id == "u1"


def test_unknown_options_of_create_are_ignored_and_of_update_refused(
    client: OracleAgentMemory,
) -> None:
    client.create_thread(thread_id="t", colour="red")
    with pytest.raises(TypeError, match="colour"):
        client.update_thread("t", colour="red")
    with pytest.raises(TypeError, match="colour"):
        client.get_thread("t", colour="red")  # type: ignore[call-arg]


def test_r002_extraction_without_a_model_is_refused(
    store: SQLiteMemoryStore, llm: SilentLlm, rows: Callable[[], list[str]]
) -> None:
    OracleAgentMemory(store=store, llm=llm).create_thread(thread_id="t")
    bare = OracleAgentMemory(store=store)
    before = rows()
    for call in (
        lambda: bare.create_thread(),
        lambda: bare.get_thread("t"),
        lambda: bare.update_thread("t", metadata={"a": 1}),
    ):
        with pytest.raises(ValueError, match="no LLM"):
            call()
    assert rows() == before
    assert bare.get_thread("t", llm=llm).thread_id == "t"
    off = Config(extract_memories=False)
    assert bare.get_thread("t", memory_extraction_config=off).thread_id == "t"


def test_r007_metadata_is_kept_cleared_or_replaced_whole(client: OracleAgentMemory) -> None:
    client.create_thread(thread_id="t", metadata={"a": {"b": 1, "c": 2}})
    client.update_thread("t", max_message_token_length=5)
    assert client.get_thread("t").metadata == {"a": {"b": 1, "c": 2}}
    assert client.update_thread("t", metadata={"a": {"b": 3}}).metadata == {"a": {"b": 3}}
    assert client.get_thread("t").metadata == {"a": {"b": 3}}
    assert client.update_thread("t", metadata=None).metadata is None
    assert client.get_thread("t").metadata is None


def test_r008_a_thread_cannot_change_hands(client: OracleAgentMemory, thread: OracleThread) -> None:
    for change in ({"user_id": "u2"}, {"agent_id": "a2"}):
        with pytest.raises(TypeError, match="unexpected"):
            client.update_thread("t1", **change)
    opened = client.get_thread("t1")
    assert (opened.user_id, opened.agent_id) == ("u1", "a1")


def test_r009_an_update_leaves_the_state_of_extraction_alone(
    client: OracleAgentMemory, thread: OracleThread, store: SQLiteMemoryStore
) -> None:
    state = {"memory_extraction_state": {"last_memory_extraction_counter": 3}}
    store.write(store.prepare_update_thread("t1", runtime_state=state))
    client.update_thread("t1", metadata={"a": 1}, max_message_token_length=9)
    record = store.get("thread", "t1")
    assert record is not None
    assert record.runtime_state == state  # type: ignore[attr-defined]


def test_an_update_of_nothing_writes_nothing(
    client: OracleAgentMemory, thread: OracleThread, rows: Callable[[], list[str]]
) -> None:
    before = rows()
    assert client.update_thread("t1").thread_id == "t1"
    assert rows() == before


def test_an_unknown_thread_is_a_key_error_or_nothing_to_delete(client: OracleAgentMemory) -> None:
    for call in (
        lambda: client.get_thread("nobody"),
        lambda: client.update_thread("nobody", metadata={}),
        lambda: client.update_thread("nobody"),
    ):
        with pytest.raises(KeyError, match="no thread with the id 'nobody'"):
            call()
    assert client.delete_thread("nobody") == 0


def test_r154_a_thread_goes_with_its_messages_memories_and_search_rows(
    client: OracleAgentMemory, thread: OracleThread, rows: Callable[[], list[str]]
) -> None:
    other = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    for one in (thread, other):
        one.add_messages([{"role": "user", "content": "secretword one"}])
        one.add_memory("secretword two", memory_id=f"m-{one.thread_id}")
    assert client.delete_thread("t1") == 1
    assert client.delete_thread("t1") == 0
    assert [memory.id for memory in client.list_memories()] == ["m-t2"]
    assert len(client.list_messages()) == 1
    found = client.search("secretword", user_id="u1")
    assert {result.record.thread_id for result in found} == {"t2"}  # type: ignore[attr-defined]
    with pytest.raises(KeyError):
        client.get_thread("t1")
    with pytest.raises(KeyError):
        thread.add_messages([{"role": "user", "content": "late"}])


def test_r154_a_thread_whose_deletion_fails_keeps_every_row(
    client: OracleAgentMemory, thread: OracleThread, tmp_path: Path, rows: Callable[[], list[str]]
) -> None:
    thread.add_messages([{"role": "user", "content": "secretword one"}])
    thread.add_memory("secretword two", memory_id="m")
    with closing(sqlite3.connect(tmp_path / "memory.sqlite3")) as raw:
        raw.execute(
            "CREATE TRIGGER planted BEFORE DELETE ON thread "
            "BEGIN SELECT RAISE(ABORT, 'planted'); END"
        )
    before = rows()
    with pytest.raises(sa.exc.IntegrityError, match="planted"):
        client.delete_thread("t1")
    assert rows() == before
    with closing(sqlite3.connect(tmp_path / "memory.sqlite3")) as raw:
        raw.execute("DROP TRIGGER planted")
        assert client.delete_thread("t1") == 1
        chunks = raw.execute("SELECT count(*) FROM record_chunks").fetchone()
        words = raw.execute("SELECT count(*) FROM x_text WHERE x_text MATCH 'secretword'")
        assert (chunks, words.fetchone()) == ((0,), (0,))


def test_r021_listing_threads_needs_a_user_and_none_means_without_one(
    client: OracleAgentMemory, thread: OracleThread, store: SQLiteMemoryStore
) -> None:
    client.create_thread(thread_id="t2", user_id="u1", agent_id="a2", metadata={"k": 1})
    client.create_thread(thread_id="t3", user_id="u2")
    store.write(store.prepare_create_thread("free", user_id=None, agent_id=None))

    def ids(*args: Any, **options: Any) -> list[str]:
        return [record.id for record in client.list_threads(*args, **options)]

    with pytest.raises(TypeError):
        client.list_threads()  # type: ignore[call-arg]
    assert ids("u1") == ["t1", "t2"]
    assert ids(None) == ["free"]
    assert ids("u1", agent_id="a2") == ["t2"]
    assert ids("u1", agent_id=None) == []
    assert ids("u1", limit=1) == ["t2"]
    assert ids("u1", limit=0) == []
    assert ids("u1", metadata_filter={"k": 1}) == ["t2"]
    assert ids("u1", metadata_filter=None) == ["t1"]


def test_a_fingerprint_guards_an_update_and_a_delete(
    client: OracleAgentMemory, thread: OracleThread, store: SQLiteMemoryStore
) -> None:
    seen = store.fingerprint("thread", "t1")
    client.update_thread("t1", metadata={"a": 1}, if_fingerprint=seen)
    for call in (
        lambda: client.update_thread("t1", metadata={"a": 2}, if_fingerprint=seen),
        lambda: client.delete_thread("t1", if_fingerprint=seen),
    ):
        with pytest.raises(ValueError, match="has changed"):
            call()
    assert client.get_thread("t1").metadata == {"a": 1}


def test_no_thread_is_created_after_close(client: OracleAgentMemory) -> None:
    client.create_thread(thread_id="t")
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.create_thread(thread_id="late")
    assert client.get_thread("t").thread_id == "t"


def test_r015_a_standalone_thread_keeps_its_summary_on_and_images_off(
    store: SQLiteMemoryStore,
) -> None:
    off = Config(extract_memories=False)
    thread = OracleThread(store, thread_id="alone", memory_extraction_config=off)
    thread.add_memory("kept", memory_id="m")
    record = store.get("thread", "alone")
    assert record is not None
    saved = record.runtime_config["memory_extraction_config"]  # type: ignore[attr-defined]
    assert (saved["enable_context_summary"], saved["extract_memories"]) == (True, False)
    assert saved["memory_extraction_image_context"] == "disabled"


def test_a_standalone_thread_is_stored_with_its_first_record_and_only_then(
    store: SQLiteMemoryStore, llm: SilentLlm
) -> None:
    thread = OracleThread(store, llm=llm, thread_id="alone", user_id="u", metadata={"a": 1})
    assert store.get("thread", "alone") is None
    thread.add_messages([{"role": "user", "content": "hello"}])
    thread.add_messages([{"role": "user", "content": "again"}])
    assert [message.content for message in thread.get_messages()] == ["hello", "again"]
    record = store.get("thread", "alone")
    assert record is not None
    assert (record.metadata, record.user_id) == ({"a": 1}, "u")  # type: ignore[attr-defined]


def test_two_handles_of_a_standalone_thread_store_it_once(store: SQLiteMemoryStore) -> None:
    handles = [OracleThread(store, thread_id="alone", user_id="u") for _ in range(2)]
    said = [{"role": "user", "content": "hello"}]
    store.write_all([handle.prepare_add_messages(said) for handle in handles])
    handles[1].add_messages(said)
    assert len(handles[0].get_messages()) == 3


def test_a_standalone_thread_waits_for_nothing(store: SQLiteMemoryStore) -> None:
    thread = OracleThread(store)
    thread.wait_for_memory_extraction(timeout=1)
    assert len({thread.thread_id, thread.user_id, thread.agent_id}) == 3


def test_r016_messages_are_never_kept_in_the_configuration(store: SQLiteMemoryStore) -> None:
    thread = OracleThread(store, thread_id="alone", persist_messages_in_config=True)
    thread.add_messages([{"role": "user", "content": "secretword"}])
    record = store.get("thread", "alone")
    assert record is not None
    assert "secretword" not in str(record)
    assert [message.content for message in store.list("message")] == ["secretword"]


def test_r017_omitted_users_and_agents_get_ids_of_their_own(client: OracleAgentMemory) -> None:
    threads = [client.create_thread() for _ in range(3)]
    ids = {one for thread in threads for one in (thread.user_id, thread.agent_id)}
    assert len(ids) == 6


def test_r019_token_limits_never_change_a_stored_message(client: OracleAgentMemory) -> None:
    thread = client.create_thread(
        max_message_token_length=1, message_shortening_input_token_limit=1
    )
    text = "word " * 5000
    thread.add_messages([{"role": "user", "content": text}])
    assert thread.get_messages()[0].content == text
