"""Search by meanings and words together, and what messages of a thread lend each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core import HybridSearchConfig, SearchStrategy
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.inspection import StoreInspector
from tests.sdk.contract.conftest import MakeStore
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import Clock, WordEmbedder, direction

ANN: dict[str, Any] = {"user_id": "ann", "exact_user_match": True}


@pytest.fixture
def both(make_store: MakeStore, embedder: WordEmbedder) -> SQLMemoryStore:
    return make_store(embedder=embedder, search_strategy=SearchStrategy.HYBRID)


def ids(store: SQLMemoryStore, query: str, k: int = 50, **more: Any) -> list[str]:
    return [record.id for record, _ in store.search(query, k, **(more or ANN))]


def talk(store: SQLMemoryStore, thread_id: str, *texts: str, **more: Any) -> None:
    """Make a thread of ann's whose messages have their texts as ids."""
    if "user_ids" not in more:
        make_thread(store, thread_id, "ann")
    more = {"user_ids": "ann", "record_ids": list(texts), **more}
    store.add(list(texts), "message", thread_ids=thread_id, roles="user", **more)


def test_without_an_embedder_hybrid_search_is_refused(make_store: MakeStore) -> None:
    with pytest.raises(ValueError, match="embedder"):
        make_store(search_strategy=SearchStrategy.HYBRID)


def test_the_first_of_both_rankings_comes_first_with_distance_zero(both: SQLMemoryStore) -> None:
    both.add(["red car", "red boat", "sky"], "fact", record_ids=["a", "b", "c"], user_ids="ann")
    results = both.search("red car", 5, **ANN)
    assert [record.id for record, _ in results][:2] == ["a", "b"]
    assert results[0][1] == 0
    assert all(0 <= distance < 1 for _, distance in results)


def test_records_without_vectors_are_found_by_their_words(both: SQLMemoryStore) -> None:
    both.add(["red car"], "fact", record_ids="a", user_ids="ann")
    both.update("fact", "a", embedding=None)
    assert ids(both, "car") == ["a"]


def test_a_vector_alone_ranks_as_vector_search_does(
    both: SQLMemoryStore, make_store: MakeStore, embedder: WordEmbedder
) -> None:
    both.add(["red car", "red", "sky"], "fact", record_ids=["a", "b", "c"], user_ids="ann")
    vector = direction("red").tolist()
    by_vector = make_store(embedder=embedder)
    found = by_vector.search(None, 3, query_vector=vector, **ANN)
    assert both.search(None, 3, query_vector=vector, **ANN) == found
    assert by_vector.search("red", 3, **ANN)[0] == found[0]


def test_a_message_beside_the_words_of_the_query_is_lifted(both: SQLMemoryStore) -> None:
    talk(both, "t1", "zebra tent", "it costs forty", "unrelated noise")
    talk(both, "t2", "it costs ninety", "other things")
    found = ids(both, "zebra tent")
    assert found[:2] == ["zebra tent", "it costs forty"]
    explained = StoreInspector(both).explain("zebra tent", user_id="ann", max_results=50)
    lifted = next(hit for hit in explained.hits if hit.record.id == "it costs forty")
    assert "keyword" not in lifted.standings
    assert lifted.standings["keyword_neighbours"].rank == 2


def neighbours(store: SQLMemoryStore, query: str, **scope: Any) -> set[str]:
    """What the keyword ranking holds only because messages lent it a score."""
    explained = StoreInspector(store).explain(query, max_results=50, user_id="ann", **scope)
    standings = ((hit.record.id, hit.standings) for hit in explained.hits)
    return {one for one, at in standings if "keyword_neighbours" in at and "keyword" not in at}


