"""Facets: the values of the matching records and how often each is there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from oracleagentmemory.apis.memorystore import PendingRecordBatch
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import FacetValue, StoreInspector
from tests.sdk.inspection.world import EPOCH, World

FIELDS = {"memory_type": "type", "status": "status", "user_id": "user_id", "agent_id": "agent_id"}
FILTERS: list[dict[str, Any]] = [
    {},
    {"user_id": "ada"},
    {"user_id": None},
    {"user_ids": ["ada", "béla"]},
    {"user_ids": []},
    {"memory_types": ["fact", "memory"], "status": "valid"},
    {"since": EPOCH, "agent_id": "a/b"},
    {"metadata_filter": {"k": 1}},
]


def counted(world: World, kind: str, filters: dict[str, Any]) -> dict[str, Counter[Any]]:
    chosen = set(world.ids(kind, filters))
    known = [record for record in world.known[kind] if record.id in chosen]
    fields = [name for name in FIELDS if kind == "memory" or name != "memory_type"]
    return {name: Counter(getattr(record, FIELDS[name]) for record in known) for name in fields}


def as_counters(values: Any) -> dict[str, Counter[Any]]:
    return {name: Counter({one.value: one.count for one in some}) for name, some in values.items()}


def test_facets_count_what_a_plain_loop_counts(world: World) -> None:
    inspector = StoreInspector(world.store)
    for filters in FILTERS:
        facets = inspector.facets("memory", **filters)
        assert as_counters(facets.values) == counted(world, "memory", filters)
        assert not facets.capped
    messages = inspector.facets("message", user_id="ada")
    assert as_counters(messages.values) == counted(world, "message", {"user_id": "ada"})
    assert set(inspector.facets("thread").values) == {"user_id", "agent_id"}


def test_the_most_frequent_come_first_and_only_so_many(world: World) -> None:
    whole = StoreInspector(world.store).facets("memory", top=1_000).values["user_id"]
    assert whole == sorted(whole, key=lambda v: (-v.count, v.value is None, v.value or ""))
    assert StoreInspector(world.store).facets("memory", top=2).values["user_id"] == whole[:2]


def test_alternatives_count_types_and_statuses_without_their_own_filter(world: World) -> None:
    filters: dict[str, Any] = {"memory_types": ["fact"], "status": "valid", "user_id": "ada"}
    facets = StoreInspector(world.store).facets("memory", alternatives=True, **filters)
    for facet, without in (
        ("memory_type", "memory_types"),
        ("status", "status"),
        ("agent_id", "none"),
    ):
        others = {name: value for name, value in filters.items() if name != without}
        expected = counted(world, "memory", others)[facet]
        assert as_counters(facets.values)[facet] == expected


def test_beyond_ten_thousand_the_newest_are_counted_and_it_is_said(store: Any) -> None:
    inspector = StoreInspector(store)
    batch = {"contents": ["same"], "record_type": "memory"}
    store.add_batches([PendingRecordBatch(**batch, user_ids="oldest")])
    store.add_batches(
        [PendingRecordBatch(contents=["same"] * 9_999, record_type="memory", user_ids="ada")]
    )
    assert not inspector.facets("memory").capped
    store.add_batches([PendingRecordBatch(**batch, user_ids="béla")])
    facets = inspector.facets("memory")
    assert facets.capped
    assert facets.values["user_id"] == [
        FacetValue(value="ada", count=9_999),
        FacetValue(value="béla", count=1),
    ]
    with_text = inspector.facets("memory", text="same")
    assert with_text.capped
    assert sum(one.count for one in with_text.values["user_id"]) == 10_000
    assert not inspector.facets("memory", text="same", user_id="ada").capped


@pytest.mark.parametrize("top", [0, 1_001, "3"])
def test_a_bad_number_of_values_is_refused(world: World, top: Any) -> None:
    with pytest.raises(InvalidInputError, match="top"):
        StoreInspector(world.store).facets("memory", top=top)
