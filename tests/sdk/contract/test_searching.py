"""Search: scopes, types, order, and the vectors that a store accepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import DimensionMismatchError, EmbedderMismatchError
from tests.sdk.contract.conftest import MakeStore
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import DIMENSION, WordEmbedder, direction, unit


@pytest.fixture
def filled(store: SQLMemoryStore) -> SQLMemoryStore:
    for thread_id, user_id in (("t1", "u1"), ("t2", "u1"), ("t3", "u2")):
        make_thread(store, thread_id, user_id)
        scope = {"thread_ids": thread_id, "user_ids": user_id, "agent_ids": f"a-{thread_id}"}
        store.add(["red car"], "memory", record_ids=f"m-{thread_id}", **scope)
        store.add(["red"], "message", record_ids=f"n-{thread_id}", roles="user", **scope)
    store.add(["red sea"], "fact", record_ids="free")
    store.add_user("u1", "red")
    store.add_agent("a1", "red")
    return store


def found(store: SQLMemoryStore, **scope: Any) -> set[str]:
    return {one.id for one, _ in store.search("red", 50, **scope)}


EVERYTHING = {"m-t1", "n-t1", "m-t2", "n-t2", "m-t3", "n-t3", "free", "u1", "a1"}


def test_a_scope_counts_only_when_it_is_exact(filled: SQLMemoryStore) -> None:
    assert found(filled) == EVERYTHING
    assert found(filled, user_id="u2") == EVERYTHING
    assert found(filled, user_id="u2", exact_user_match=True) == {"m-t3", "n-t3"}
    user = {"user_id": "u1", "exact_user_match": True}
    assert found(filled, **user) == {"m-t1", "n-t1", "m-t2", "n-t2", "u1"}
    assert found(filled, **user, thread_id="t2", exact_thread_match=True) == {"m-t2", "n-t2"}
    assert found(filled, **user, agent_id="a-t1", exact_agent_match=True) == {"m-t1", "n-t1"}


def test_none_in_an_exact_scope_finds_records_without_one(filled: SQLMemoryStore) -> None:
    assert found(filled, exact_user_match=True) == {"free", "a1"}
    assert found(filled, exact_thread_match=True) == {"free", "u1", "a1"}
    exact = {"exact_user_match": True, "exact_agent_match": True}
    assert found(filled, **exact) == {"free"}
    assert found(filled, agent_id="a1", **exact) == {"a1"}


def test_types_may_be_a_set_or_one_word(filled: SQLMemoryStore) -> None:
    one: Any = "fact"
    assert found(filled, record_types={"fact"}) == {"free"}
    assert found(filled, record_types=one) == {"free"}
    assert found(filled, record_types={"user_profile", "agent_profile"}) == {"u1", "a1"}
    assert found(filled, record_types={"image"}) == set()
    assert found(filled, record_types=set()) == set()


def test_results_are_the_nearest_and_in_order(filled: SQLMemoryStore) -> None:
    results = filled.search("red sea", 3)
    distances = [distance for _, distance in results]
    assert results[0][0].id == "free"
    assert distances == sorted(distances)
    assert distances[0] == pytest.approx(0, abs=1e-6)
    # Equal distances: by type, then id.
    tied = [one.id for one, _ in filled.search("red car", 3, record_types={"memory"})]
    assert tied == ["m-t1", "m-t2", "m-t3"]


def test_a_record_counts_once_by_its_nearest_chunk(store: SQLMemoryStore) -> None:
    store.add(["x"], "memory", index_texts=[["sea", "red", "red car"]], record_ids="m1")
    store.add(["red boat"], "memory", record_ids="m2")
    results = store.search("red", 2)
    assert [one.id for one, _ in results] == ["m1", "m2"]
    assert results[0][1] == pytest.approx(0, abs=1e-6)


def test_invalid_records_can_be_left_out(filled: SQLMemoryStore) -> None:
    filled.update("fact", "free", status=RecordStatus.INVALID)
    assert "free" in found(filled)
    assert found(filled, include_invalid_results=False) == EVERYTHING - {"free"}


def test_a_vector_finds_what_its_text_finds(filled: SQLMemoryStore) -> None:
    vector = unit(direction("red") + direction("sea")).tolist()
    by_vector = filled.search(None, 4, query_vector=vector)
    by_text = filled.search("red sea", 4)
    assert [one for one, _ in by_vector] == [one for one, _ in by_text]
    assert [d for _, d in by_vector] == pytest.approx([d for _, d in by_text], abs=1e-6)


def test_a_long_query_is_searched_in_pieces(filled: SQLMemoryStore) -> None:
    query = "sea " * 1100 + "car " * 1100
    results = filled.search(query, 9)
    assert {one.id for one, _ in results} == EVERYTHING
    scores = [1 - distance for _, distance in results]
    assert sum(scores) == pytest.approx(1)
    assert scores == sorted(scores, reverse=True)


BAD: dict[str, dict[str, Any]] = {
    "k of 0": {"k": 0},
    "k below 0": {"k": -1},
    "k in words": {"k": "3"},
    "k of true": {"k": True},
    "a blank query": {"query": " \n"},
    "NUL in the query": {"query": "a\0"},
    "neither": {"query": None},
    "both": {"query_vector": [1.0] * DIMENSION},
    "an empty vector": {"query": None, "query_vector": []},
    "a nested vector": {"query": None, "query_vector": [[1.0] * DIMENSION]},
    "two vectors": {"query": None, "query_vector": [[1.0], [2.0]]},
    "a vector that is not finite": {"query": None, "query_vector": [float("nan")] * DIMENSION},
    "a vector of another dimension": {"query": None, "query_vector": [1.0] * (DIMENSION + 1)},
    "words as a vector": {"query": None, "query_vector": ["red"] * DIMENSION},
    "six hops": {"num_hops": 6},
    "hops below 0": {"num_hops": -1},
    "links below 0": {"max_linked_results": -1},
    "an unknown type": {"record_types": {"idea"}},
    "a type that is not searched": {"record_types": {"thread"}},
    "a filter in words": {"metadata_filter": "x"},
    "an empty user": {"user_id": "", "exact_user_match": True},
}


def test_a_bad_search_is_refused(filled: SQLMemoryStore, subtests: pytest.Subtests) -> None:
    for name, given in BAD.items():
        with subtests.test(name), pytest.raises(ValueError, match=r"\w"):
            filled.search(**({"query": "red", "k": 3} | given))


def test_hops_and_links_in_range_are_accepted(filled: SQLMemoryStore) -> None:
    results = filled.search("red", 3, num_hops=5, max_linked_results=0)
    assert [one.linked_results for one, _ in results] == [(), (), ()]


def test_without_an_embedder_only_vectors_are_searched(make_store: MakeStore) -> None:
    store = make_store()
    axis = np.eye(DIMENSION, dtype=np.float32)
    store.add(["x", "y"], "memory", embeddings=[axis[0], axis[1]], record_ids=["a", "b"])
    assert store.search(None, 1, query_vector=axis[1].tolist())[0][0].id == "b"
    with pytest.raises(ValueError, match="no embedder"):
        store.search("red", 1)


class OtherWords(WordEmbedder):
    embedder_id = "test/other-words"


class LongerWords(WordEmbedder):
    embedder_id = None  # type: ignore[assignment]
    embedding_dimension = DIMENSION + 1

    def embed(self, texts: list[str], *, is_query: bool = False) -> Any:
        return np.ones((len(texts), DIMENSION + 1), np.float32)


def test_another_embedder_is_refused_and_the_way_out_is_named(
    make_store: MakeStore, embedder: WordEmbedder
) -> None:
    make_store(embedder=embedder).add(["red"], "memory", record_ids="m1")

    other = make_store(embedder=OtherWords())
    longer = make_store(embedder=LongerWords(), vector_dim=None)
    for store, error in ((other, EmbedderMismatchError), (longer, DimensionMismatchError)):
        for act in (
            lambda store=store: store.search("red", 1),
            lambda store=store: store.add(["blue"], "memory"),
            lambda store=store: store.update("memory", "m1", content="blue"),
        ):
            with pytest.raises(error, match="memory_reembed"):
                act()
        assert [one.content for one in store.list("memory")] == ["red"]
    with pytest.raises(DimensionMismatchError):
        make_store(vector_dim=DIMENSION + 1)
    assert make_store(embedder=embedder).search("red", 1)[0][0].id == "m1"


def test_an_unnamed_embedder_is_compared_by_its_dimension_only(make_store: MakeStore) -> None:
    class Unnamed(WordEmbedder):
        embedder_id = None  # type: ignore[assignment]

    make_store(embedder=WordEmbedder()).add(["red"], "memory", record_ids="m1")
    assert make_store(embedder=Unnamed()).search("red", 1)[0][0].id == "m1"
