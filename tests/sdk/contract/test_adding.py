"""What `add` and its relatives store, and what they refuse before they store anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oracleagentmemory.apis import Message, PendingRecordBatch, RecordStatus, TextContent
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import (
    DimensionMismatchError,
    DuplicateIdError,
    NotFoundError,
    StateError,
)
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.search.stores import DIMENSION, Clock, ScopedWordEmbedder, WordEmbedder


def make_thread(store: SQLMemoryStore, thread_id: str = "t1", user_id: str | None = "u1") -> None:
    store.write(store.prepare_create_thread(thread_id, user_id=user_id, agent_id="a1"))


def test_an_added_memory_reads_back_as_it_was_given(store: SQLMemoryStore, clock: Clock) -> None:
    make_thread(store)
    ids = store.add(
        ["red car"],
        record_type="fact",
        record_ids="m1",
        thread_ids="t1",
        user_ids="u1",
        agent_ids="a1",
        timestamps="2024-05-01T10:00:00+02:00",
        metadata={"a": [1, 2.5, None, {"ü": "空"}]},
        statuses=RecordStatus.INVALID,
    )
    record: Any = store.get("fact", "m1")

    assert ids == ["m1"]
    assert type(record).__name__ == "FactRecord"
    assert (record.id, record.content, record.record_type) == ("m1", "red car", "fact")
    assert (record.thread_id, record.user_id, record.agent_id) == ("t1", "u1", "a1")
    assert record.timestamp == "2024-05-01T10:00:00+02:00"
    # The mark of a caller: the memory stays invalid whatever relations come and go.
    mark = {"$agent_memory": {"invalidated_by": "caller"}}
    assert record.metadata == {"a": [1, 2.5, None, {"ü": "空"}], **mark}
    assert record.status is RecordStatus.INVALID


def test_without_a_timestamp_the_creation_time_shows(store: SQLMemoryStore, clock: Clock) -> None:
    store.add(["red"], record_type="memory", record_ids="m1")

    record = store.get("memory", "m1")
    assert record is not None
    if store.engine.dialect_name == "sqlite":
        assert record.timestamp == clock.now.isoformat()
    assert record.timestamp is not None
    assert record.timestamp.endswith("+00:00")


def test_scalars_apply_to_every_record_and_ids_come_in_order(store: SQLMemoryStore) -> None:
    ids = store.add(["red", "blue", "green"], record_type="memory", user_ids="u1")

    listed = store.list("memory", user_id="u1")
    assert [one.id for one in listed] == ids
    assert [one.content for one in listed] == ["red", "blue", "green"]
    assert len(set(ids)) == 3


def test_messages_keep_role_order_and_one_text(store: SQLMemoryStore) -> None:
    make_thread(store)
    texts = ["red car", "", "空 🚗 e\u0301"]
    store.add(texts, record_type="message", roles=["user", "", "critic"], thread_ids="t1")

    messages = store.list_thread_messages("t1")
    assert [one.content for one in messages] == texts
    assert [one.role for one in messages] == ["user", "", "critic"]
    numbers = [one.seq_no for one in messages]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 3


def test_several_text_parts_stay_parts(store: SQLMemoryStore) -> None:
    parts = [TextContent("red car"), TextContent("blue boat", timestamp="2024-05-01")]
    store.add([parts], record_type="message", record_ids="n1", roles="user")

    record: Any = store.get("message", "n1")
    assert list(record.content) == parts
    assert [hit[0].id for hit in store.search("boat", 1)] == ["n1"]


def test_none_takes_the_content_of_the_metadata_and_empty_text_stays(store: SQLMemoryStore) -> None:
    store.add([None], record_type="memory", record_ids="m1", metadata={"content": "from metadata"})
    store.add([""], record_type="memory", record_ids="m2", metadata={"content": "from metadata"})
    store.add([None], record_type="memory", record_ids="m3")

    contents = [store.get("memory", one) for one in ("m1", "m2", "m3")]
    assert [one and one.content for one in contents] == ["from metadata", "", ""]


def test_profiles_are_stored_under_their_actor_id(store: SQLMemoryStore) -> None:
    assert store.add_user("u1", "likes red", {"age": 30}) == "u1"
    assert store.add_agent("a1", "") == "a1"

    user, agent = store.get("user_profile", "u1"), store.get("agent_profile", "a1")
    assert user is not None
    assert agent is not None
    assert (user.content, user.metadata) == ("likes red", {"age": 30})
    assert agent.content == ""
    assert store.get("agent_profile", "u1") is None


def test_a_summary_text_becomes_a_mapping(store: SQLMemoryStore) -> None:
    make_thread(store)
    given: list[Any] = ["all about red", {"text": "x", "topics": ["y"]}, None]
    store.add(given, record_type="thread_summary", record_ids=["s1", "s2", "s3"], thread_ids="t1")

    contents = [store.get("thread_summary", one) for one in ("s1", "s2", "s3")]
    assert [one and one.content for one in contents] == [
        {"text": "all about red"},
        {"text": "x", "topics": ["y"]},
        None,
    ]


def test_a_new_thread_starts_with_an_empty_summary(store: SQLMemoryStore) -> None:
    prepared = store.prepare_create_thread(
        "t1",
        user_id="u1",
        agent_id="a1",
        metadata={"a": 1},
        runtime_config={"x": {"y": -1}},
        runtime_state={"counter": 0},
    )
    assert store.write(prepared) == "t1"

    thread: Any = store.get("thread", "t1")
    assert (thread.user_id, thread.agent_id, thread.metadata) == ("u1", "a1", {"a": 1})
    assert (thread.runtime_config, thread.runtime_state) == ({"x": {"y": -1}}, {"counter": 0})
    (summary,) = store.list("thread_summary", thread_id="t1", limit=5)
    assert summary.content == {"text": "", "topics": []}
    assert summary.status is RecordStatus.INVALID
    assert summary.metadata == {
        "$agent_memory": {"revision": 1, "summary_last_message_order_seq": 0}
    }


def test_batches_are_stored_all_or_none(store: SQLMemoryStore) -> None:
    good = PendingRecordBatch(contents=["red", "blue"], record_type="memory", record_ids=["a", "b"])
    lost = PendingRecordBatch(contents=["green"], record_type="fact", thread_ids="nowhere")
    before = everything(store)

    with pytest.raises(NotFoundError, match="nowhere"):
        store.add_batches([good, lost])
    assert everything(store) == before
    assert store.add_batches([good], batch_size=1) == ["a", "b"]
    assert store.add_batches([]) == []
    check_agreement(store)


def test_a_taken_id_is_named_and_nothing_is_stored(store: SQLMemoryStore) -> None:
    store.add(["red"], record_type="memory", record_ids="m1")
    before = everything(store)

    with pytest.raises(DuplicateIdError, match="id 'm1' exists"):
        store.add(["blue", "sea"], record_type="fact", record_ids=["m2", "m1"])
    with pytest.raises(DuplicateIdError):
        store.write_all([store.prepare_add_user("u1", "x"), store.prepare_add_agent("u1", "y")])
    assert everything(store) == before


def test_an_id_may_be_that_of_a_message_and_of_a_memory(store: SQLMemoryStore) -> None:
    store.add(["red"], record_type="message", record_ids="same", roles="user")
    store.add(["blue"], record_type="memory", record_ids="same")

    check_agreement(store)
    assert store.delete("message", "same") == 1
    assert store.get_memory("same") is not None
    check_agreement(store)


IDS = ["a/b", "a%2Fb", 'a"b', "a'b", "..", "search", "new", "~x", "空", "a" * 128, "é" * 64, " "]


def test_ids_may_hold_any_character(store: SQLMemoryStore, subtests: pytest.Subtests) -> None:
    for one in IDS:
        with subtests.test(one):
            store.write(store.prepare_create_thread(one, user_id=one, agent_id=one))
            store.add(["red"], "memory", record_ids=one, thread_ids=one, user_ids=one)
            scope: dict[str, Any] = {"user_id": one, "thread_id": one}
            exact = {"exact_user_match": True, "exact_thread_match": True}
            found = store.search("red", 1, **scope, **exact)
            assert [record.id for record, _ in found] == [one]
            assert [record.id for record in store.list("memory", **scope)] == [one]
    for one in IDS:
        assert store.delete_thread(one) == 1
    check_agreement(store)


def test_index_text_is_searched_instead_of_the_content(
    store: SQLMemoryStore, embedder: WordEmbedder
) -> None:
    given: list[Any] = ["car", ["boat", "tree"], None, "", []]
    ids = ["a", "b", "c", "d", "e"]
    store.add(["sky"] * 5, "memory", record_ids=ids, index_texts=given)

    chunks = rows_of(store, store.tables.record_chunks)
    texts = sorted((one.source_id, one.chunk_seq, one.chunk_text) for one in chunks)
    assert texts == [("a", 1, "car"), ("b", 1, "boat"), ("b", 2, "tree"), ("c", 1, "sky")]
    assert sorted(embedder.embedded) == ["boat", "car", "sky", "tree"]
    assert [one.content for one in store.list("memory")] == ["sky"] * 5
    assert store.search("tree", 1)[0][0].id == "b"


def test_explicit_vectors_bypass_the_embedder(
    store: SQLMemoryStore, embedder: WordEmbedder
) -> None:
    axis = np.eye(DIMENSION, dtype=np.float32)
    vectors: list[Any] = [axis[0].tolist(), [axis[1], axis[2]], axis[3:4]]
    texts: Any = ["x" * 9000, ["p", "q"], ""]
    store.add(["a", "b", "c"], "memory", texts, vectors, record_ids=["a", "b", "c"])

    assert embedder.embedded == []
    for at, record_id in enumerate(["a", "b", "b", "c"]):
        record, distance = store.search(None, 1, query_vector=axis[at].tolist())[0]
        assert record.id == record_id
        assert distance == pytest.approx(0, abs=1e-6)


def test_long_text_is_cut_into_chunks_of_4000_characters(store: SQLMemoryStore) -> None:
    store.add(["red car " * 1200], "memory", record_ids="m1")

    chunks = rows_of(store, store.tables.record_chunks)
    texts = [one.chunk_text for one in sorted(chunks, key=lambda one: one.chunk_seq)]
    assert [len(text) for text in texts] == [3999, 3999, 1599]
    assert " ".join(texts) == ("red car " * 1200).strip()
    check_agreement(store)


def test_token_ids_are_kept_for_embedders_that_weigh_queries(make_store: Any) -> None:
    store = make_store(embedder=ScopedWordEmbedder())
    store.add(["red car", "car car"], "memory", user_ids="u1")

    rows = rows_of(store, store.extras.chunk_token)
    assert sorted(np.frombuffer(row.token_ids, "<u4").size for row in rows) == [1, 2]
    check_agreement(store)


def test_without_embedder_text_is_stored_without_vectors(make_store: Any) -> None:
    store = make_store()
    store.add(["red car"], "memory", record_ids="m1")

    (chunk,) = rows_of(store, store.tables.record_chunks)
    assert (chunk.chunk_text, chunk.embedding) == ("red car", None)
    check_agreement(store)


BAD_ADDS: dict[str, tuple[type[Exception], dict[str, Any]]] = {
    "no type": (ValueError, {"contents": ["a"]}),
    "no contents": (ValueError, {"record_type": "memory"}),
    "a str as contents": (TypeError, {"contents": "abc", "record_type": "memory"}),
    "an unknown type": (ValueError, {"record_type": "idea"}),
    "a thread": (ValueError, {"record_type": "thread"}),
    "a number as content": (TypeError, {"contents": [1]}),
    "bytes as content": (TypeError, {"contents": [b"x"]}),
    "too few ids": (ValueError, {"contents": ["a", "b"], "record_ids": ["x"]}),
    "one id for two": (ValueError, {"contents": ["a", "b"], "record_ids": "x"}),
    "one id missing": (ValueError, {"contents": ["a", "b"], "record_ids": ["x", None]}),
    "an id twice": (ValueError, {"contents": ["a", "b"], "record_ids": ["x", "x"]}),
    "an empty id": (ValueError, {"record_ids": ""}),
    "an id of 129 bytes": (ValueError, {"record_ids": "é" * 64 + "x"}),
    "an id that is a number": (TypeError, {"record_ids": [7]}),
    "too many users": (ValueError, {"user_ids": ["u", "v"]}),
    "an empty user": (ValueError, {"user_ids": ""}),
    "too many times": (ValueError, {"timestamps": ["2024-05-01"] * 2}),
    "a time that is a number": (TypeError, {"timestamps": 5}),
    "a time of 65 bytes": (ValueError, {"timestamps": "x" * 65}),
    "metadata that is text": (ValueError, {"metadata": "x"}),
    "metadata list with text": (ValueError, {"metadata": ["x"]}),
    "metadata that no JSON holds": (ValueError, {"metadata": {"a": {1, 2}}}),
    "NaN in metadata": (ValueError, {"metadata": {"a": [float("nan")]}}),
    "a number as key": (ValueError, {"metadata": {1: "a"}}),
    "NUL in text": (ValueError, {"contents": ["a\0b"]}),
    "a lone surrogate in text": (ValueError, {"contents": ["a\ud800b"]}),
    "NUL in metadata": (ValueError, {"metadata": {"a": "\0"}}),
    "a surrogate in an index text": (ValueError, {"index_texts": ["\udfff"]}),
    "a role on a memory": (ValueError, {"roles": "user"}),
    "a message without role": (ValueError, {"record_type": "message"}),
    "a role of 31 bytes": (ValueError, {"record_type": "message", "roles": "r" * 31}),
    "a message without parts": (
        ValueError,
        {"record_type": "message", "roles": "u", "contents": [[]]},
    ),
    "a message of dicts": (TypeError, {"record_type": "message", "roles": "u", "contents": [[{}]]}),
    "a profile without text": (ValueError, {"record_type": "user_profile", "contents": [None]}),
    "a profile in a thread": (ValueError, {"record_type": "user_profile", "user_ids": "u"}),
    "a profile with a life": (ValueError, {"record_type": "user_profile", "ttl_days": 1}),
    "a summary without thread": (ValueError, {"record_type": "thread_summary"}),
    "too many index texts": (ValueError, {"index_texts": ["x", "y"]}),
    "an empty chunk": (ValueError, {"index_texts": [["x", ""]]}),
    "an index text that is a number": (TypeError, {"index_texts": [5]}),
    "vectors without chunks": (ValueError, {"embeddings": [[[1.0] * DIMENSION] * 2]}),
    "a vector too many": (
        ValueError,
        {"index_texts": [["x"]], "embeddings": [[[1.0] * DIMENSION] * 2]},
    ),
    "vectors of two dimensions": (
        ValueError,
        {"contents": ["a", "b"], "embeddings": [[1.0], [1.0, 2.0]]},
    ),
    "an empty vector": (ValueError, {"embeddings": [[]]}),
    "a vector that is not finite": (ValueError, {"embeddings": [[float("inf")] * DIMENSION]}),
    "a status that is text": (ValueError, {"statuses": "valid"}),
    "an unknown argument": (TypeError, {"colour": "red"}),
    "a batch size of 0": (ValueError, {"batch_size": 0}),
    "a negative life": (ValueError, {"ttl_days": -1}),
    "a life in words": (ValueError, {"ttl_days": "soon"}),
    "an anchor that is text": (ValueError, {"ttl_anchor": "timestamp"}),
}


def test_a_bad_argument_is_refused_before_anything_is_read_or_written(
    store: SQLMemoryStore, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setattr(store.engine, "read", _must_not_open)
    monkeypatch.setattr(store.engine, "write", _must_not_open)
    for name, (error, given) in BAD_ADDS.items():
        arguments: dict[str, Any] = {"contents": ["a"], "record_type": "memory"}
        if name in ("no type", "no contents"):
            arguments = {}
        with subtests.test(name), pytest.raises(error):
            store.add(**(arguments | given))


def test_a_vector_of_another_dimension_than_the_stores_is_refused_before_a_write(
    store: SQLMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store.engine, "write", _must_not_open)
    with pytest.raises(DimensionMismatchError):
        store.add(["a"], "memory", embeddings=[[1.0] * (DIMENSION + 1)])


def _must_not_open() -> None:
    raise AssertionError("the database was opened before the arguments were checked")


def test_batches_must_be_batches(store: SQLMemoryStore) -> None:
    rows: Any = [{"contents": ["a"], "record_type": "memory"}]
    with pytest.raises(ValueError, match="PendingRecordBatch"):
        store.add_batches(rows)
    message: Any = Message("user", "hi")
    with pytest.raises(TypeError, match="unknown argument 'texts'"):
        store.add([message], "message", texts=["a"])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_an_embedder_that_gives_no_numbers_stores_and_finds_nothing(
    bad: float, store: SQLMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add(["sea"], "memory", user_ids="u1")
    broken = np.full((1, store.embedder.embedding_dimension), bad, dtype=np.float32)
    monkeypatch.setattr(store.embedder, "embed", lambda texts, is_query=False: broken)
    with pytest.raises(StateError, match="not finite"):
        store.add(["sky"], "memory", user_ids="u1")
    with pytest.raises(StateError, match="not finite"):
        store.search("sky", 5, user_id="u1")
    assert [one.content for one in store.list("memory", limit=None)] == ["sea"]
