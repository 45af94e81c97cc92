"""Where memories came from: noted once, read both ways, gone with either end."""

from __future__ import annotations

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.apis.sources import MemorySource
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import InvalidInputError
from tests.sdk.contract.snapshots import check_agreement


@pytest.fixture
def filled(store: SQLMemoryStore) -> SQLMemoryStore:
    """A thread with two messages and three memories: of the first, of both, of none."""
    thread = store.prepare_create_thread("t1", user_id="u1", agent_id="a1")
    scope = {"thread_ids": "t1", "user_ids": "u1", "agent_ids": "a1"}
    messages = store.prepare_add(
        ["red", "blue"], "message", record_ids=["n1", "n2"], roles="user", **scope
    )
    memories = store.prepare_add(
        ["sea", "sky", "car"], "fact", record_ids=["one", "both", "none"], **scope
    )
    ends = [("one", "n1"), ("both", "n2"), ("both", "n1")]
    sources = store.prepare_add_sources(
        [
            MemorySource(
                memory_id=a, message_id=b, job_id="j", model="m", prompt_version="extraction_1"
            )
            for a, b in ends
        ]
    )
    store.write_all([thread, messages, memories, sources])
    return store


def test_sources_are_read_in_the_order_of_the_messages(filled: SQLMemoryStore) -> None:
    found = filled.memory_sources(["none", "both", "one", "stranger"])
    assert {key: [one.message_id for one in rows] for key, rows in found.items()} == {
        "none": [],
        "both": ["n1", "n2"],
        "one": ["n1"],
        "stranger": [],
    }
    noted = found["one"][0]
    assert (noted.job_id, noted.model, noted.prompt_version) == ("j", "m", "extraction_1")
    assert noted.recorded_at is not None
    assert noted.recorded_at.tzinfo is not None


def test_messages_know_their_memories(filled: SQLMemoryStore) -> None:
    assert filled.derived_memories(["n1", "n2"]) == {"n1": ["one", "both"], "n2": ["both"]}


def test_a_source_is_noted_once(filled: SQLMemoryStore) -> None:
    again = [MemorySource(memory_id="one", message_id=one) for one in ("n1", "n2", "n2")]
    assert filled.write(filled.prepare_add_sources(again)) == 1
    assert [one.job_id for one in filled.memory_sources(["one"])["one"]] == ["j", None]


def test_only_memories_without_another_source_go_with_a_message(filled: SQLMemoryStore) -> None:
    both = [filled.prepare_delete_derived("n1"), filled.prepare_delete("message", "n1")]
    assert filled.write_all(both) == [["one"], 1]
    assert [one.id for one in filled.list_memories(limit=None)] == ["both", "none"]
    assert [one.message_id for one in filled.memory_sources(["both"])["both"]] == ["n2"]
    check_agreement(filled)
    assert filled.write(filled.prepare_delete_derived("n2")) == ["both"]
    assert filled.search("sky", 5, user_id="u1", exact_user_match=True, record_types={"fact"}) != []
    assert "both" not in {
        one.id for one, _ in filled.search("sky", 5, user_id="u1", exact_user_match=True)
    }


def test_valid_memories_of_a_thread_are_read_in_order(filled: SQLMemoryStore) -> None:
    filled.update("fact", "both", status=RecordStatus.INVALID)
    texts = filled.thread_texts("t1")
    assert [(one.memory_id, one.content, one.memory_type, one.user_id) for one in texts] == [
        ("one", "sea", "fact", "u1"),
        ("none", "car", "fact", "u1"),
    ]
    assert [one.memory_id for one in filled.thread_texts("t1", after=texts[0].order_seq)] == [
        "none"
    ]
    assert filled.thread_texts("t2") == []


def test_messages_that_are_gone_cannot_be_locked(filled: SQLMemoryStore) -> None:
    filled.delete("message", "n2")
    assert filled.write(filled.prepare_lock_messages("t1", ["n1", "n2", "n3"])) == {"n1"}
    filled.write(filled.prepare_create_thread("t2", user_id="u1", agent_id="a1"))
    assert filled.write(filled.prepare_lock_messages("t2", ["n1"])) == set()
    filled.delete_thread("t1")
    assert filled.write(filled.prepare_lock_messages("t1", ["n1"])) == set()


def test_the_first_expiry_of_messages_is_known(filled: SQLMemoryStore) -> None:
    assert filled.first_expiry(["n1", "n2"]) is None
    filled.update("message", "n1", ttl_days=3)
    first = filled.first_expiry(["n1", "n2"])
    filled.update("message", "n2", ttl_days=2)
    second = filled.first_expiry(["n1", "n2"])
    assert first is not None
    assert second is not None
    assert (first - second).days == 1
    assert filled.first_expiry([]) is None


def test_a_bad_id_is_refused_before_anything_is_read(filled: SQLMemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="message_id"):
        filled.prepare_add_sources([MemorySource(memory_id="one", message_id="")])
