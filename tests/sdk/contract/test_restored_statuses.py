"""Restored relations and the statuses of the memories at their ends, on both databases."""

from __future__ import annotations

import io
from typing import Any

import pytest

from oracleagentmemory.apis.records import RecordStatus
from oracleagentmemory.apis.upkeep import DumpScope
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.search.stores import ScopedWordEmbedder


@pytest.fixture
def embedder() -> ScopedWordEmbedder:
    return ScopedWordEmbedder()


@pytest.fixture
def pair(store: SQLMemoryStore) -> SQLMemoryStore:
    """Two memories of ann, of which `new` supersedes `old`."""
    store.add(
        ["lives in Rome", "lives in Oslo"], "memory", record_ids=["old", "new"], user_ids="ann"
    )
    link(store, "new", "old")
    return store


def link(store: SQLMemoryStore, source: str, target: str, kind: str = "supersedes") -> None:
    store.add_relations(
        [source], ["memory"], [target], ["memory"], [kind], relation_ids=[f"{source}-{target}"]
    )


def dump_of(store: SQLMemoryStore, *ids: str) -> io.BytesIO:
    with store.dump(DumpScope(record_ids=list(ids))) as file:
        return io.BytesIO(file.read())


def status_of(store: SQLMemoryStore, record_id: str) -> tuple[RecordStatus, Any]:
    memory = store.get("memory", record_id)
    assert memory is not None
    return memory.status, ((memory.metadata or {}).get("$agent_memory"))


def found(store: SQLMemoryStore) -> list[str]:
    """Ids that a search for valid memories finds."""
    hits = store.search("lives", 9, include_invalid_results=False)
    return sorted(record.id for record, _ in hits)


SUPERSEDED = {"invalidation_reason": "Superseded by another memory."}


def test_a_restored_relation_ends_its_living_target_again(pair: SQLMemoryStore) -> None:
    dump = dump_of(pair, "new")
    pair.delete("memory", "new")
    assert status_of(pair, "old") == (RecordStatus.VALID, None)
    assert found(pair) == ["old"]
    report = pair.restore(dump)
    assert report.rows["memory_link"] == 1
    assert status_of(pair, "old") == (RecordStatus.INVALID, SUPERSEDED)
    assert found(pair) == ["new"]
    assert pair.check().ok
    pair.delete_relations(["new-old"])
    assert status_of(pair, "old") == (RecordStatus.VALID, None)


def test_a_target_that_comes_back_without_what_ended_it_is_valid(pair: SQLMemoryStore) -> None:
    dump = dump_of(pair, "old")
    pair.delete("memory", "old")
    pair.delete("memory", "new")
    report = pair.restore(dump)
    assert report.left_out["memory_link"] == 1
    assert status_of(pair, "old") == (RecordStatus.VALID, None)
    assert found(pair) == ["old"]
    assert pair.check().ok


def test_a_target_that_comes_back_beside_what_ended_it_stays_as_it_was(
    pair: SQLMemoryStore,
) -> None:
    dump = dump_of(pair, "old")
    pair.delete("memory", "old")
    pair.restore(dump)
    assert status_of(pair, "old") == (RecordStatus.INVALID, SUPERSEDED)
    assert found(pair) == ["new"]


def test_what_a_caller_made_invalid_stays_so(store: SQLMemoryStore) -> None:
    store.add(
        ["lives in Rome", "lives in Oslo"], "memory", record_ids=["old", "new"], user_ids="ann"
    )
    store.update("memory", "old", status=RecordStatus.INVALID)
    link(store, "new", "old")
    dump = dump_of(store, "old")
    store.delete("memory", "old")
    store.delete("memory", "new")
    store.restore(dump)
    assert status_of(store, "old") == (RecordStatus.INVALID, {"invalidated_by": "caller"})


def test_relations_that_end_nothing_change_no_status(store: SQLMemoryStore) -> None:
    store.add(
        ["lives in Rome", "lives in Oslo"], "memory", record_ids=["old", "new"], user_ids="ann"
    )
    link(store, "new", "old", "contradicts")
    before = store.get("memory", "old")
    dump = dump_of(store, "new")
    store.delete("memory", "new")
    store.restore(dump)
    assert store.get("memory", "old") == before


def test_copies_with_new_ids_end_the_same_living_target(pair: SQLMemoryStore) -> None:
    dump = dump_of(pair, "new")
    pair.delete("memory", "new")
    report = pair.restore(dump, ids="new")
    copy = report.new_ids["memory"]["new"]
    assert status_of(pair, "old") == (RecordStatus.INVALID, SUPERSEDED)
    assert found(pair) == [copy]
