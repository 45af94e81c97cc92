"""How SQLite runs the statement of a hop, however many memories it starts from."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core import SQLiteMemoryStore
from tests.sdk.search.stores import WordEmbedder


@pytest.mark.parametrize("found", [1, 15, 16, 100])
def test_a_hop_starts_from_the_relations_of_what_was_found(tmp_path: Path, found: int) -> None:
    file = tmp_path / "memory.sqlite3"
    store = SQLiteMemoryStore(file, embedder=WordEmbedder())
    ids = [f"m{number}" for number in range(found + 1)]
    store.add(["red"] * found + ["blue"], "memory", record_ids=list(ids), user_ids="u1")
    store.add_relations(ids[0], "memory", ids[-1], "memory", "supports")
    sent: list[tuple[str, Any]] = []
    sa.event.listen(
        store.engine.engine, "before_cursor_execute", lambda *call: sent.append((call[2], call[3]))
    )
    results = store.search("red", found, user_id="u1", exact_user_match=True, num_hops=1)
    store.close()
    assert sum(len(record.linked_results) for record, _ in results) == 1
    [(hop, parameters)] = [(sql, values) for sql, values in sent if "near_id" in sql]
    with closing(sqlite3.connect(file)) as raw:
        plan = [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {hop}", parameters)]
    read_by = [line.partition(" USING ")[2] for line in plan if line.startswith("SEARCH memory ")]
    assert read_by
    assert all("(record_id=?)" in index for index in read_by), "\n".join(plan)
    assert [line for line in plan if line.startswith("SCAN")] == []
