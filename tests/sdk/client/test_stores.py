"""Requirements 155 to 161 through the documented client, on a SQLite file."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core import MemoryRetentionConfig, OracleAgentMemory
from oracleagentmemory.core.extractors import MemoryExtractionConfig
from tests.sdk.search.stores import WordEmbedder

OFF: dict[str, Any] = {"memory_extraction_config": MemoryExtractionConfig(extract_memories=False)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.sqlite3"


def opened(path: Path, **options: Any) -> OracleAgentMemory:
    return OracleAgentMemory(connection=path, embedder=WordEmbedder(), **OFF, **options)


def rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute(statement).fetchall()


def test_r155_recreate_starts_with_nothing_and_leaves_other_tables_alone(path: Path) -> None:
    first = opened(path)
    first.add_memory("red car", user_id="ann", memory_id="m")
    first.close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE auth_user (name TEXT)")
        raw.execute("INSERT INTO auth_user VALUES ('Ada')")
        raw.commit()
    again = opened(path, schema_policy="recreate")
    assert again.list_memories() == []
    assert again.search("red car", user_id="ann") == []
    again.close()
    for table in ("memory", "record_chunks", "x_record_state", "x_change", "x_text"):
        assert rows(path, f"SELECT count(*) FROM {table}") == [(0,)], table
    assert rows(path, "SELECT name FROM auth_user") == [("Ada",)]


def test_r155_create_if_empty_refuses_a_store_in_part(path: Path) -> None:
    opened(path, schema_policy="create_if_empty").close()
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DROP TABLE memory_link")
    with pytest.raises(RuntimeError, match="memory_link"):
        opened(path, schema_policy="create_if_empty")
    assert rows(path, "SELECT name FROM sqlite_master WHERE name = 'memory_link'") == []


def test_r120_retention_is_the_stores_for_every_handle(path: Path) -> None:
    config = MemoryRetentionConfig(default_ttl_days=3, max_ttl_days=9)
    first = opened(path, memory_retention_config=config)
    second = opened(path)
    shorter = opened(path, memory_retention_config=MemoryRetentionConfig(default_ttl_days=1))
    for number, client in enumerate((first, second, shorter)):
        client.add_memory("red", memory_id=f"m{number}")
    days = "round(julianday(expires_at) - julianday(created_at))"
    assert rows(path, f"SELECT {days} FROM memory") == [(1.0,)] * 3, "an open handle follows too"
    for policy in ("require_existing", "create_if_empty"):
        with pytest.raises(ValueError, match="another memory_retention_config"):
            opened(path, schema_policy=policy, memory_retention_config=config)
    (saved,) = rows(path, "SELECT store_config ->> '$.memory_retention_config' "
                          "FROM agent_memory_stores")  # fmt: skip
    assert saved == ('{"default_ttl_days":1,"max_ttl_days":null}',)
    for client in (first, second, shorter):
        client.close()


def test_r160_a_raw_connection_is_used_by_one_thread_at_a_time_and_stays_open(path: Path) -> None:
    raw = sqlite3.connect(path, check_same_thread=False)
    client = OracleAgentMemory(connection=raw, embedder=WordEmbedder(), **OFF)
    sent: list[tuple[int, str]] = []
    raw.set_trace_callback(lambda sql: sent.append((threading.get_ident(), sql.split()[0])))
    together = threading.Barrier(6)

    def write_and_read(number: int) -> int:
        together.wait()
        for count in range(5):
            client.add_memory("red car", user_id=f"u{number}", memory_id=f"m{number}-{count}")
            assert len(client.search("red car", user_id=f"u{number}")) == count + 1
        return threading.get_ident()

    with ThreadPoolExecutor(6) as pool:
        threads = set(pool.map(write_and_read, range(6)))
    raw.set_trace_callback(None)
    client.close()
    assert len(threads) == 6
    assert raw.execute("SELECT count(*) FROM memory").fetchone() == (30,)
    raw.close()
    owner = None
    for thread, word in sent:
        assert owner in (None, thread), "a statement of another thread inside a transaction"
        owner = thread if word == "BEGIN" else None if word in ("COMMIT", "ROLLBACK") else owner
    assert sum(word == "BEGIN" for _, word in sent) >= 30
    with (
        closing(sqlite3.connect(path)) as bound,
        pytest.raises(RuntimeError, match="check_same_thread=False"),
    ):
        OracleAgentMemory(connection=bound)
