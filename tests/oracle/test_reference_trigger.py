"""A store whose trigger is the reference's: it revives every memory that no relation ends."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core import OracleDBMemoryStore
from tests.oracle.stores import FILE, forget_recorded, open_recorded
from tests.sdk.contract.snapshots import check_agreement, rows_of
from tests.sdk.search.stores import DIMENSION, WordEmbedder

# What the reference's PL/SQL does, for the database under the recording driver.
TRIGGER = """
CREATE TRIGGER memory_link_delete_trg AFTER DELETE ON memory_link BEGIN
  UPDATE memory SET status = 'valid',
    metadata = json_remove(metadata, '$."$agent_memory".invalidation_reason')
  WHERE status = 'invalid' AND record_id NOT IN (SELECT target_memory_id FROM memory_link
    WHERE relation_type IN ('supersedes', 'refines', 'duplicates'));
  UPDATE record_chunks SET status = 'valid' WHERE status = 'invalid' AND source_id IN
    (SELECT record_id FROM memory WHERE status = 'valid');
END
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OracleDBMemoryStore]:
    store = open_recorded(tmp_path, embedder=WordEmbedder(), vector_dim=DIMENSION)
    with closing(sqlite3.connect(tmp_path / FILE)) as raw:
        raw.execute(TRIGGER)
    store.add(["red", "blue", "sea", "sky"], "memory", record_ids=["a", "b", "c", "d"])
    yield store
    store.close()
    forget_recorded(tmp_path)


def statuses(store: OracleDBMemoryStore) -> dict[str, tuple[str, str]]:
    chunks = {row.source_id: row.status for row in rows_of(store, store.tables.record_chunks)}
    memories = rows_of(store, store.tables.memory)
    return {row.record_id: (row.status, chunks[row.record_id]) for row in memories}


def test_the_trigger_revives_what_nobody_made_invalid(store: OracleDBMemoryStore) -> None:
    store.update("memory", "c", status=RecordStatus.INVALID)
    with store.engine.write() as transaction:
        transaction.execute(store.tables.memory_link.insert(), {
            "relation_id": "x", "source_memory_id": "a", "target_memory_id": "b",
            "relation_type": "mine", "created_at": transaction.now,
        })  # fmt: skip
        transaction.execute(store.tables.memory_link.delete())
    assert statuses(store)["c"] == ("valid", "valid"), "the trigger of this test does nothing"


@pytest.mark.parametrize("way", ["unlink", "delete"])
def test_what_a_caller_made_invalid_survives_the_references_trigger(
    store: OracleDBMemoryStore, way: str
) -> None:
    store.update("memory", "c", status=RecordStatus.INVALID)
    store.add_relations("a", "memory", "b", "memory", "supersedes", relation_ids="r")
    if way == "unlink":
        store.delete_relations("r")
    else:
        store.delete("memory", "a")
    found = statuses(store)
    assert found["b"] == found["d"] == ("valid", "valid")
    assert found["c"] == ("invalid", "invalid")
    check_agreement(store)
