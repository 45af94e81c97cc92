"""Links between memories, through the client and through a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from oracleagentmemory.apis import RecordRelation, RecordStatus
from oracleagentmemory.core import OracleAgentMemory, OracleThread, SQLiteMemoryStore

TIME = "2024-05-01T10:00:00+00:00"
VALID, INVALID = RecordStatus.VALID, RecordStatus.INVALID


@pytest.fixture
def other(client: OracleAgentMemory, thread: OracleThread) -> OracleThread:
    """Another thread; A and B are memories of the first, C is one of this, free of none."""
    other = client.create_thread(thread_id="t-other", user_id="u1", agent_id="a1")
    thread.add_memory("alpha", memory_id="A")
    thread.add_memory("beta", memory_id="B", memory_type="fact")
    other.add_memory("gamma", memory_id="C")
    client.add_memory("delta", memory_id="free")
    thread.add_messages([{"role": "user", "content": "hello", "id": "msg"}])
    return other


def relation(store: SQLiteMemoryStore, relation_id: str) -> RecordRelation:
    found = store.get_relation(relation_id=relation_id)
    assert found is not None
    return found


def status(store: SQLiteMemoryStore, memory_id: str) -> RecordStatus:
    found = store.get_memory(memory_id)
    assert found is not None
    return found.status


def test_r050_ends_are_memories_that_are_there_with_that_type(
    client: OracleAgentMemory,
    thread: OracleThread,
    other: OracleThread,
    rows: Callable[[], list[str]],
) -> None:
    before = rows()
    for owner in (client, thread):
        for ends, error in (
            (("A", "memory", "msg", "message"), ValueError),
            (("msg", "message", "A", "memory"), ValueError),
            (("A", "fact", "B", "fact"), KeyError),
            (("A", "memory", "B", "memory"), KeyError),
            (("A", "memory", "nobody", "memory"), KeyError),
            (("A", "memory", "A", "memory"), ValueError),
        ):
            with pytest.raises(error):
                owner.link_records(*ends, "supports")
    assert rows() == before


def test_r043_only_the_client_links_across_threads(
    client: OracleAgentMemory, thread: OracleThread, other: OracleThread, store: SQLiteMemoryStore
) -> None:
    for ends in (("A", "memory", "C", "memory"), ("free", "memory", "A", "memory")):
        with pytest.raises(KeyError, match="this thread has no memory"):
            thread.link_records(*ends, "supports")
        client.link_records(*ends, "supports")
    assert len(store.list_relations(limit=None)) == 2


def test_r055_r056_a_link_ends_its_target_until_it_is_changed_or_removed(
    client: OracleAgentMemory, thread: OracleThread, other: OracleThread, store: SQLiteMemoryStore
) -> None:
    ends = ("A", "memory", "B", "fact")
    thread.link_records(*ends, "supersedes", relation_id="r", timestamp=TIME, metadata={"a": 1})
    assert status(store, "B") is INVALID
    assert client.update_record_link("r", relation_type="supports") == 1
    assert status(store, "B") is VALID
    stored = relation(store, "r")
    assert (stored.opposite_relation_type, stored.timestamp) == ("is_supported_by", TIME)
    assert thread.update_record_link("r", "refines", timestamp=None, metadata=None) == 1
    assert (relation(store, "r").timestamp, relation(store, "r").metadata) == (None, None)
    assert status(store, "B") is INVALID
    assert client.delete_record_link(*ends, "refines") == 1
    assert status(store, "B") is VALID


def test_r058_r059_a_link_is_removed_by_id_or_in_full_and_in_its_direction(
    client: OracleAgentMemory, thread: OracleThread, other: OracleThread, store: SQLiteMemoryStore
) -> None:
    full = ("A", "memory", "B", "fact", "supports")
    thread.link_records(*full, relation_id="r")
    for owner in (client, thread):
        for count in range(5):
            with pytest.raises(ValueError, match="missing"):
                owner.delete_record_link(*full[:count])
        with pytest.raises(ValueError, match="alone"):
            owner.delete_record_link("A", relation_id="r")
        assert owner.delete_record_link("B", "fact", "A", "memory", "supports") == 0
        assert owner.delete_record_link(relation_id="nobody") == 0
    assert thread.delete_record_link(*full) == 1
    assert store.list_relations(limit=None) == []


def test_r064_a_thread_refuses_the_links_of_others_and_counts_none_for_unknown_ones(
    client: OracleAgentMemory, thread: OracleThread, other: OracleThread, store: SQLiteMemoryStore
) -> None:
    thread.link_records("A", "memory", "B", "fact", "supports", relation_id="mine")
    client.link_records("A", "memory", "C", "memory", "supports", relation_id="half")
    for relation_id in ("mine", "half"):
        with pytest.raises(KeyError, match="this thread has no relation"):
            other.update_record_link(relation_id, relation_type="refines")
        with pytest.raises(KeyError, match="this thread has no relation"):
            other.delete_record_link(relation_id=relation_id)
    for owner in (client, thread):
        assert owner.update_record_link("nobody", relation_type="refines") == 0
        with pytest.raises(ValueError, match="nothing to update"):
            owner.update_record_link("mine")
    assert {one.relation_type for one in store.list_relations(limit=None)} == {"supports"}


def test_r042_r044_a_memory_and_its_link_are_made_together_in_the_targets_scope(
    client: OracleAgentMemory, thread: OracleThread, other: OracleThread, store: SQLiteMemoryStore
) -> None:
    new = client.add_memory(
        "alpha again",
        memory_type="guideline",
        memory_id_to_link="A",
        link_type="supersedes",
        link_id="r",
        link_timestamp=TIME,
        link_metadata={"by": "hand"},
    )
    memory: Any = store.get_memory(new)
    scope = (memory.thread_id, memory.user_id, memory.agent_id)
    assert scope == (thread.thread_id, thread.user_id, thread.agent_id)
    made = relation(store, "r")
    assert (made.source_record_id, made.source_record_type) == (new, "guideline")
    assert (made.target_record_id, made.relation_type) == ("A", "supersedes")
    assert (made.timestamp, made.metadata) == (TIME, {"by": "hand"})
    assert status(store, "A") is INVALID
    own = client.add_memory("x", user_id="u2", memory_id_to_link="A", link_type="supports")
    memory = store.get_memory(own)
    assert (memory.user_id, memory.thread_id) == ("u2", thread.thread_id)


def test_r042_a_link_that_cannot_be_made_leaves_no_memory(
    client: OracleAgentMemory, thread: OracleThread, other: OracleThread, rows: Callable[[], Any]
) -> None:
    thread.link_records("A", "memory", "B", "fact", "supports", relation_id="r")
    before = rows()
    link: dict[str, Any] = {"memory_id_to_link": "A", "link_type": "supports"}
    for owner in (client, thread):
        for wrong in ({"link_id": "r"}, {"link_metadata": {"x": float("inf")}}):
            with pytest.raises(ValueError, match=r"exists already|inf"):
                owner.add_memory("x", **link, **wrong)
    assert rows() == before


def test_twins_link_change_and_unlink(
    client: OracleAgentMemory, thread: OracleThread, other: OracleThread, store: SQLiteMemoryStore
) -> None:
    async def through(owner: Any) -> list[Any]:
        made = await owner.link_records_async("A", "memory", "B", "fact", "cites", relation_id="r")
        changed = await owner.update_record_link_async("r", relation_type="supports")
        return [made, changed, await owner.delete_record_link_async(relation_id="r")]

    for owner in (client, thread):
        assert asyncio.run(through(owner)) == ["r", 1, 1]
    assert store.list_relations(limit=None) == []
