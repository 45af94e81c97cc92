"""`dump` and `restore`: every field there and back, on one database and from one to the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.apis.upkeep import DumpScope
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import (
    DimensionMismatchError,
    DuplicateIdError,
    EmbedderMismatchError,
    InvalidInputError,
    NotFoundError,
    WrongTypeError,
)
from oracleagentmemory.storage.fingerprints import row_fingerprint
from oracleagentmemory.storage.kinds import KINDS
from oracleagentmemory.storage.writes import Prepared
from tests.sdk.contract.backends import BACKENDS, forget
from tests.sdk.contract.conftest import MakeStore
from tests.sdk.contract.full_store import NASTY, fill, number_of
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import DIMENSION, Clock, ScopedWordEmbedder


@pytest.fixture
def embedder() -> ScopedWordEmbedder:
    return ScopedWordEmbedder()


@pytest.fixture
def full(store: SQLMemoryStore, clock: Clock) -> SQLMemoryStore:
    fill(store, clock)
    return store


@pytest.fixture
def other(backend: str, tmp_path: Path, clock: Clock) -> Iterator[SQLMemoryStore]:
    """An empty store in a database of its own."""
    folder = tmp_path / "other"
    folder.mkdir()
    store = BACKENDS[backend](folder, embedder=ScopedWordEmbedder(), vector_dim=DIMENSION)
    store.engine.clock = clock
    yield store
    store.close()
    forget(backend, folder)


def dumped(store: SQLMemoryStore, **scope: Any) -> list[bytes]:
    with store.dump(DumpScope(**scope) if scope else None) as file:
        return file.readlines()


def rows(lines: list[bytes], table: str) -> list[dict[str, Any]]:
    parsed = [json.loads(line) for line in lines]
    return [line["row"] for line in parsed if line.get("table") == table]


def keys(lines: list[bytes], table: str, key: str = "record_id") -> list[str]:
    return [row[key] for row in rows(lines, table)]


def faults(store: SQLMemoryStore) -> dict[str, int]:
    return {one.code: one.count for one in store.check().findings}


def test_a_restored_dump_gives_the_same_bytes(full: SQLMemoryStore, other: SQLMemoryStore) -> None:
    first = dumped(full)
    report = other.restore(first)

    assert dumped(other) == first
    assert faults(other) == faults(full) == {}
    assert report.left_out == {}
    assert sum(report.rows.values()) == len(first) - 2
    assert {table for table, count in report.rows.items() if count} == {
        "thread", "actor_profile", "message", "document", "memory", "thread_summary",
        "memory_link", "record_chunks", "x_record_state", "x_source", "x_change",
    }  # fmt: skip


def found(store: SQLMemoryStore, text: str, user_id: str | None) -> list[tuple[str, float]]:
    hits = store.search(text, 50, user_id=user_id, exact_user_match=True)
    return [(one.id, round(distance, 5)) for one, distance in hits]


def test_a_restored_store_answers_as_the_first(
    full: SQLMemoryStore, other: SQLMemoryStore, clock: Clock
) -> None:
    other.search("red", 3, user_id="ann", exact_user_match=True)  # a cache that must notice
    other.restore(dumped(full))

    for kind in ("memory", "fact", "user_profile"):
        assert other.list(kind, limit=None) == full.list(kind, limit=None)
    for user_id in ("ann", "bob", None):
        for text in ("red car", "blue", "sea"):
            assert found(other, text, user_id) == found(full, text, user_id)
    assert other.fingerprint("memory", "m2") == full.fingerprint("memory", "m2")
    clock.pass_days(10)
    assert other.purge_expired() == full.purge_expired() == 2


def test_an_empty_store_is_dumped_and_restored(
    store: SQLMemoryStore, other: SQLMemoryStore
) -> None:
    lines = dumped(store)
    assert len(lines) == 2
    assert other.restore(lines).rows == {}
    assert dumped(other) == lines


def test_order_is_kept_and_a_summary_covers_the_same_messages(
    full: SQLMemoryStore, other: SQLMemoryStore
) -> None:
    # Takes numbers that the restored messages then cannot have.
    other.add(["red"] * 9, "message", roles="user")
    other.restore(dumped(full))

    wanted = ["t1-0", "t1-1", "t1-2"]
    messages: Any = other.list("message", thread_id="t1")
    assert [one.id for one in messages] == wanted
    covering = [one._covered_through_seq_no for one in other.list("thread_summary", thread_id="t1")]
    assert number_of(other, "t1-1") in covering
    assert number_of(full, "t1-1") not in covering
    check_states_of_kinds(other)


def check_states_of_kinds(store: SQLMemoryStore) -> None:
    summaries = rows_of(store, store.tables.thread_summary)
    states = {row.record_id: row.fingerprint for row in rows_of(store, store.extras.record_state)}
    kind = next(kind for kind in KINDS if kind.name == "thread_summary")
    assert all(states[row.record_id] == row_fingerprint(kind, row) for row in summaries)


def test_a_users_dump_holds_what_is_the_users(full: SQLMemoryStore) -> None:
    lines = dumped(full, user_ids=["bob"])
    # Bob owns one thread and speaks in no other; his memory in ann's thread is his as well.
    assert keys(lines, "thread") == [NASTY]
    assert keys(lines, "message") == [*(f"{NASTY}-{n}" for n in range(3)), "lone"]
    assert keys(lines, "memory") == ["m1"]
    assert keys(lines, "actor_profile", "actor_id") == ["bob"]
    assert keys(lines, "memory_link", "relation_id") == ["r1"]
    assert rows(lines, "x_change") == []
    # Ann speaks in every thread, so each comes whole.
    assert len(rows(dumped(full, user_ids=["ann"]), "message")) == 9


def test_chunks_follow_their_record_in_order(full: SQLMemoryStore) -> None:
    chunks = rows(dumped(full, record_ids=["m2"]), "record_chunks")
    assert [(one["chunk_seq"], one["chunk_text"]) for one in chunks] == [(1, "sky"), (2, "tree")]


def test_a_threads_dump_holds_all_of_it(full: SQLMemoryStore) -> None:
    lines = dumped(full, thread_ids=["t1"])
    assert keys(lines, "thread") == ["t1"]
    assert keys(lines, "message") == ["t1-0", "t1-1", "t1-2"]
    assert keys(lines, "document") == ["i1"]
    assert keys(lines, "memory") == ["m1"]
    assert len(rows(lines, "thread_summary")) == 3
    assert rows(lines, "actor_profile") == []
    assert dumped(full, record_ids=["t1"]) == lines


def test_a_deleted_memory_comes_back_as_it_was(full: SQLMemoryStore) -> None:
    before = full.get("memory", "m1"), full.fingerprint("memory", "m1")
    sources = rows_of(full, full.extras.source)
    undo = dumped(full, record_ids=["m1"])
    full.search("boat", 5, user_id="bob", exact_user_match=True)
    full.delete("memory", "m1")
    assert full.search("boat", 1, user_id="bob", exact_user_match=True)[0][0].id != "m1"

    report = full.restore(undo)
    assert (full.get("memory", "m1"), full.fingerprint("memory", "m1")) == before
    assert full.search("boat", 1, user_id="bob", exact_user_match=True)[0][0].id == "m1"
    assert rows_of(full, full.tables.memory_link)[0].relation_id == "r1"
    assert sorted(rows_of(full, full.extras.source)) == sorted(sources)
    assert report.rows == {
        "memory": 1, "x_record_state": 1, "record_chunks": 1, "x_source": 2, "memory_link": 1,
    }  # fmt: skip


def test_what_has_lost_its_other_end_is_left_out(full: SQLMemoryStore) -> None:
    undo = dumped(full, record_ids=["m1"])
    for record_type, record_id in (("memory", "m1"), ("memory", "m2"), ("message", "t1-1")):
        full.delete(record_type, record_id)
    assert full.restore(undo).left_out == {"x_source": 1, "memory_link": 1}


@pytest.mark.parametrize("taken", ["t1", "m1", "bob"])
def test_a_taken_id_is_named_and_nothing_is_written(
    full: SQLMemoryStore, other: SQLMemoryStore, taken: str
) -> None:
    if taken == "t1":
        make_thread(other)
    elif taken == "bob":
        other.add_agent("bob", "red")
    else:
        other.add(["red"], "fact", record_ids=taken)
    before = everything(other)
    with pytest.raises(DuplicateIdError, match=taken):
        other.restore(dumped(full))
    assert everything(other) == before


def test_new_ids_make_a_copy_beside_the_records(full: SQLMemoryStore) -> None:
    before = {kind: len(full.list(kind, limit=None)) for kind in ("memory", "message", "fact")}
    report = full.restore(dumped(full), ids="new")

    assert {kind: len(full.list(kind, limit=None)) for kind in before} == {
        kind: 2 * count for kind, count in before.items()
    }
    new = report.new_ids
    thread_id = new["thread"]["t1"]
    messages: Any = full.list("message", thread_id=thread_id)
    assert [one.id for one in messages] == [new["message"][f"t1-{n}"] for n in range(3)]
    memory: Any = full.get("memory", new["memory"]["m1"])
    assert (memory.thread_id, memory.user_id, memory.content) == (thread_id, "bob", "boat")
    relations = {row.source_memory_id: row.target_memory_id
                 for row in rows_of(full, full.tables.memory_link)}  # fmt: skip
    assert relations == {"m1": "m2", new["memory"]["m1"]: new["memory"]["m2"]}
    (image,) = [row for row in rows_of(full, full.tables.document) if row.record_id != "i1"]
    assert (image.message_id, image.thread_id) == (new["message"]["t1-0"], thread_id)
    sources = {(row.memory_id, row.message_id) for row in rows_of(full, full.extras.source)}
    assert (new["memory"]["m1"], new["message"]["t1-1"]) in sources
    covering = [one._covered_through_seq_no
                for one in full.list("thread_summary", thread_id=thread_id)]  # fmt: skip
    assert number_of(full, new["message"]["t1-1"]) in covering
    # An actor has one profile, and the log belongs to the originals.
    assert {"actor_profile", "x_change"} <= report.left_out.keys()
    assert faults(full) == {}
    check_agreement(full, with_changes=False)


def test_a_message_comes_back_only_with_its_whole_thread(full: SQLMemoryStore) -> None:
    lines = dumped(full, record_ids=["t1-1", "lone"])
    assert keys(lines, "message") == ["t1-1", "lone"]
    full.delete("message", "t1-1")
    before = everything(full)
    with pytest.raises(InvalidInputError, match=r"line 2 .*whole thread 't1'"):
        full.restore(lines)
    assert everything(full) == before


def test_a_message_of_no_thread_comes_back(full: SQLMemoryStore) -> None:
    lines = dumped(full, record_ids=["lone"])
    full.delete("message", "lone")
    full.restore(lines)
    assert full.get("message", "lone") is not None


def test_a_memory_of_a_missing_thread_is_refused(
    full: SQLMemoryStore, other: SQLMemoryStore
) -> None:
    lines = dumped(full, record_ids=["m1"])
    with pytest.raises(NotFoundError, match="t1"):
        other.restore(lines)
    assert other.list("memory") == []


def test_a_failed_transaction_takes_the_restore_back(
    full: SQLMemoryStore, other: SQLMemoryStore
) -> None:
    prepared = other.prepare_restore(dumped(full))
    before = everything(other)

    def fail(_: object) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        other.write_all([prepared, Prepared(fail)])
    assert everything(other) == before
    other.write(prepared)
    assert dumped(other) == dumped(full)


def test_rows_changed_outside_stay_known_as_such(
    full: SQLMemoryStore, other: SQLMemoryStore
) -> None:
    memory = full.tables.memory

    def change(transaction: Any) -> None:
        transaction.execute(sa.select(memory.c.record_id).with_for_update())
        mine = memory.c.record_id == "m1"
        transaction.execute(sa.update(memory).where(mine).values(content="sky"))

    full.write(Prepared(change))
    lines = dumped(full)
    other.restore(lines)
    assert dumped(other) == lines
    (state,) = [row for row in rows_of(other, other.extras.record_state)
                if (row.record_kind, row.record_id) == ("memory", "m1")]  # fmt: skip
    assert state.fingerprint != other.fingerprint("memory", "m1")


def test_more_records_than_a_group_holds_are_restored(
    store: SQLMemoryStore, other: SQLMemoryStore
) -> None:
    store.add(["red"] * 501, "memory", record_ids=[f"m{n}" for n in range(501)])
    lines = dumped(store)
    other.restore(iter(lines))
    assert dumped(other) == lines


def test_a_store_takes_over_dimension_and_embedder(
    full: SQLMemoryStore, make_store: MakeStore, backend: str, tmp_path: Path
) -> None:
    folder = tmp_path / "bare"
    folder.mkdir()
    bare = BACKENDS[backend](folder)
    try:
        if "embedding" in bare.tables.record_chunks.c:
            bare.restore(dumped(full))
            assert bare.current_config().dimension == DIMENSION
            assert bare.current_config().embedder_id == "test/words"
        else:
            with pytest.raises(InvalidInputError, match="keeps none"):
                bare.restore(dumped(full))
    finally:
        bare.close()
        forget(backend, folder)


def test_vectors_that_cannot_be_compared_are_refused(
    full: SQLMemoryStore, other: SQLMemoryStore
) -> None:
    lines = dumped(full)
    other.add(["red"], "memory")
    before = everything(other)
    head = json.loads(lines[0])
    renamed = [json.dumps({**head, "embedder_id": "other"}).encode(), *lines[1:]]
    if other.current_config().embedder_id is not None:
        with pytest.raises(EmbedderMismatchError):
            other.restore(renamed)
    small = [json.dumps({**head, "dimension": 2}).encode(), *dumped(other)[1:]]
    with pytest.raises(InvalidInputError, match="8 numbers, not 2"):
        other.restore(small)
    text = [line.replace(rows(lines, "record_chunks")[0]["embedding"].encode(), b"AACAPwAAgD8=")
            for line in dumped(full, record_ids=["ann"])]  # fmt: skip
    short = [json.dumps({**head, "dimension": 2}).encode(), *text[1:]]
    with pytest.raises((DimensionMismatchError, InvalidInputError)):
        other.restore(short)
    assert everything(other) == before


def test_twins_dump_and_restore(full: SQLMemoryStore, other: SQLMemoryStore) -> None:
    async def copy() -> None:
        with await full.dump_async() as file:
            await other.restore_async(file)

    asyncio.run(copy())
    assert dumped(other) == dumped(full)


def test_a_dump_travels_between_databases(
    full: SQLMemoryStore, backend: str, tmp_path: Path, clock: Clock
) -> None:
    lines = dumped(full)
    name = "oracle" if backend == "sqlite" else "sqlite"
    folder = tmp_path / "there"
    folder.mkdir()
    there = BACKENDS[name](folder, embedder=ScopedWordEmbedder(), vector_dim=DIMENSION)
    there.engine.clock = clock
    try:
        there.restore(lines)
        assert dumped(there) == lines
    finally:
        there.close()
        forget(name, folder)


def test_wrong_arguments_are_refused(store: SQLMemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="'keep' or 'new'"):
        store.restore([], ids="old")  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match="not from text"):
        store.restore(b"{}")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="DumpScope"):
        store.dump("ann")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="list of ids"):
        DumpScope(user_ids="ann")
    with pytest.raises(InvalidInputError, match="5000"):
        DumpScope(record_ids=[str(n) for n in range(5001)])


def test_a_wrong_line_is_named_and_nothing_is_written(
    full: SQLMemoryStore, other: SQLMemoryStore
) -> None:
    lines = dumped(full)
    lines[-2] = lines[-2].replace(b'"operation"', b'"what"')
    before = everything(other)
    with pytest.raises(InvalidInputError, match=rf"line {len(lines) - 1} of the dump.*'operation'"):
        other.restore(lines)
    assert everything(other) == before
