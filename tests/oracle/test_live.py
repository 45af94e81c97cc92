"""What only a live database can tell; without one this module is skipped, and says so.

The contract suite then also runs on it (``tests/sdk/contract``, backend ``oracle-live``). It has
never run where it was written: no statement here has met a real server.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from oracleagentmemory.core import OracleDBMemoryStore, SchemaPolicy
from tests.oracle import live
from tests.sdk.search.stores import DIMENSION, WordEmbedder

pytestmark = pytest.mark.skipif(
    not live.configured(), reason=f"no live Oracle database: set {live.DSN_VARIABLE}"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OracleDBMemoryStore]:
    opened = live.open_live(tmp_path, embedder=WordEmbedder(), vector_dim=DIMENSION)
    yield opened
    opened.close()
    live.drop_live(tmp_path)


def test_a_store_that_exists_is_opened_without_changing_it(
    store: OracleDBMemoryStore, tmp_path: Path
) -> None:
    store.add(["red car"], "fact", record_ids=["m1"], user_ids="ada")
    again = live.open_live(
        tmp_path, embedder=WordEmbedder(), schema_policy=SchemaPolicy.REQUIRE_EXISTING
    )
    assert [record.id for record, _ in again.search("car", 5)] == ["m1"]
    again.close()


@pytest.mark.parametrize(
    ("stored", "wanted", "matches"),
    [
        # JSON paths are lax: does a scalar match the list that holds it, and the other way round?
        ({"a": [1]}, {"a": 1}, False),
        ({"a": 1}, {"a": {"$array_contains": 1}}, False),
        ({"a": True}, {"a": 1}, True),
        ({"a": 1}, {"a": True}, True),
    ],
)
def test_a_filter_means_in_the_database_what_it_means_in_memory(
    store: OracleDBMemoryStore, stored: object, wanted: object, matches: bool
) -> None:
    store.add(["red car"], "fact", record_ids=["m1"], metadata=stored)
    assert bool(store.search("car", 5, metadata_filter=wanted)) is matches


def test_an_expired_record_is_hidden_by_the_databases_own_clock(
    store: OracleDBMemoryStore,
) -> None:
    store.add(["red car"], "fact", record_ids=["m1"], ttl_days=1)
    (record,) = store.list("fact")
    assert datetime.fromisoformat(record.timestamp).utcoffset() is not None
