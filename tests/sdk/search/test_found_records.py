"""Which records a search finds: scopes, profiles, chunks, expiry, and the weights of words."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracleagentmemory.core import SQLiteMemoryStore
from tests.sdk.search.stores import Clock, ScopedWordEmbedder, add, ids, open_store, unit


def test_what_has_expired_is_not_found_though_nothing_was_written(
    store: SQLiteMemoryStore, clock: Clock
) -> None:
    add(store, "red car", ttl_days=1)
    add(store, "red sea")
    assert len(ids(store, "red car")) == 2
    clock.pass_days(1)
    assert ids(store, "red car") == ["ann:red sea"]
    store.update("memory", "ann:red sea", ttl_days=1)
    clock.pass_days(1)
    assert ids(store, "red car") == []


def test_users_do_not_see_each_other_and_nobody_is_a_scope_of_its_own(
    store: SQLiteMemoryStore,
) -> None:
    add(store, "red car", user_id="ann")
    add(store, "red car", user_id="-")
    add(store, "red car", user_id=None)
    assert ids(store, "red car", "ann") == ["ann:red car"]
    assert ids(store, "red car", "-") == ["-:red car"]
    assert ids(store, "red car", None) == ["None:red car"]
    assert ids(store, "red car", "None") == []
    everybody = store.search("red car", 10)
    assert len(everybody) == 3
    assert [distance for _, distance in everybody] == pytest.approx([0.0] * 3, abs=1e-6)


def test_profiles_are_found_in_the_scope_of_their_actor(store: SQLiteMemoryStore) -> None:
    store.add_user("ann", "red car")
    store.add_agent("helper", "red boat")
    assert ids(store, "red car") == ["ann"]
    assert ids(store, "red car", None) == ["helper"]
    of_agent = {"agent_id": "helper", "exact_agent_match": True}
    assert ids(store, "red car", None, **of_agent) == ["helper"]
    assert ids(store, "red car", "ann", **of_agent) == []
    assert ids(store, "red car", "ann", agent_id=None, exact_agent_match=True) == ["ann"]
    store.update("user_profile", "ann", content="blue sky")
    assert store.search("blue sky", 1, user_id="ann", exact_user_match=True)[0][1] < 1e-6
    store.delete("user_profile", "ann")
    assert ids(store, "red car") == []


def test_the_nearest_chunk_of_a_record_counts_and_the_record_comes_once(
    store: SQLiteMemoryStore,
) -> None:
    chunks = [["red car", "blue sea", "green tree"], ["blue sea"], ["blue sky"]]
    store.add(["a", "b", "c"], "memory", index_texts=chunks, record_ids=["a", "b", "c"])
    found = store.search("blue sea", 2, user_id=None, exact_user_match=True)
    assert [record.id for record, _ in found] == ["a", "b"]
    assert [distance for _, distance in found] == pytest.approx([0, 0], abs=1e-6)


def test_vectors_of_any_length_are_compared_by_direction(store: SQLiteMemoryStore) -> None:
    vectors = [[3e30] + [0.0] * 7, [0.0] * 8, [-1e-30] + [0.0] * 7]
    store.add(["a", "b", "c"], "memory", embeddings=vectors, record_ids=["a", "b", "c"])
    found = store.search(None, 3, query_vector=[5.0] + [0.0] * 7)
    assert [(record.id, round(distance, 6)) for record, distance in found] == [
        ("a", 0.0),
        ("b", 1.0),
        ("c", 2.0),
    ]


def test_queries_are_weighted_from_twenty_chunks_on(tmp_path: Path) -> None:
    embedder = ScopedWordEmbedder()
    store = open_store(tmp_path, embedder)
    store.add(["red car"] * 18 + ["boat"], "memory", user_ids="ann")

    def distance_of_boat() -> float:
        found = store.search("red boat", 19, user_id="ann", exact_user_match=True)
        return next(distance for record, distance in found if record.content == "boat")

    query, boat = (unit(embedder.embed([text])[0]) for text in ("red boat", "boat"))
    plain = 1 - float(query @ boat)
    assert distance_of_boat() == pytest.approx(plain, abs=1e-6)
    store.add(["red car"], "memory", user_ids="ann")
    assert distance_of_boat() < plain - 0.1
    assert store.search("red boat", 1)[0][1] == pytest.approx(
        store.search(None, 1, query_vector=query.tolist())[0][1], abs=1e-6
    ), "a search over all users is not weighted"
    store.close()