def test_only_messages_of_the_same_thread_and_scope_borrow(both: SQLMemoryStore) -> None:
    talk(both, "t1", "before", "zebra", "after", "far")
    talk(both, "t2", "next thread")
    both.add(["a memory"], "memory", record_ids="m", user_ids="ann", thread_ids="t1")
    assert neighbours(both, "zebra") == {"before", "after"}
    make_thread(both, "t3", "ann")
    talk(both, "t3", "of eve", user_ids="eve")
    talk(both, "t3", "quagga", user_ids="ann")
    talk(both, "t3", "eve again", user_ids="eve")
    assert neighbours(both, "quagga") == set()


def test_a_neighbour_that_the_search_may_not_find_borrows_nothing(
    both: SQLMemoryStore, clock: Clock
) -> None:
    talk(both, "t1", "zebra")
    make = {"thread_ids": "t1", "user_ids": "ann", "roles": "user"}
    both.add(["next"], "message", record_ids="next", metadata={"a": 1}, agent_ids="bob",
             statuses=RecordStatus.INVALID, ttl_days=1, **make)  # fmt: skip
    assert neighbours(both, "zebra") == {"next"}
    assert neighbours(both, "zebra", metadata_filter={"a": 2}) == set()
    assert neighbours(both, "zebra", include_invalid=False) == set()
    assert neighbours(both, "zebra", agent_id=None) == set()
    assert neighbours(both, "zebra", record_types={"memory"}) == set()
    clock.pass_days(2)
    assert neighbours(both, "zebra") == set()


def test_neighbours_can_be_left_out_and_rankings_weighed(both: SQLMemoryStore) -> None:
    talk(both, "t1", "zebra tent", "it costs forty")
    both.hybrid_search = replace(both.hybrid_search, neighbours=False)
    assert neighbours(both, "zebra tent") == set()
    both.add(["red car", "red"], "fact", record_ids=["a", "b"], user_ids="ann")
    both.hybrid_search = HybridSearchConfig(keyword_weight=0, rank_constant=1)
    scores = [1 - distance for _, distance in both.search("red car", 3, **ANN)]
    assert scores == pytest.approx([1, 2 / 3, 2 / 4])


@pytest.mark.parametrize(
    "wrong",
    [
        {"pool": 0}, {"pool": 1.5}, {"pool": True}, {"rank_constant": -1}, {"vector_share": "x"},
        {"keyword_share": float("nan")}, {"vector_weight": 0, "keyword_weight": 0},
        {"vector_weight": float("inf")},
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        HybridSearchConfig(**wrong)


def test_a_long_query_is_searched_piece_by_piece(both: SQLMemoryStore) -> None:
    both.add(["volcano", "submarine"], "fact", record_ids=["a", "b"], user_ids="ann")
    query = " ".join(["volcano", *["filler"] * 700, "submarine"])
    results = both.search(query, 5, **ANN)
    assert {record.id for record, _ in results} == {"a", "b"}
    assert sum(1 - distance for _, distance in results) == pytest.approx(1)
    explained = StoreInspector(both).explain(query, user_id="ann", max_results=5)
    assert explained.stages == ("piece 1", "piece 2", "fusion")


@pytest.mark.parametrize("strategy", list(SearchStrategy))
def test_an_explained_search_finds_what_a_search_finds(
    both: SQLMemoryStore, make_store: MakeStore, embedder: WordEmbedder, strategy: SearchStrategy
) -> None:
    talk(both, "t1", "red car", "it is fast", "green sea", "red sky")
    both.add(["red boat", "blue sea"], "memory", record_ids=["m", "n"], user_ids="ann")
    handle = make_store(embedder=embedder, search_strategy=strategy)
    explained = StoreInspector(both).explain(
        "red sea", strategy=strategy, user_id="ann", max_results=4
    )
    found = [(hit.record, hit.distance) for hit in explained.hits]
    assert found == handle.search("red sea", 4, **ANN)
    assert [hit.rank for hit in explained.hits] == [1, 2, 3, 4][: len(found)]
    last = explained.stages[-1]
    assert [hit.standings[last].rank for hit in explained.hits] == list(range(1, len(found) + 1))
    assert StoreInspector(handle).explain("red sea", user_id="ann").strategy is strategy
