"""Searches that follow relations."""

from __future__ import annotations

import random
from typing import Any

import pytest

from oracleagentmemory.apis import Record, RecordStatus
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.search.stores import Clock


@pytest.fixture
def chain(store: SQLMemoryStore) -> SQLMemoryStore:
    """a supports b, c supports b, c supports d, d supports e, … g; only a is near to "red"."""
    names = ["a", "b", "c", "d", "e", "f", "g"]
    texts = ["red", *["blue sea"] * 6]
    store.add(texts, "memory", record_ids=names, user_ids="u1", agent_ids="g1")
    for number, ends in enumerate(["ab", "cb", "cd", "de", "ef", "fg"]):
        relate(store, *ends, relation_ids=f"r{number}")
    return store


def relate(store: SQLMemoryStore, source: str, target: str, **fields: Any) -> None:
    kinds = [getattr(store.get_memory(one), "record_type", "") for one in (source, target)]
    fields.setdefault("relation_types", "supports")
    store.add_relations(source, kinds[0], target, kinds[1], **fields)


def around(store: SQLMemoryStore, hops: int = 5, **options: Any) -> dict[str, int]:
    """Return how many hops away each memory is that was attached to the one found."""
    [(record, _)] = store.search("red", 1, num_hops=hops, **options)
    return distances(record, 0)


def distances(record: Record, depth: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for relation, linked in record.linked_results:
        assert {relation.source_record_id, relation.target_record_id} == {record.id, linked.id}
        assert linked.id not in found
        found |= {linked.id: depth + 1} | distances(linked, depth + 1)
    return found


def test_r087_relations_are_followed_both_ways_up_to_five_hops(chain: SQLMemoryStore) -> None:
    everything = {"b": 1, "c": 2, "d": 3, "e": 4, "f": 5}
    for hops in range(6):
        wanted = {name: depth for name, depth in everything.items() if depth <= hops}
        assert around(chain, hops) == wanted
    for wrong in (-1, 6, True, "1", None):
        with pytest.raises(ValueError, match="num_hops"):
            around(chain, wrong)  # type: ignore[arg-type]


def test_r087_a_relation_is_told_with_the_types_of_both_ends(chain: SQLMemoryStore) -> None:
    chain.add(["blue"], "fact", record_ids="fact", user_ids="u1")
    relate(chain, "fact", "a", relation_types="cites", opposite_relation_types="is_cited_by",
           metadata={"n": 1}, timestamps="2024", relation_ids="r9")  # fmt: skip
    [(record, _)] = chain.search("red", 1, num_hops=1)
    told = {relation.id: relation for relation, _ in record.linked_results}
    assert told == {one: chain.get_relation(relation_id=one) for one in ("r0", "r9")}


def test_r087_linked_memories_obey_every_filter_of_the_search(
    chain: SQLMemoryStore, clock: Clock
) -> None:
    chain.add(["blue"] * 2, "memory", record_ids=["u2", "nobody"], user_ids=["u2", None])
    chain.add(["blue"], "memory", record_ids="g2", user_ids="u1", agent_ids="g2")
    chain.add(["blue"], "fact", record_ids="fact", user_ids="u1", agent_ids="g1")
    chain.add(["blue"], "memory", record_ids="short", user_ids="u1", agent_ids="g1", ttl_days=1)
    chain.add(["blue"], "memory", record_ids="tagged", user_ids="u1", metadata={"k": 1})
    others = {"u2", "nobody", "g2", "fact", "short", "tagged"}
    for other in others:
        relate(chain, "a", other)
    assert around(chain, 1).keys() == {"b", *others}
    of_user: dict[str, Any] = {"user_id": "u1", "exact_user_match": True}
    assert around(chain, 1, **of_user).keys() == {"b", "g2", "fact", "short", "tagged"}
    of_agent = {"agent_id": "g1", "exact_agent_match": True}
    assert around(chain, 1, **of_user, **of_agent).keys() == {"b", "fact", "short"}
    assert around(chain, 1, record_types={"memory"}).keys() == {"b", *others} - {"fact"}
    chain.update("memory", "a", metadata={"k": 1})
    assert around(chain, 1, metadata_filter={"k": 1}).keys() == {"tagged"}
    clock.pass_days(2)
    assert "short" not in around(chain, 1)


def test_r087_nothing_is_reached_through_what_may_not_be_found(store: SQLMemoryStore) -> None:
    names = ["mine", "theirs", "mine too"]
    store.add(["red", "sea", "sky"], "memory", record_ids=names, user_ids=["u1", "u2", "u1"])
    relate(store, "mine", "theirs")
    relate(store, "theirs", "mine too")
    assert around(store, 2) == {"theirs": 1, "mine too": 2}
    assert around(store, 5, user_id="u1", exact_user_match=True) == {}


def test_r088_the_most_linked_count_over_all_hops_of_each_result(chain: SQLMemoryStore) -> None:
    for most, wanted in ((0, ""), (1, "b"), (3, "bcd"), (100, "bcdef")):
        assert "".join(around(chain, max_linked_results=most)) == wanted
    found = chain.search("red", 7, num_hops=5, max_linked_results=2)
    assert {len(distances(record, 0)) for record, _ in found} == {2}


def test_r089_what_is_no_memory_stays_and_is_not_expanded(chain: SQLMemoryStore) -> None:
    chain.add(["red"], "message", record_ids="n1", roles="user", user_ids="u1")
    chain.add_user("u1", "red")
    plain = chain.search("red", 9)
    linked = chain.search("red", 9, num_hops=2)
    assert [(one.id, distance) for one, distance in linked] == [
        (one.id, distance) for one, distance in plain
    ]
    expanded = {one.record_type for one, _ in linked if one.linked_results}
    assert expanded == {"memory"}
    assert {one.record_type for one, _ in linked} > {"message", "user_profile"}


def test_r090_invalid_memories_are_linked_unless_they_are_excluded(chain: SQLMemoryStore) -> None:
    chain.update("memory", "c", status=RecordStatus.INVALID)
    assert around(chain).keys() == set("bcdef")
    assert around(chain, include_invalid_results=False) == {"b": 1}


def test_r091_following_relations_ends_after_its_time(chain: SQLMemoryStore) -> None:
    chain.hop_seconds = 0.0
    with pytest.raises(TimeoutError, match="fewer num_hops"):
        around(chain)
    assert around(chain, 0) == around(chain, max_linked_results=0) == {}


@pytest.mark.parametrize("seed", range(3))
def test_each_memory_is_attached_once_where_the_fewest_hops_lead(
    store: SQLMemoryStore, seed: int
) -> None:
    dice = random.Random(seed)
    names = [f"m{number}" for number in range(12)]
    store.add(["red"] * 12, "memory", record_ids=names)
    beside: dict[str, set[str]] = {name: set() for name in names}
    for _ in range(14):
        source, target = dice.sample(names, 2)
        if target not in beside[source]:
            relate(store, source, target)
            beside[source].add(target)
            beside[target].add(source)
    for hops in (1, 2, 5):
        for record, _ in store.search("red", 12, num_hops=hops):
            depths = {record.id: 0}
            for depth in range(1, hops + 1):
                reached = {far for near in depths for far in beside[near]} - depths.keys()
                depths |= dict.fromkeys(reached, depth)
            del depths[record.id]
            assert distances(record, 0) == depths
