"""Search by words: what is found, in which order, and that a query is never syntax."""

from __future__ import annotations

from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core import SearchStrategy
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.conftest import MakeStore
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import DIMENSION, Clock

ANN: dict[str, Any] = {"user_id": "ann", "exact_user_match": True}


@pytest.fixture
def words(make_store: MakeStore) -> SQLMemoryStore:
    return make_store(search_strategy=SearchStrategy.KEYWORD)


def remember(store: SQLMemoryStore, *texts: str, **more: Any) -> None:
    more.setdefault("user_ids", "ann")
    more.setdefault("record_ids", list(texts))
    store.add(list(texts), more.pop("record_type", "memory"), **more)


def found(store: SQLMemoryStore, query: str, k: int = 50, **more: Any) -> list[str]:
    return [record.id for record, _ in store.search(query, k, **(more or ANN))]


def test_texts_with_any_word_are_found_those_with_most_first(words: SQLMemoryStore) -> None:
    remember(words, "a green boat", "a red boat", "a red car", "the sky")
    assert found(words, "red boat")[0] == "a red boat"
    assert set(found(words, "red boat")) == {"a green boat", "a red boat", "a red car"}
    distances = [distance for _, distance in words.search("red boat", 50, **ANN)]
    assert distances == sorted(distances)
    assert all(0 <= distance < 1 for distance in distances)


def test_nothing_is_found_without_a_word_in_common(words: SQLMemoryStore) -> None:
    remember(words, "a red car")
    for query in ("submarine", "?!", "…", "、。", "-- '"):
        assert found(words, query) == []


@pytest.mark.parametrize(
    "query",
    [
        "NEAR car", 'NEAR("red car", 2)', '"', '"car', "car*", "*car", "body:car", "scope:car",
        "col:car", "-car", "^car", "(car", "car)", "car AND", "OR car", "NOT car", 'x" OR "car',
        "{car}", "car}", "{car", "ABOUT(car)", "car ACCUM", "car, boat", "car; DROP TABLE message",
        "car%", "_car_", "$car", "?car", "!car", "car\\", "car NOT boat", "'car'", "car -- x",
    ],
)  # fmt: skip
def test_a_query_is_text_and_never_syntax(words: SQLMemoryStore, query: str) -> None:
    remember(words, "one car", "a tree")
    assert found(words, query) == ([] if query == '"' else ["one car"])


def test_words_that_say_nothing_are_left_out_unless_nothing_else_is_asked(
    words: SQLMemoryStore,
) -> None:
    remember(words, "what is it", "a volcano")
    assert found(words, "what is a volcano") == ["a volcano"]
    assert found(words, "what is") == ["what is it"]


def test_filters_apply_before_the_limit(words: SQLMemoryStore, clock: Clock) -> None:
    make_thread(words, "t1", "ann")
    better = {"contents": ["car car car"], "user_ids": "ann"}
    words.add(**better, record_type="fact", record_ids="type")
    words.add(**better, record_type="memory", record_ids="agent", agent_ids="bob")
    words.add(**better, record_type="memory", record_ids="status", statuses=RecordStatus.INVALID)
    words.add(**better, record_type="memory", record_ids="thread", thread_ids="t1")
    words.add(["car"], "memory", record_ids="here", user_ids="ann", metadata={"a": 1})
    one = {"k": 1, **ANN}
    assert found(words, "car", record_types={"memory"}, agent_id=None, exact_agent_match=True,
                 thread_id=None, exact_thread_match=True, include_invalid_results=False,
                 **one) == ["here"]  # fmt: skip
    assert found(words, "car", metadata_filter={"a": 1}, **one) == ["here"]
    assert found(words, "car", thread_id="t1", exact_thread_match=True, **one) == ["thread"]
    assert found(words, "car", agent_id="bob", exact_agent_match=True, **one) == ["agent"]
    assert found(words, "car", record_types={"fact"}, **one) == ["type"]


def test_what_has_expired_takes_no_place(words: SQLMemoryStore, clock: Clock) -> None:
    words.add(["car car"], "memory", record_ids="gone", user_ids="ann", ttl_days=1)
    words.add(["car"], "memory", record_ids="stays", user_ids="ann")
    assert set(found(words, "car")) == {"gone", "stays"}
    clock.pass_days(2)
    assert found(words, "car", 1) == ["stays"]


def test_a_record_of_many_chunks_is_found_once(words: SQLMemoryStore) -> None:
    chunks = [["car", "car car", "a red car"], ["car"]]
    words.add(["x", "y"], "memory", record_ids=["many", "one"], user_ids="ann", index_texts=chunks)
    assert set(found(words, "car")) == {"many", "one"}
    assert len(found(words, "car", 2)) == 2


def test_users_find_their_own_records_and_profiles(words: SQLMemoryStore) -> None:
    remember(words, "a car")
    remember(words, "another car", user_ids="eve")
    remember(words, "nobody's car", user_ids=None)
    words.add_user("ann", "likes her car")
    words.add_agent("bob", "sells a car")
    assert set(found(words, "car")) == {"a car", "ann"}
    assert set(found(words, "car", user_id=None, exact_user_match=True)) == {"nobody's car", "bob"}
    everyone = {"a car", "another car", "nobody's car", "ann", "bob"}
    assert set(found(words, "car", exact_user_match=False)) == everyone
    agent = {"agent_id": "bob", "exact_agent_match": True}
    assert found(words, "car", user_id=None, exact_user_match=True, **agent) == ["bob"]


def test_changes_are_found_at_once(words: SQLMemoryStore) -> None:
    remember(words, "a car")
    words.update("memory", "a car", content="a boat")
    assert (found(words, "car"), found(words, "boat")) == ([], ["a car"])
    words.delete("memory", "a car")
    assert found(words, "boat") == []


def test_a_vector_is_refused_and_no_embedder_is_needed(words: SQLMemoryStore) -> None:
    with pytest.raises(ValueError, match="KEYWORD"):
        words.search(None, 5, query_vector=[1.0] * DIMENSION)
    with pytest.raises(ValueError, match="blank"):
        words.search("  ", 5)


def test_a_long_query_is_searched_piece_by_piece(words: SQLMemoryStore) -> None:
    remember(words, "a volcano", "a submarine")
    query = " ".join(["volcano", *["filler"] * 700, "submarine"])
    results = words.search(query, 5, **ANN)
    assert {record.id for record, _ in results} == {"a volcano", "a submarine"}
    assert sum(1 - distance for _, distance in results) == pytest.approx(1)
