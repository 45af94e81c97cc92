"""Opening a SQLite store: policies, paths, connections, and several processes at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core import SearchIndexSyncMode, SearchStrategy, SQLiteMemoryStore
from oracleagentmemory.errors import StateError, StoreUnavailableError
from tests.sdk.search.stores import DIMENSION, WordEmbedder

PYTHON = sys.executable


def tables_of(path: Path) -> set[str]:
    raw = sqlite3.connect(path)
    try:
        return {row[0] for row in raw.execute("SELECT name FROM sqlite_master")}
    finally:
        raw.close()


def test_a_new_file_is_made_and_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    first = SQLiteMemoryStore(path, embedder=WordEmbedder())
    first.add(["red"], "memory", record_ids="m1")
    first.close()
    again = SQLiteMemoryStore(str(path), embedder=WordEmbedder(), schema_policy="require_existing")
    assert again.search("red", 1)[0][0].id == "m1"
    assert again.incarnation == first.incarnation
    size = again.file_bytes()
    assert size is not None
    assert size >= path.stat().st_size
    again.close()


def test_two_stores_of_one_file_know_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    plain = SQLiteMemoryStore(path, vector_dim=4)
    named = SQLiteMemoryStore(path, memory_store_id="Acme_1", vector_dim=8)
    same = SQLiteMemoryStore(path, memory_store_id="ACME_1", schema_policy="require_existing")
    named.add(["red"], "memory", record_ids="m1", embeddings=[[1.0] * 8])

    assert plain.list("memory") == []
    assert [one.id for one in same.list("memory")] == ["m1"]
    assert {"memory", "acme_1_memory", "acme_1_x_text"} <= tables_of(path)
    for store in (plain, named, same):
        store.close()


def test_a_path_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("no database, but long enough to be read as one" * 9)
    for path, cause in (
        (tmp_path / "nowhere" / "memory.sqlite3", "unable to open database file"),
        (tmp_path, "unable to open database file"),
        (tmp_path / "a file", "file is not a database"),
    ):
        with pytest.raises(StoreUnavailableError, match=cause) as caught:
            SQLiteMemoryStore(path)
        assert str(path) in str(caught.value)


def test_bad_options_are_refused_before_a_file_is_made(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    bad: list[tuple[type[Exception], dict[str, Any]]] = [
        (ValueError, {"memory_store_id": "1st"}),
        (ValueError, {"memory_store_id": "a" * 17}),
        (ValueError, {"memory_store_id": "a; DROP TABLE x"}),
        (ValueError, {"vector_dim": 0}),
        (ValueError, {"vector_dim": "8"}),
        (TypeError, {"search_strategy": "vector"}),
        (ValueError, {"search_strategy": SearchStrategy.HYBRID}),
        (ValueError, {"search_index_sync": SearchIndexSyncMode.MANUAL}),
        (TypeError, {"memory_retention_config": {"default_ttl_days": 3}}),
        (ValueError, {"engine": path}),
        (TypeError, {"engine": path, "path": None}),
    ]
    for error, options in bad:
        with pytest.raises(error):
            SQLiteMemoryStore(**({"path": path} | options))
    with pytest.raises(TypeError, match="path"):
        SQLiteMemoryStore(7)  # type: ignore[arg-type]
    assert not path.exists()


def test_a_store_in_memory_serves_several_threads() -> None:
    store = SQLiteMemoryStore(embedder=WordEmbedder())
    problems: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for at in range(10):
                store.add(["red"], "memory", record_ids=f"{name}{at}", user_ids=name)
                store.search("red", 3, user_id=name, exact_user_match=True)
        except BaseException as problem:
            problems.append(problem)
            raise

    threads = [threading.Thread(target=work, args=(f"u{at}",)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(store.list("memory")) == 40
    store.close()


def test_a_callers_connection_is_used_and_left_as_it_was(tmp_path: Path) -> None:
    raw = sqlite3.connect(tmp_path / "memory.sqlite3", check_same_thread=False)
    raw.row_factory = sqlite3.Row
    store = SQLiteMemoryStore(raw, embedder=WordEmbedder())
    store.add(["red"], "memory", record_ids="m1")
    assert store.search("red", 1)[0][0].id == "m1"

    raw.execute("CREATE TABLE mine (name TEXT)")
    raw.execute("INSERT INTO mine VALUES ('Ada')")
    assert raw.in_transaction
    assert store.get_memory("m1") is not None
    assert raw.in_transaction, "a read must not end the owner's transaction"
    with pytest.raises(StateError, match="transaction of its own"):
        store.add(["blue"], "memory")
    raw.rollback()
    store.close()
    assert raw.execute("SELECT count(*) AS n FROM memory").fetchone()["n"] == 1
    raw.close()


def test_a_connection_of_one_thread_only_is_refused(tmp_path: Path) -> None:
    raw = sqlite3.connect(tmp_path / "memory.sqlite3")
    with pytest.raises(StateError, match="check_same_thread=False"):
        SQLiteMemoryStore(raw)
    raw.close()


def test_connections_of_ours_are_set_up_for_several_processes(tmp_path: Path) -> None:
    store = SQLiteMemoryStore(tmp_path / "memory.sqlite3")
    with store.engine.read() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "busy_timeout", "foreign_keys", "secure_delete")
        }
    store.close()
    assert pragmas == {
        "journal_mode": "wal",
        "busy_timeout": 20_000,
        "foreign_keys": 1,
        "secure_delete": 1,
    }


def test_errors_of_the_database_show_no_text_of_a_user(tmp_path: Path) -> None:
    store = SQLiteMemoryStore(tmp_path / "memory.sqlite3")
    secret = "my bank account is 1234"
    with (
        pytest.raises(sa.exc.IntegrityError) as caught,
        store.engine.write() as transaction,
    ):
        transaction.execute(
            sa.insert(store.tables.memory),
            [{"record_id": "m1", "content": secret, "memory_type": None, "order_seq": 1}],
        )
    store.close()
    assert secret not in str(caught.value)


OPEN_AND_ADD = """
import sys
from oracleagentmemory.core import SQLiteMemoryStore
sys.stdin.readline()
store = SQLiteMemoryStore(sys.argv[1])
store.add(["red"], "memory", record_ids=sys.argv[2], embeddings=[[1.0] * 4])
print(store.incarnation, len(store.list("memory", limit=None)))
store.close()
"""


def test_six_processes_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    children = [
        subprocess.Popen(
            [PYTHON, "-W", "error", "-c", OPEN_AND_ADD, str(path), f"m{at}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for at in range(6)
    ]
    for child in children:  # all are running: let them go at the same time
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [child.communicate(timeout=120) for child in children]
    assert [
        (child.returncode, errors) for child, (_, errors) in zip(children, answers, strict=True)
    ] == [(0, "")] * 6
    assert len({text.split()[0] for text, _ in answers}) == 1, "one store, not several"
    store = SQLiteMemoryStore(path, schema_policy="require_existing")
    assert sorted(one.id for one in store.list("memory")) == [f"m{at}" for at in range(6)]
    assert store.current_config().dimension == 4
    store.close()


def test_the_first_vectors_fix_dimension_and_embedder(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    store = SQLiteMemoryStore(path, embedder=WordEmbedder())
    assert store.current_config().dimension is None, "opening with an embedder fixes nothing"
    assert store.search("red", 3) == []
    store.add([""], "memory")
    assert store.current_config().dimension is None
    store.add(["red"], "memory")
    config = store.current_config()
    assert (config.dimension, config.embedder_id) == (DIMENSION, "test/words")
    store.close()
    raw = sqlite3.connect(path)
    (text,) = raw.execute("SELECT store_config FROM agent_memory_stores").fetchone()
    raw.close()
    assert text.startswith(
        '{"attributes":{"sdk_tables_version":2},"description":null,'
        '"embedding":{"embedder_id":"test/words"},'
    )
    again = SQLiteMemoryStore(path)
    assert again.config.saved["embedding_dimension"] == DIMENSION
    assert set(again.config.saved) == {
        "attributes", "description", "embedding", "embedding_dimension", "memory_retention_config",
        "record_chunks_indexing_mode", "search_index_sync", "vectorizer_config",
    }  # fmt: skip
    again.close()


def test_first_vectors_that_are_rolled_back_fix_nothing(tmp_path: Path) -> None:
    store = SQLiteMemoryStore(tmp_path / "memory.sqlite3", embedder=WordEmbedder())
    lost = store.prepare_add(["blue"], "memory", thread_ids="nowhere")
    with pytest.raises(KeyError, match="nowhere"):
        store.write_all([store.prepare_add(["red"], "memory"), lost])
    assert store.current_config().dimension is None
    store.add(["x"], "memory", embeddings=[[1.0, 0.0, 0.0]])
    assert store.current_config().dimension == 3
    store.close()
