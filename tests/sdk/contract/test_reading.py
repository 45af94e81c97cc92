"""Reading one record, lists and windows of a thread's messages."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.test_adding import make_thread


def ids(records: list[Any]) -> list[str]:
    return [one.id for one in records]


def test_a_record_is_found_under_its_own_type_only(store: SQLMemoryStore) -> None:
    store.add(["red"], "fact", record_ids="m1")

    assert store.get("fact", "m1") is not None
    assert store.get("memory", "m1") is None
    assert store.get("message", "m1") is None
    assert store.get("fact", "m2") is None
    memory = store.get_memory("m1")
    assert memory is not None
    assert memory.record_type == "fact"


def test_unknown_types_are_refused(store: SQLMemoryStore) -> None:
    with pytest.raises(ValueError, match="'idea'"):
        store.get("idea", "m1")
    with pytest.raises(ValueError, match="known are"):
        store.list("")


def test_a_list_holds_the_newest_oldest_first(store: SQLMemoryStore) -> None:
    store.add(["red"] * 5, "memory", record_ids=["a", "b", "c", "d", "e"])

    assert ids(store.list("memory", limit=2)) == ["d", "e"]
    assert ids(store.list("memory", limit=None)) == ["a", "b", "c", "d", "e"]
    assert store.list("memory", limit=0) == []
    assert store.list("memory", limit=-1) == []


def test_an_omitted_limit_is_ten_thousand_and_said_so(
    store: SQLMemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.add(["red"], "memory", record_ids="a")
    with caplog.at_level(logging.WARNING):
        assert ids(store.list("memory")) == ["a"]
    assert "10000" in caplog.text


def test_scope_filters_tell_a_value_none_and_omitted_apart(store: SQLMemoryStore) -> None:
    make_thread(store)
    store.add(["red"], "memory", record_ids="all", thread_ids="t1", user_ids="u1", agent_ids="a1")
    store.add(["red"], "memory", record_ids="user", user_ids="u1")
    store.add(["red"], "memory", record_ids="free")

    assert ids(store.list("memory", user_id="u1")) == ["all", "user"]
    assert ids(store.list("memory", user_id="u1", agent_id=None)) == ["user"]
    assert ids(store.list("memory", thread_id=None)) == ["user", "free"]
    assert ids(store.list("memory", user_id=None)) == ["free"]
    assert ids(store.list("memory", record_id="user")) == ["user"]
    assert ids(store.list("memory", record_id="user", user_id="u2")) == []
    assert ids(store.list("thread", user_id="u1")) == ["t1"]
    with pytest.raises(ValueError, match="record_id"):
        store.list("thread", thread_id="t1")


def test_profiles_ignore_scope_filters(store: SQLMemoryStore) -> None:
    store.add_user("u1", "likes red")
    store.add_agent("a1", "sells red")

    assert ids(store.list("user_profile", user_id=None, limit=10)) == ["u1"]
    assert ids(store.list("agent_profile", agent_id="other")) == ["a1"]


def test_memories_of_all_types_come_in_one_list(store: SQLMemoryStore) -> None:
    for record_type in ("memory", "fact", "guideline", "preference"):
        store.add(["red"], record_type, record_ids=record_type, user_ids="u1")
    store.add(["red"], "message", roles="user", user_ids="u1")

    assert ids(store.list_memories(user_id="u1")) == ["memory", "fact", "guideline", "preference"]
    assert ids(store.list_memories(limit=2)) == ["guideline", "preference"]
    assert store.list_memories(limit=0) == []


def test_ranges_of_messages_count_by_their_numbers(store: SQLMemoryStore) -> None:
    make_thread(store)
    names = [f"n{at}" for at in range(6)]
    store.add(["red"] * 6, "message", record_ids=names, roles="user", thread_ids="t1")
    numbers = [one.seq_no for one in store.list_thread_messages("t1")]

    assert ids(store.list_thread_messages("t1", last_n=2)) == ["n4", "n5"]
    assert store.list_thread_messages("t1", last_n=0) == []
    assert store.list_thread_messages("t1", last_n=-3) == []
    part = store.list_thread_messages(
        "t1", range_start_seq_no=numbers[1], range_end_seq_no=numbers[4]
    )
    assert ids(part) == ["n1", "n2", "n3"]
    part = store.list_thread_messages("t1", 2, numbers[1], numbers[4])
    assert ids(part) == ["n2", "n3"]
    assert store.list_thread_messages("t1", None, numbers[3], numbers[3]) == []
    assert store.list_thread_messages("nowhere") == []


def test_windows_of_messages_count_by_position(store: SQLMemoryStore) -> None:
    make_thread(store)
    make_thread(store, "t2")
    for at in range(4):
        store.add(["red"], "message", record_ids=f"n{at}", roles="user", thread_ids="t1")
        store.add(["red"], "message", record_ids=f"o{at}", roles="user", thread_ids="t2")

    assert ids(store.thread_window("t1", 1, 3)) == ["n1", "n2"]
    assert ids(store.thread_window("t1", 2, None)) == ["n2", "n3"]
    assert store.thread_window("t1", 3, 2) == []
    assert store.thread_window("t1", 9, None) == []
    assert store.count_thread_messages("t1") == 4
    assert store.count_thread_messages("nowhere") == 0


def test_a_hostile_id_is_only_a_value(store: SQLMemoryStore) -> None:
    store.add(["red"], "memory", record_ids="m1")
    hostile = "x' OR '1'='1"

    assert store.get("memory", hostile) is None
    assert store.list("memory", user_id=hostile) == []
    assert store.delete("memory", hostile) == 0
    assert store.get("memory", "m1") is not None


def test_an_id_that_cannot_be_stored_is_never_found(
    store: SQLMemoryStore, subtests: pytest.Subtests
) -> None:
    for one in ("", "x" * 129, "a\0b", "a\ud800"):
        with subtests.test(repr(one)):
            assert store.get("memory", one) is None
            assert store.get_memory(one) is None
            assert store.fingerprint("memory", one) is None
            assert store.update("memory", one, content="x") == 0
            assert store.delete("memory", one) == 0
            assert store.delete_thread(one) == 0
            assert store.list("memory", record_id=one) == []
            assert store.list_thread_messages(one) == []
            assert store.count_thread_messages(one) == 0
    with pytest.raises(TypeError, match="id must be a str"):
        store.get("memory", 7)  # type: ignore[arg-type]


def test_limits_are_numbers(store: SQLMemoryStore) -> None:
    words: Any = "many"
    with pytest.raises(ValueError, match="limit"):
        store.list("memory", limit=words)
    with pytest.raises(ValueError, match="last_n"):
        store.list_thread_messages("t1", last_n=words)
    assert store.list("memory", limit=2**70) == []
