"""Requirements 132 to 150: what a record's payload becomes in the store's tables."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from oracleagentmemory.apis import PendingRecordBatch, RecordStatus
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import DIMENSION, WordEmbedder

X, Y = [1.0] + [0.0] * (DIMENSION - 1), [0.0, 1.0] + [0.0] * (DIMENSION - 2)


class Chunk(NamedTuple):
    text: str | None
    vector: tuple[float, ...] | None


def chunks(store: SQLMemoryStore, record_id: str) -> list[Chunk]:
    """The stored retrieval rows of a record, in order."""
    rows = [one for one in rows_of(store, store.tables.record_chunks) if one.source_id == record_id]
    return [
        Chunk(row.chunk_text or "", None if row.embedding is None else shown(row.embedding))
        for row in sorted(rows, key=lambda one: one.chunk_seq)
    ]


def embedded(text: str) -> Chunk:
    return Chunk(text, shown(WordEmbedder().embed([text])[0]))


def shown(vector: Any) -> tuple[float, ...]:
    return tuple(round(float(number), 4) + 0.0 for number in vector)


def given(text: str, vector: list[float]) -> Chunk:
    return Chunk(text, shown(vector))


def refused(store: SQLMemoryStore, change: Any, words: str) -> None:
    """Assert a ValueError with these words, and that it changed nothing."""
    before = everything(store)
    with pytest.raises(ValueError, match=words):
        change()
    assert everything(store) == before


def test_r132_the_content_is_returned_and_the_index_text_is_searched(store: SQLMemoryStore) -> None:
    store.add(["red car"], "memory", record_ids="m", index_texts=["blue sea"])
    assert chunks(store, "m") == [embedded("blue sea")]
    found, distance = store.search("blue sea", 1)[0]
    assert (found.id, found.content) == ("m", "red car")
    assert distance == pytest.approx(0, abs=1e-5)
    store.update("memory", "m", content="red tree", index_text="green boat")
    assert chunks(store, "m") == [embedded("green boat")]
    assert store.list("memory")[0].content == "red tree"


def test_r133_a_text_may_be_cut_and_a_list_is_left_as_it_is(store: SQLMemoryStore) -> None:
    long = "red car " * 900
    store.add(["a", "b"], "memory", record_ids=["text", "list"],
              index_texts=[long, [long, "blue"]])  # fmt: skip
    assert [len(one.text or "") <= 4000 for one in chunks(store, "text")] == [True, True]
    assert [one.text for one in chunks(store, "list")] == [long, "blue"]


def test_r134_none_means_the_content_and_clears_in_an_update(store: SQLMemoryStore) -> None:
    store.add(["red", "blue"], "memory", record_ids=["a", "b"], index_texts=[None, "sea"])
    assert (chunks(store, "a"), chunks(store, "b")) == ([embedded("red")], [embedded("sea")])
    store.update("memory", "a", index_text=None)
    assert chunks(store, "a") == []
    assert store.list("memory")[0].content == "red"
    store.update("memory", "b", content="green", index_text=None)
    assert chunks(store, "b") == [embedded("green")]


@pytest.mark.parametrize("nothing", ["", []])
def test_r135_an_empty_text_or_list_stores_the_record_alone(
    store: SQLMemoryStore, nothing: str | list[str]
) -> None:
    store.add(["red"], "memory", record_ids="m", index_texts=[nothing])
    store.add(["blue"], "memory", record_ids="n")
    store.update("memory", "n", index_text=nothing)
    assert chunks(store, "m") == chunks(store, "n") == []
    assert [one.content for one in store.list("memory")] == ["red", "blue"]
    assert store.search("red", 5) == []
    check_agreement(store)


def test_r136_no_embeddings_means_omitted_and_clears_vectors_in_an_update(
    store: SQLMemoryStore,
) -> None:
    store.add(["red"], "memory", record_ids="m", embeddings=None)
    assert chunks(store, "m") == [embedded("red")]
    store.update("memory", "m", embedding=None)
    assert chunks(store, "m") == [Chunk("red", None)]
    store.update("memory", "m", content="blue", embedding=None)
    assert chunks(store, "m") == [Chunk("blue", None)]
    assert store.search("blue", 5) == []


def test_r137_one_vector_covers_the_whole_text_and_asks_no_embedder(
    store: SQLMemoryStore, embedder: WordEmbedder
) -> None:
    long = "red car " * 900
    embedder.embedded.clear()
    store.add([long], "memory", record_ids="m", embeddings=[X])
    store.add(["a"], "memory", record_ids="n", embeddings=[np.array(Y)])
    assert chunks(store, "m") == [given(long, X)]
    assert chunks(store, "n") == [given("a", Y)]
    assert embedder.embedded == []


def test_r138_several_vectors_need_as_many_chunks(store: SQLMemoryStore) -> None:
    store.add(["a"], "memory", record_ids="m", index_texts=[["red", "blue"]], embeddings=[[X, Y]])
    assert chunks(store, "m") == [given("red", X), given("blue", Y)]
    store.update("memory", "m", embedding=[Y, X])
    assert chunks(store, "m") == [given("red", Y), given("blue", X)]
    refused(store, lambda: store.update("memory", "m", embedding=[X, X, X]), "3 vectors")
    refused(store, lambda: store.add(["a"], "memory", embeddings=[[X, Y]]), "list of chunks")
    refused(store, lambda: store.add(["a"], "memory", index_texts=[["a"]], embeddings=[[X, Y]]),
            "do not match")  # fmt: skip


def test_r139_vectors_of_one_add_have_one_dimension_and_one_may_have_no_text(
    store: SQLMemoryStore,
) -> None:
    refused(store, lambda: store.add(["a", "b"], "memory", embeddings=[X, X[:3]]), "dimension")
    refused(store, lambda: store.add(["a"], "memory", embeddings=[X[:3]]), "3")
    store.add([""], "memory", record_ids="m", embeddings=[X])
    assert chunks(store, "m") == [given("", X)]
    assert store.search(None, 1, query_vector=X)[0][0].id == "m"
    refused(store, lambda: store.add([""], "memory", embeddings=[[X, Y]]), "2 vectors")


def test_r140_no_content_excludes_text_and_vectors(store: SQLMemoryStore) -> None:
    make_thread(store)
    store.add_user("ann", "likes red")
    store.add(["red"], "message", record_ids="m", roles="user", thread_ids="t1")
    store.add(["red"], "fact", record_ids="f")
    refused(store, lambda: store.update("fact", "f", content=None, index_text="x"), "None")
    refused(store, lambda: store.update("fact", "f", content=None, embedding=X), "None")
    refused(store, lambda: store.update("message", "m", content=None), "None")
    refused(store, lambda: store.update("user_profile", "ann", content=None), "None")
    assert store.update("fact", "f", content=None) == 1
    assert chunks(store, "f") == []


def test_r141_contradictions_are_refused(store: SQLMemoryStore) -> None:
    store.add(["red"], "fact", record_ids="f")
    refused(store, lambda: store.update("fact", "f", index_text=None, embedding=X), "index_text")
    with pytest.warns(DeprecationWarning, match="text="):
        refused(store, lambda: store.update("fact", "f", content="a", text="b"), "one of them")


def test_r142_an_update_of_nothing_is_refused_and_of_nobody_is_zero(store: SQLMemoryStore) -> None:
    store.add(["red"], "fact", record_ids="f")
    refused(store, lambda: store.update("fact", "f"), "nothing")
    refused(store, lambda: store.update("fact", "unknown"), "nothing")
    before = everything(store)
    assert store.update("fact", "unknown", content="blue") == 0
    assert store.update("memory", "f", content="blue") == 0
    assert everything(store) == before


def test_r143_no_content_is_taken_from_the_metadata(store: SQLMemoryStore) -> None:
    store.add([None, None, ""], "memory", record_ids=["a", "b", "c"],
              metadata=[{"content": "red"}, {"x": 1}, {"content": "blue"}])  # fmt: skip
    assert [one.content for one in store.list("memory")] == ["red", "", ""]
    assert chunks(store, "a") == [embedded("red")]
    assert chunks(store, "b") == chunks(store, "c") == []


def test_r144_a_summary_is_a_mapping(store: SQLMemoryStore) -> None:
    make_thread(store)
    store.add([{"text": "a", "topics": ["x"]}, "b", None], "thread_summary",
              record_ids=["s1", "s2", "s3"], thread_ids="t1")  # fmt: skip
    saved = {row.record_id: row.content for row in rows_of(store, store.tables.thread_summary)}
    assert saved["s1"] == {"text": "a", "topics": ["x"]}
    assert saved["s2"] == {"text": "b"}
    assert saved["s3"] is None
    record: Any = store.get("thread_summary", "s2")
    assert record.content == {"text": "b"}


def test_r145_roles_are_of_messages_scalars_are_of_all_and_records_are_valid(
    store: SQLMemoryStore,
) -> None:
    make_thread(store)
    refused(store, lambda: store.add(["a"], "memory", roles="user"), "roles")
    refused(store, lambda: store.add(["a"], "message", thread_ids="t1"), "role")
    store.add(["a", "b"], "message", record_ids=["m", "n"], roles="critic", thread_ids="t1",
              user_ids="ann", timestamps="2026-01-01", metadata={"k": 1})  # fmt: skip
    store.add(["c"], "memory", statuses=[RecordStatus.INVALID])
    rows = rows_of(store, store.tables.message)
    assert {(row.message_role, row.user_id, row.timestamp) for row in rows} == {
        ("critic", "ann", "2026-01-01")
    }
    assert [row.metadata for row in rows] == [{"k": 1}] * 2
    assert {row.status for row in rows} == {"valid"}
    assert [row.status for row in rows_of(store, store.tables.memory)] == ["invalid"]


def test_r146_a_list_holds_the_newest_oldest_first(
    store: SQLMemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.add([str(number) for number in range(7)], "memory")
    assert [one.content for one in store.list("memory", limit=3)] == ["4", "5", "6"]
    assert len(store.list("memory", limit=None)) == 7
    assert caplog.text == ""
    assert len(store.list("memory")) == 7
    assert "10,000" in caplog.text or "10000" in caplog.text
    assert store.list("memory", limit=0) == store.list("memory", limit=-1) == []


def test_r147_threads_are_not_listed_by_thread_nor_profiles_by_scope(store: SQLMemoryStore) -> None:
    make_thread(store)
    store.add_user("ann", "likes red")
    refused(store, lambda: store.list("thread", thread_id="t1"), "thread_id")
    scope = {"user_id": "bea", "agent_id": "bot", "thread_id": "t9"}
    assert [one.id for one in store.list("user_profile", **scope)] == ["ann"]  # type: ignore[arg-type]


def test_r148_none_means_without_and_omitted_means_any(store: SQLMemoryStore) -> None:
    store.add(["a", "b"], "memory", record_ids=["a", "b"], user_ids=["ann", None])
    assert [one.id for one in store.list("memory")] == ["a", "b"]
    assert [one.id for one in store.list("memory", user_id=None)] == ["b"]
    assert [one.id for one in store.list("memory", user_id="ann")] == ["a"]


def test_r149_the_last_messages_are_those_of_the_range(store: SQLMemoryStore) -> None:
    make_thread(store)
    store.add([str(number) for number in range(6)], "message", roles="user", thread_ids="t1")
    first = store.list_thread_messages("t1")[0].seq_no
    numbers: Any = [one.seq_no for one in store.list_thread_messages("t1")]

    def listed(**more: Any) -> list[Any]:
        return [one.content for one in store.list_thread_messages("t1", **more)]

    assert numbers == sorted(numbers)
    inner = {"range_start_seq_no": first + 1, "range_end_seq_no": numbers[4]}
    assert listed(**inner) == ["1", "2", "3"]
    assert listed(**inner, last_n=2) == ["2", "3"]
    assert listed(last_n=0) == []
    assert listed(range_start_seq_no=numbers[4], range_end_seq_no=numbers[4]) == []


def test_r150_a_delete_counts_the_named_record_alone(store: SQLMemoryStore) -> None:
    make_thread(store)
    store.add_user("u1", "likes red")
    store.add(["a", "b"], "message", roles="user", thread_ids="t1", user_ids="u1")
    store.add(["c"], "memory", user_ids="u1")
    assert store.delete("user_profile", "u1", cascade=True) == 1
    assert store.delete("user_profile", "u1", cascade=True) == 0
    for table in (store.tables.thread, store.tables.message, store.tables.memory,
                  store.tables.record_chunks, store.extras.record_state):  # fmt: skip
        assert rows_of(store, table) == [], table.name


def test_batches_are_stored_whole_or_not_at_all(store: SQLMemoryStore) -> None:
    make_thread(store)
    good = PendingRecordBatch(contents=["a"], record_type="memory", record_ids=["a"])
    bad = PendingRecordBatch(contents=["b"], record_type="memory", thread_ids="nowhere")
    before = everything(store)
    with pytest.raises(KeyError, match="nowhere"):
        store.add_batches([good, bad])
    assert everything(store) == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.add_batches([good]) == ["a"]
