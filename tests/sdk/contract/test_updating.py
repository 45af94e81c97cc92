"""Changing records: what changes, what stays, what is searched afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oracleagentmemory.apis import RecordStatus, TextContent, TimeToLiveAnchor
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import ConflictError
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import DIMENSION, Clock, WordEmbedder

AXIS = np.eye(DIMENSION, dtype=np.float32)


@pytest.fixture
def filled(store: SQLMemoryStore) -> SQLMemoryStore:
    make_thread(store)
    store.add(["red car"], "memory", record_ids="m1", user_ids="u1", metadata={"a": 1},
              timestamps="2024-05-01")  # fmt: skip
    store.add(["hello"], "message", record_ids="n1", thread_ids="t1", roles="user")
    store.add_user("u1", "likes red")
    return store


def chunk_texts(store: SQLMemoryStore, record_id: str) -> list[str]:
    chunks = [
        one for one in rows_of(store, store.tables.record_chunks) if one.source_id == record_id
    ]
    return [one.chunk_text for one in sorted(chunks, key=lambda one: one.chunk_seq)]


def test_a_new_content_is_stored_and_searched(filled: SQLMemoryStore) -> None:
    assert filled.update("memory", "m1", content="blue boat") == 1

    record: Any = filled.get("memory", "m1")
    assert (record.content, record.metadata, record.timestamp) == (
        "blue boat",
        {"a": 1},
        "2024-05-01",
    )
    assert record.user_id == "u1"
    found = filled.search("boat", 1, user_id="u1", exact_user_match=True)
    assert [one.id for one, _ in found] == ["m1"]
    check_agreement(filled)


def test_unknown_records_and_other_types_change_nothing(filled: SQLMemoryStore) -> None:
    before = everything(filled)
    assert filled.update("memory", "nobody", content="x") == 0
    assert filled.update("fact", "m1", content="x") == 0
    assert filled.update("agent_profile", "u1", content="x") == 0
    assert everything(filled) == before


def test_metadata_is_replaced_whole_and_cleared_by_none(filled: SQLMemoryStore) -> None:
    filled.update("memory", "m1", metadata={"b": 2})
    assert [one.metadata for one in filled.list("memory")] == [{"b": 2}]
    filled.update("memory", "m1", metadata=None)
    assert [one.metadata for one in filled.list("memory")] == [None]
    assert chunk_texts(filled, "m1") == ["red car"]


def test_replaced_metadata_keeps_the_reserved_key(store: SQLMemoryStore) -> None:
    store.add(
        ["red"], "fact", record_ids="f1", metadata={"$agent_memory": {"importance": 3}, "a": 1}
    )
    store.update("fact", "f1", metadata={"b": 2})
    assert [one.metadata for one in store.list("fact")] == [
        {"b": 2, "$agent_memory": {"importance": 3}}
    ]
    store.update("fact", "f1", metadata=None)
    assert [one.metadata for one in store.list("fact")] == [{"$agent_memory": {"importance": 3}}]


def test_a_cleared_timestamp_lets_the_creation_show(filled: SQLMemoryStore) -> None:
    filled.update("memory", "m1", timestamp=None)
    record = filled.get("memory", "m1")
    assert record is not None
    assert record.timestamp is not None
    assert record.timestamp.startswith("20")
    assert record.timestamp != "2024-05-01"


def test_a_status_is_copied_to_what_is_searched_and_marked_as_set_by_hand(
    filled: SQLMemoryStore,
) -> None:
    filled.update("memory", "m1", status=RecordStatus.INVALID)

    record: Any = filled.get("memory", "m1")
    assert record.status is RecordStatus.INVALID
    assert record.metadata == {"a": 1, "$agent_memory": {"invalidated_by": "caller"}}
    assert [one.id for one, _ in filled.search("red car", 1)] == ["m1"]
    assert "m1" not in {
        one.id for one, _ in filled.search("red car", 9, include_invalid_results=False)
    }
    filled.update("memory", "m1", status=RecordStatus.VALID)
    record = filled.get("memory", "m1")
    assert (record.status, record.metadata) == (RecordStatus.VALID, {"a": 1})
    found = filled.search("red car", 9, include_invalid_results=False)
    assert found[0][0].id == "m1"
    check_agreement(filled)


@pytest.mark.parametrize("reserved", ["text", 7, None, ["a"]])
def test_a_status_is_set_whatever_a_caller_put_under_the_reserved_key(
    filled: SQLMemoryStore, reserved: object
) -> None:
    given = {"a": 1, "$agent_memory": reserved}
    filled.update("memory", "m1", metadata=given)
    filled.update("memory", "m1", status=RecordStatus.VALID)
    assert filled.get("memory", "m1").metadata == given
    filled.update("memory", "m1", status=RecordStatus.INVALID)
    record: Any = filled.get("memory", "m1")
    assert record.metadata == {"a": 1, "$agent_memory": {"invalidated_by": "caller"}}


def test_a_message_takes_text_parts_and_empty_text(filled: SQLMemoryStore) -> None:
    parts = [TextContent("sea"), TextContent("sky")]
    filled.update("message", "n1", content=parts)
    record: Any = filled.get("message", "n1")
    assert list(record.content) == parts
    assert chunk_texts(filled, "n1") == ["sea\nsky"]
    filled.update("message", "n1", content="")
    record = filled.get("message", "n1")
    assert (record.content, record.role) == ("", "user")
    assert chunk_texts(filled, "n1") == []


def test_none_clears_a_memory_and_what_is_searched_for_it(filled: SQLMemoryStore) -> None:
    filled.update("memory", "m1", content=None)
    assert filled.list("memory")[0].content == ""
    assert chunk_texts(filled, "m1") == []
    check_agreement(filled)


def test_index_text_changes_the_search_alone(filled: SQLMemoryStore) -> None:
    filled.update("memory", "m1", index_text=["tree", "sea"])
    assert filled.list("memory")[0].content == "red car"
    assert chunk_texts(filled, "m1") == ["tree", "sea"]
    filled.update("memory", "m1", index_text=None)
    assert chunk_texts(filled, "m1") == []
    filled.update("memory", "m1", content="green", index_text=None)
    assert chunk_texts(filled, "m1") == ["green"]
    filled.update("memory", "m1", content="sky", index_text="boat")
    assert chunk_texts(filled, "m1") == ["boat"]
    filled.update("memory", "m1", index_text="")
    assert chunk_texts(filled, "m1") == []
    check_agreement(filled)


def test_vectors_alone_reuse_the_text_that_is_there(
    filled: SQLMemoryStore, embedder: WordEmbedder
) -> None:
    filled.update("memory", "m1", index_text=["tree", "sea"])
    embedder.embedded.clear()
    filled.update("memory", "m1", embedding=[AXIS[0], AXIS[1]])

    assert chunk_texts(filled, "m1") == ["tree", "sea"]
    assert embedder.embedded == []
    record, distance = filled.search(None, 1, query_vector=AXIS[1].tolist())[0]
    assert (record.id, distance) == ("m1", pytest.approx(0, abs=1e-6))
    with pytest.raises(ValueError, match="do not match"):
        filled.update("memory", "m1", embedding=AXIS[0])
    filled.update("memory", "m1", embedding=None)
    assert "m1" not in {one.id for one, _ in filled.search("tree", 9)}
    assert chunk_texts(filled, "m1") == ["tree", "sea"]


def test_one_vector_without_text_is_a_row_of_its_own(filled: SQLMemoryStore) -> None:
    filled.update("memory", "m1", index_text=None)
    filled.update("memory", "m1", embedding=AXIS[2])
    assert filled.search(None, 1, query_vector=AXIS[2].tolist())[0][0].id == "m1"
    filled.update("memory", "m1", content="long " * 2000, embedding=AXIS[3])
    assert chunk_texts(filled, "m1") == ["long " * 2000]
    filled.update("memory", "m1", content="sky", embedding=None)
    assert chunk_texts(filled, "m1") == ["sky"]
    assert filled.search(None, 9, query_vector=AXIS[3].tolist()) != []
    check_agreement(filled)


def test_a_profile_is_changed_and_found_under_its_user(filled: SQLMemoryStore) -> None:
    assert filled.update("user_profile", "u1", content="likes the sea", metadata={"a": 1}) == 1
    found = filled.search("sea", 1, user_id="u1", exact_user_match=True)
    assert [(one.id, one.content) for one, _ in found] == [("u1", "likes the sea")]
    check_agreement(filled)


def test_if_fingerprint_lets_a_change_through_once(filled: SQLMemoryStore) -> None:
    seen = filled.fingerprint("memory", "m1")
    assert seen is not None
    assert filled.update("memory", "m1", content="blue", if_fingerprint=seen) == 1
    before = everything(filled)
    for change in ({"content": "green"}, {"metadata": None}, {"status": RecordStatus.INVALID}):
        with pytest.raises(ConflictError, match="'m1'"):
            filled.update("memory", "m1", **change, if_fingerprint=seen)
    with pytest.raises(ConflictError):
        filled.delete("memory", "m1", if_fingerprint=seen)
    assert everything(filled) == before
    assert filled.delete("memory", "m1", if_fingerprint=filled.fingerprint("memory", "m1")) == 1


def test_thread_handles_change_only_their_own_records(filled: SQLMemoryStore) -> None:
    for thread_id, changed in (("t1", 1), ("t2", 0), (None, 0)):
        prepared = filled.prepare_update("message", "n1", metadata={"t": 1}, thread_id=thread_id)
        assert filled.write(prepared) == changed
    assert filled.write(filled.prepare_delete("memory", "m1", thread_id="t1")) == 0
    assert filled.write(filled.prepare_delete("memory", "m1", thread_id=None)) == 1


def test_threads_change_by_their_own_method(filled: SQLMemoryStore) -> None:
    def count_up(state: dict[str, int] | None) -> dict[str, int]:
        return {"counter": (state or {"counter": 0})["counter"] + 1}

    for _ in range(2):
        assert filled.write(filled.prepare_update_thread("t1", runtime_state=count_up)) == 1
    seen = filled.fingerprint("thread", "t1")
    change = filled.prepare_update_thread("t1", metadata={"a": 1}, if_fingerprint=seen)
    assert filled.write(change) == 1
    with pytest.raises(ConflictError):
        filled.write(change)
    record: Any = filled.get("thread", "t1")
    assert (record.runtime_state, record.metadata) == ({"counter": 2}, {"a": 1})
    assert filled.write(filled.prepare_update_thread("t1", metadata=None)) == 1
    assert filled.write(filled.prepare_update_thread("nowhere", metadata=None)) == 0
    with pytest.raises(ValueError, match="metadata"):
        filled.prepare_update_thread("t1", metadata="x")
    check_agreement(filled)


def test_versions_count_changes(filled: SQLMemoryStore) -> None:
    filled.update("memory", "m1", content="blue")
    filled.update("memory", "m1", metadata=None)
    states = {one.record_id: one.version for one in rows_of(filled, filled.extras.record_state)}
    assert (states["m1"], states["n1"]) == (3, 1)


def test_the_old_name_of_content_warns(filled: SQLMemoryStore) -> None:
    with pytest.warns(DeprecationWarning, match="content="):
        assert filled.update("memory", "m1", text="pear") == 1
    assert filled.list("memory")[0].content == "pear"
    with (
        pytest.warns(DeprecationWarning, match="content="),
        pytest.raises(ValueError, match="same argument"),
    ):
        filled.update("memory", "m1", content="x", text="y")


Change = Callable[[SQLMemoryStore], Any]
BAD: dict[str, tuple[type[Exception], Change]] = {
    "nothing to update": (ValueError, lambda s: s.update("memory", "m1")),
    "an unknown type": (ValueError, lambda s: s.update("idea", "m1", content="x")),
    "a thread": (ValueError, lambda s: s.update("thread", "t1", metadata={})),
    "no message content": (ValueError, lambda s: s.update("message", "n1", content=None)),
    "no profile text": (ValueError, lambda s: s.update("user_profile", "u1", content=None)),
    "a profile's life": (ValueError, lambda s: s.update("user_profile", "u1", ttl_days=3)),
    "a profile's time": (ValueError, lambda s: s.update("user_profile", "u1", timestamp="x")),
    "None beside index text": (
        ValueError, lambda s: s.update("memory", "m1", content=None, index_text="x")),
    "None beside a vector": (
        ValueError, lambda s: s.update("memory", "m1", content=None, embedding=AXIS[0])),
    "a vector without index text": (
        ValueError, lambda s: s.update("memory", "m1", index_text=None, embedding=AXIS[0])),
    "two vectors for a text": (
        ValueError, lambda s: s.update("memory", "m1", content="x", embedding=AXIS[:2])),
    "another dimension": (
        ValueError, lambda s: s.update("memory", "m1", embedding=[1.0] * (DIMENSION + 1))),
    "metadata as text": (ValueError, lambda s: s.update("memory", "m1", metadata="x")),
    "a status as text": (ValueError, lambda s: s.update("memory", "m1", status="valid")),
    "NUL": (ValueError, lambda s: s.update("memory", "m1", content="\0")),
    "a number": (TypeError, lambda s: s.update("memory", "m1", content=5)),
    "a negative life": (ValueError, lambda s: s.update("memory", "m1", ttl_days=-1)),
    "a life from words": (
        ValueError,
        lambda s: s.update("message", "n1", ttl_days=1, ttl_anchor=TimeToLiveAnchor.TIMESTAMP)),
}  # fmt: skip


def test_a_bad_change_leaves_everything_as_it_was(
    filled: SQLMemoryStore, subtests: pytest.Subtests
) -> None:
    before = everything(filled)
    for name, (error, change) in BAD.items():
        with subtests.test(name), pytest.raises(error):
            change(filled)
    assert everything(filled) == before


def test_an_update_keeps_the_place_in_lists(filled: SQLMemoryStore, clock: Clock) -> None:
    filled.add(["red"], "memory", record_ids="m2")
    clock.pass_days(1)
    filled.update("memory", "m1", content="blue")
    assert [one.id for one in filled.list("memory")] == ["m1", "m2"]
