"""Deleting records, threads and all that a user or an agent owns, to the last row."""

from __future__ import annotations

from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.storage.extras import scope_key
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of

OWNERS = {"t1": ("u1", "a1"), "t2": ("u1", "a2"), "t3": ("u2", "a1")}


@pytest.fixture
def filled(store: SQLMemoryStore) -> SQLMemoryStore:
    """Three threads with a message and a memory each, and memories outside of threads."""
    for thread_id, (user_id, agent_id) in OWNERS.items():
        scope = {"thread_ids": thread_id, "user_ids": user_id, "agent_ids": agent_id}
        thread = store.prepare_create_thread(thread_id, user_id=user_id, agent_id=agent_id)
        message = store.prepare_add(
            ["red"], "message", record_ids=f"n-{thread_id}", roles="user", **scope
        )
        memory = store.prepare_add(["blue"], "fact", record_ids=f"m-{thread_id}", **scope)
        store.write_all([thread, message, memory])
    store.add(["sea"], "memory", record_ids="m-u1", user_ids="u1")
    store.add(["sky"], "memory", record_ids="m-u2", user_ids="u2")
    store.add(["tree"], "memory", record_ids="m-a1", agent_ids="a1")
    store.add(["car"], "memory", record_ids="m-free")
    store.add_user("u1", "likes red")
    store.add_agent("a1", "sells red")
    return store


def left(store: SQLMemoryStore) -> set[str]:
    """Ids of all records that are left, but of generated summaries."""
    kinds = ("thread", "message", "user_profile", "agent_profile")
    listed = [one for kind in kinds for one in store.list(kind, limit=None)]
    return {one.id for one in (*listed, *store.list_memories(limit=None))}


def test_a_deleted_record_leaves_no_row(filled: SQLMemoryStore) -> None:
    everyone = left(filled)
    assert filled.delete("fact", "m-t1") == 1
    assert filled.delete("fact", "m-t1") == 0
    assert filled.delete("memory", "m-t2") == 0
    assert filled.delete("message", "n-t1") == 1
    assert left(filled) == everyone - {"m-t1", "n-t1"}
    check_agreement(filled)


def test_a_deleted_thread_takes_all_that_is_in_it(filled: SQLMemoryStore) -> None:
    everyone = left(filled)
    # A memory of another user in the thread goes too, and changes that user's scope.
    filled.add(["boat"], "memory", record_ids="guest", thread_ids="t1", user_ids="u2")
    assert filled.delete_thread("t1") == 1
    assert filled.delete_thread("t1") == 0
    assert left(filled) == everyone - {"t1", "n-t1", "m-t1"}
    assert filled.list("thread_summary", thread_id="t1", limit=5) == []
    check_agreement(filled)
    scopes = {
        one.scope_key
        for one in rows_of(filled, filled.extras.change)
        if one.operation == "scope" and one.record_id == "t1"
    }
    assert scopes == {scope_key("u1"), scope_key("u2")}


def test_a_profile_alone_leaves_what_the_user_owns(filled: SQLMemoryStore) -> None:
    everyone = left(filled)
    assert filled.delete("user_profile", "u1") == 1
    assert left(filled) == everyone - {"u1"}
    check_agreement(filled)


@pytest.mark.parametrize(
    ("record_type", "actor", "gone"),
    [
        ("user_profile", "u1", {"u1", "t1", "n-t1", "m-t1", "t2", "n-t2", "m-t2", "m-u1"}),
        ("agent_profile", "a1", {"a1", "t1", "n-t1", "m-t1", "t3", "n-t3", "m-t3", "m-a1"}),
    ],
)
def test_a_cascade_takes_threads_first_and_then_the_rest(
    filled: SQLMemoryStore, record_type: str, actor: str, gone: set[str]
) -> None:
    everyone = left(filled)
    assert filled.delete(record_type, actor, cascade=True) == 1
    assert left(filled) == everyone - gone
    check_agreement(filled)


def test_a_cascade_runs_without_a_profile_and_counts_nothing(filled: SQLMemoryStore) -> None:
    filled.delete("user_profile", "u1")
    assert filled.delete("user_profile", "u1", cascade=True) == 0
    assert left(filled) == {"t3", "n-t3", "m-t3", "m-u2", "m-a1", "m-free", "a1"}
    before = everything(filled)
    assert filled.delete("user_profile", "stranger", cascade=True) == 0
    assert everything(filled) == before


def test_a_deleted_memory_is_found_no_more(filled: SQLMemoryStore) -> None:
    def found() -> list[str]:
        hits = filled.search("sea", 9, user_id="u1", exact_user_match=True)
        return [one.id for one, _ in hits]

    assert found()[0] == "m-u1"
    filled.delete("memory", "m-u1")
    assert "m-u1" not in found()
    filled.delete("user_profile", "u1", cascade=True)
    assert found() == []


def test_provenance_goes_with_either_end(filled: SQLMemoryStore) -> None:
    source = filled.extras.source
    with filled.engine.write() as transaction:
        ends = [("m-t1", "n-t1"), ("m-t2", "n-t2"), ("m-t2", "n-t1")]
        rows: list[dict[str, Any]] = [{"memory_id": a, "message_id": b} for a, b in ends]
        transaction.execute(source.insert(), rows)

    def kept() -> set[tuple[str, str]]:
        return {(one.memory_id, one.message_id) for one in rows_of(filled, source)}

    filled.delete("message", "n-t1")
    assert kept() == {("m-t2", "n-t2")}
    filled.delete("fact", "m-t2")
    assert kept() == set()


def test_deleting_needs_a_known_type(filled: SQLMemoryStore) -> None:
    before = everything(filled)
    with pytest.raises(ValueError, match="'idea'"):
        filled.delete("idea", "m-u1")
    assert everything(filled) == before


def test_an_invalid_record_is_deleted_like_any(filled: SQLMemoryStore) -> None:
    filled.update("memory", "m-free", status=RecordStatus.INVALID)
    assert filled.delete("memory", "m-free") == 1
    check_agreement(filled)
