"""The documented client, thread and search calls on the recorded Oracle path, end to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory
from oracleagentmemory.errors import DuplicateIdError, NotFoundError
from tests.oracle.stores import forget_recorded, open_recorded
from tests.sdk.search.stores import DIMENSION, WordEmbedder


@pytest.fixture
def client(tmp_path: Path) -> Iterator[OracleAgentMemory]:
    store = open_recorded(tmp_path, embedder=WordEmbedder(), vector_dim=DIMENSION)
    config = MemoryExtractionConfig(extract_memories=False)
    client = OracleAgentMemory(store=store, memory_extraction_config=config)
    yield client
    client.close()
    store.close()
    forget_recorded(tmp_path)


def test_a_conversation_is_kept_in_order_and_read_back_by_position(
    client: OracleAgentMemory,
) -> None:
    client.add_user("ada", "likes boats")
    client.add_agent("scout", "sails")
    thread = client.create_thread(thread_id="t1", user_id="ada", agent_id="scout")
    thread.add_messages([{"role": "user", "content": f"red car {n}"} for n in range(5)])
    thread.add_messages([{"role": "assistant", "content": "é 空 " * 3000}])
    again = client.get_thread("t1")
    texts = [message.content for message in again.get_messages()]
    assert [text[:9] for text in texts[:5]] == [f"red car {n}" for n in range(5)]
    assert texts[5] == "é 空 " * 3000
    assert [m.content for m in again.get_messages(start=1, end=3)] == texts[1:3]


def test_memories_are_added_found_changed_and_deleted(client: OracleAgentMemory) -> None:
    thread = client.create_thread(thread_id="t1", user_id="ada", agent_id="scout")
    memory_id = thread.add_memory("red car", metadata={"seen": 1.0, "tags": ["a", True]})
    other = client.add_memory("blue sea", user_id="ada", agent_id="scout")
    client.add_memory("red car", user_id="bob")
    found = client.search("red car", user_id="ada", metadata_filter={"seen": 1})
    assert [result.record.id for result in found] == [memory_id]
    assert found[0].record.metadata == {"seen": 1, "tags": ["a", True]}
    client.update_memory(memory_id, content="green tree")
    assert [r.record.id for r in client.search("green tree", user_id="ada", max_results=1)] == [
        memory_id
    ]
    assert client.delete_memory(other) == 1
    assert client.delete_memory(other) == 0


def test_a_deleted_thread_takes_its_records_with_it(client: OracleAgentMemory) -> None:
    thread = client.create_thread(thread_id="t1", user_id="ada")
    thread.add_messages([{"role": "user", "content": "red car"}])
    thread.add_memory("blue boat")
    with pytest.raises(DuplicateIdError):
        client.create_thread(thread_id="t1", user_id="ada")
    assert client.delete_thread("t1") == 1
    with pytest.raises(NotFoundError):
        client.get_thread("t1")
    assert client.search("red car blue boat", user_id="ada") == []


def test_a_user_is_deleted_with_all_that_is_theirs(client: OracleAgentMemory) -> None:
    client.add_user("ada", "likes boats")
    client.create_thread(thread_id="t1", user_id="ada").add_memory("blue boat")
    client.add_memory("red car", user_id="ada")
    kept = client.add_memory("red car", user_id="bob")
    client.delete_user("ada", cascade=True)
    assert client.search("red car blue boat", user_id="ada") == []
    assert [r.record.id for r in client.search("red car", user_id="bob")] == [kept]
