"""Counts: exact to 10,000, then said to be more."""

from __future__ import annotations

from typing import Any

from oracleagentmemory.apis.memorystore import PendingRecordBatch
from oracleagentmemory.inspection import Count, StoreInspector
from tests.sdk.inspection.world import World


def _add_memories(store: Any, count: int, user_id: str) -> None:
    store.add_batches(
        [PendingRecordBatch(contents=["same"] * count, record_type="memory", user_ids=user_id)]
    )


def test_a_count_is_exact_to_ten_thousand_and_then_says_more(store: Any) -> None:
    inspector = StoreInspector(store)
    _add_memories(store, 9_999, "ada")
    assert inspector.count("memory") == Count(value=9_999, capped=False)
    _add_memories(store, 1, "béla")
    assert inspector.count("memory") == Count(value=10_000, capped=False)
    _add_memories(store, 1, "béla")
    assert inspector.count("memory") == Count(value=10_000, capped=True)
    assert inspector.count("memory", user_id="béla") == Count(value=2, capped=False)


def test_a_count_reads_well() -> None:
    assert str(Count(value=9_876, capped=False)) == "9,876"
    assert str(Count(value=10_000, capped=False)) == "10,000"
    assert str(Count(value=10_000, capped=True)) == "10,000+"


def test_nobody_counts_nothing(world: World) -> None:
    assert StoreInspector(world.store).count("memory", user_ids=()) == Count(value=0, capped=False)


def test_statements_are_compiled_once_for_a_shape_of_filters(world: World) -> None:
    inspector = StoreInspector(world.store)

    def read(user_id: str) -> None:
        inspector.count("memory", user_id=user_id, status="valid")
        inspector.page("memory", user_id=user_id, before="50", limit=2)
        inspector.user(user_id)

    read("ada")
    compiled = set(world.store.engine.engine._compiled_cache)
    read("béla")
    read("d'oh")
    assert set(world.store.engine.engine._compiled_cache) == compiled
