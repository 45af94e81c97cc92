"""Faults planted in a SQLite file by raw SQL are found and, where that is possible, put right."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from oracleagentmemory.core import SQLiteMemoryStore
from tests.sdk.contract.snapshots import check_agreement
from tests.sdk.search.stores import ScopedWordEmbedder

CHUNK = "(SELECT chunk_id FROM record_chunks WHERE source_id = 'm1')"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.sqlite3"


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteMemoryStore]:
    with closing(SQLiteMemoryStore(path, embedder=ScopedWordEmbedder())) as store:
        store.write(store.prepare_create_thread("t1", user_id="u1", agent_id=None))
        store.add(["red car", "blue sea"], "message", thread_ids="t1", user_ids="u1", roles="user")
        store.add(["red", "", "sky"], "memory", record_ids=["m1", "m2", "m3"], user_ids="u1")
        store.add_user("u1", "likes the sea")
        assert store.check().ok
        yield store


def plant(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        for statement in statements:
            raw.execute(statement)


def found(store: SQLiteMemoryStore) -> dict[str, int]:
    return {one.code: one.count for one in store.check().findings}


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("UPDATE x_sequence SET last = 1", {"sequence_behind": 1}),
        ("DELETE FROM x_sequence", {"sequence_behind": 1}),
        ("INSERT INTO x_sequence VALUES (7)", {"sequence_behind": 1}),
        (f"DELETE FROM x_text WHERE rowid = {CHUNK}", {"missing_texts": 1}),
        ("DELETE FROM x_text", {"missing_texts": 5}),
        ("INSERT INTO x_text (rowid, scope, body) VALUES (999, 'x', 'y')", {"orphan_texts": 1}),
        (f"UPDATE x_text SET body = 'green' WHERE rowid = {CHUNK}", {"wrong_texts": 1}),
        (f"UPDATE x_text SET scope = 'other' WHERE rowid = {CHUNK}", {"wrong_texts": 1}),
        (
            f"UPDATE record_chunks SET chunk_text = 'green' WHERE chunk_id = {CHUNK}",
            {"wrong_texts": 1},
        ),
        (
            f"DELETE FROM record_chunks WHERE chunk_id = {CHUNK}",
            {"orphan_texts": 1, "orphan_tokens": 1},
        ),
    ],
)
def test_a_fault_planted_by_sql_is_found_and_put_right(
    store: SQLiteMemoryStore, path: Path, statement: str, finding: dict[str, int]
) -> None:
    plant(path, statement)
    assert found(store) == finding
    assert store.repair(store.check()) == finding
    assert found(store) == {}
    check_agreement(store)


def test_numbers_go_on_after_the_highest_that_was_used(
    store: SQLiteMemoryStore, path: Path
) -> None:
    store.delete("memory", "m3")  # its change has the highest number now
    plant(path, "UPDATE x_sequence SET last = 1")
    store.repair(store.check())
    store.add(["green"], "memory", record_ids="m4", user_ids="u1")
    with closing(sqlite3.connect(path)) as raw:
        numbers = [number for (number,) in raw.execute(
            "SELECT order_seq FROM memory UNION ALL SELECT order_seq FROM message UNION ALL "
            "SELECT order_seq FROM actor_profile UNION ALL SELECT chunk_id FROM record_chunks "
            "UNION ALL SELECT change_id FROM x_change"
        )]  # fmt: skip
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    ("statements", "code", "example"),
    [
        (
            [f"UPDATE record_chunks SET embedding = x'0000803f' WHERE chunk_id = {CHUNK}"],
            "vector_sizes",
            "memory m1",
        ),
        (["DELETE FROM thread_summary", "DELETE FROM thread"], "missing_parents", "of message"),
        (
            ["UPDATE agent_memory_stores SET lifecycle_state = 'FAILED'"],
            "registry",
            "FAILED, not CREATED",
        ),
    ],
)
def test_what_cannot_be_put_right_is_reported_and_stays(
    store: SQLiteMemoryStore, path: Path, statements: list[str], code: str, example: str
) -> None:
    plant(path, *statements)
    findings = {one.code: one for one in store.check().findings}
    assert example in findings[code].examples[0]
    assert not findings[code].repairable


def test_a_damaged_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with closing(SQLiteMemoryStore(path)) as store:
        store.add(["red car"] * 50, "memory")
    with closing(sqlite3.connect(path)) as raw:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'x_memory_order_i'"
        (page,) = raw.execute(query).fetchone()
        (size,) = raw.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size + size // 2)
        file.write(b"\xff" * (size // 2))
    with closing(SQLiteMemoryStore(path)) as store:
        findings = {one.code: one for one in store.check().findings}
    assert not findings["damaged_file"].repairable


def test_a_report_names_a_few_and_counts_all(store: SQLiteMemoryStore, path: Path) -> None:
    store.add([f"red {n}" for n in range(20)], "memory")
    plant(path, "DELETE FROM x_text")
    (finding,) = store.check().findings
    assert (finding.count, len(finding.examples)) == (25, 5)


def test_searches_see_what_a_repair_has_changed(store: SQLiteMemoryStore, path: Path) -> None:
    def ids(user_id: str) -> set[str]:
        hits = store.search("red", 50, user_id=user_id, exact_user_match=True)
        return {one.id for one, _ in hits}

    store.add(["red"], "memory", record_ids="e1", user_ids="eve")
    plant(path, f"UPDATE record_chunks SET user_id = 'eve' WHERE chunk_id = {CHUNK}")
    # Both users' vectors are kept in memory from here on, and m1 is among the wrong ones.
    assert "m1" not in ids("u1")
    assert ids("eve") == {"e1", "m1"}
    assert store.repair(store.check()) == {"misplaced_chunks": 1}
    assert "m1" in ids("u1")
    assert ids("eve") == {"e1"}
