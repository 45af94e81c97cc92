"""The store in numbers, and what a list of threads shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.inspection import StoreInspector, ThreadDigest
from tests.sdk.inspection.world import THREADS, TYPES, World, selects


def test_statistics_count_rows_types_and_statuses(world: World) -> None:
    world.store.add_user("ada", "a profile")
    numbers = StoreInspector(world.store).statistics()
    memories = world.known["memory"]
    shown = [memory for memory in memories if not memory.expired]
    assert numbers.rows == {
        "thread": len(THREADS),
        "message": len(world.known["message"]),
        "memory": len(memories),
        "image": 0,
        "relation": 0,
        "thread_summary": len(THREADS),
        "user_profile": 1,
        "agent_profile": 0,
    }
    assert numbers.expired == {
        "message": sum(one.expired for one in world.known["message"]),
        "memory": len(memories) - len(shown),
        "image": 0,
    }
    assert set(numbers.memory_types) == set(TYPES)
    assert set(numbers.statuses) == {"valid", "invalid"}
    assert Counter(numbers.memory_types) == Counter(memory.type for memory in shown)
    assert Counter(numbers.statuses) == Counter(memory.status for memory in shown)


def test_statistics_count_text_parts_vectors_and_orphans(store: Any) -> None:
    vectors = [[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5]]]
    store.add(
        ["two parts", "one part"],
        "fact",
        record_ids=["two", "one"],
        index_texts=[["two", "parts"], "one part"],
        embeddings=vectors,
    )
    store.add_user("ada", "a profile", metadata=None)
    inspector = StoreInspector(store)
    before = inspector.statistics()
    assert (before.chunks, before.vectors, before.orphan_chunks) == (4, 3, 0)
    assert before.dimension == 2
    # Another SDK's purge leaves the text parts behind.
    memory = store.tables.memory
    gone = memory.c.record_id == "two"
    with store.engine.write() as transaction:
        transaction.execute(sa.select(memory.c.record_id).where(gone).with_for_update())
        transaction.execute(sa.delete(memory).where(gone))
    assert inspector.statistics().orphan_chunks == 2


@pytest.mark.parametrize("user_ids", [None, {"ada", "空"}, set()], ids=repr)
def test_a_digest_says_how_much_is_in_a_thread_and_how_it_starts(
    world: World, user_ids: Any
) -> None:
    inspector = StoreInspector(world.store)
    digests = inspector.thread_digests([*THREADS, "unknown"], user_ids=user_ids)
    assert set(digests) == {*THREADS, "unknown"}
    for thread_id, digest in digests.items():
        filters = {"thread_id": thread_id, "user_ids": user_ids}
        messages, memories = (
            [one for one in world.known[kind] if selects(filters, one)]
            for kind in ("message", "memory")
        )
        times = [one.effective_at for one in (*messages, *memories)]
        assert digest == ThreadDigest(
            message_count=len(messages),
            memory_count=len(memories),
            first_text=f"text of {messages[0].id}" if messages else "",
            last_effective_at=max(times, default=None),
        )


def test_a_digest_cuts_a_long_first_message(world: World) -> None:
    world.store.delete_thread(THREADS[0])
    world.store.write(world.store.prepare_create_thread(THREADS[0], user_id="ada", agent_id=None))
    world.store.add(["空" * 300, "short"], "message", roles="user", thread_ids=THREADS[0])
    digest = StoreInspector(world.store).thread_digests([THREADS[0]])[THREADS[0]]
    assert (digest.message_count, digest.first_text) == (2, "空" * 200)
