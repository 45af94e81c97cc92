"""The strategy belongs to the handle: its default, its refusals, one file for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.core import (
    OracleAgentMemory,
    SchemaPolicy,
    SearchIndexSyncMode,
    SearchStrategy,
    SQLiteMemoryStore,
)
from oracleagentmemory.errors import InvalidInputError, NotYetError, WrongTypeError
from tests.oracle.stores import new_recorder, open_on
from tests.sdk.search.stores import WordEmbedder

ANN: dict[str, Any] = {"user_id": "ann", "exact_user_match": True}
SYNC = SearchIndexSyncMode


def test_r159_a_sqlite_store_is_current_with_every_sync_mode_but_manual(tmp_path: Path) -> None:
    for number, strategy in enumerate(SearchStrategy):
        for sync in (SYNC.ON_COMMIT, SYNC.AUTO):
            file = tmp_path / f"{number}.sqlite3"
            store = SQLiteMemoryStore(file, embedder=WordEmbedder(), search_strategy=strategy,
                                      search_index_sync=sync)  # fmt: skip
            store.add(["red car"], "memory", record_ids=sync.value, user_ids="ann")
            assert sync.value in [one.id for one, _ in store.search("car", 5, **ANN)]
            store.close()
    with pytest.raises(InvalidInputError, match="ON_COMMIT"):
        SQLiteMemoryStore(tmp_path / "x", search_index_sync=SYNC.MANUAL)


def test_r159_on_oracle_only_hybrid_search_may_be_synchronised_by_itself(tmp_path: Path) -> None:
    recorder = new_recorder(tmp_path, WordEmbedder.embedding_dimension)
    for strategy in (SearchStrategy.VECTOR, SearchStrategy.KEYWORD):
        with pytest.raises(InvalidInputError, match="HYBRID"):
            open_on(recorder, embedder=WordEmbedder(), search_strategy=strategy,
                    search_index_sync=SYNC.AUTO)  # fmt: skip
    store = open_on(recorder, embedder=WordEmbedder(), search_strategy=SearchStrategy.HYBRID,
                    search_index_sync=SYNC.AUTO)  # fmt: skip
    assert store.search_strategy is SearchStrategy.HYBRID


def test_r158_a_stored_mode_is_detected_when_nothing_is_asked_for(tmp_path: Path) -> None:
    recorder = new_recorder(tmp_path, WordEmbedder.embedding_dimension)
    existing = {"embedder": WordEmbedder(), "schema_policy": SchemaPolicy.REQUIRE_EXISTING}
    open_on(recorder, embedder=WordEmbedder())
    assert open_on(recorder, **existing).search_strategy is SearchStrategy.VECTOR
    store = open_on(recorder, embedder=WordEmbedder(), search_strategy=SearchStrategy.HYBRID)
    assert open_on(recorder, **existing).search_strategy is SearchStrategy.KEYWORD
    by_vector = open_on(recorder, **existing, search_strategy=SearchStrategy.VECTOR)
    assert by_vector.search_strategy is SearchStrategy.VECTOR
    with store.engine.write() as transaction:
        saved = {**store.current_config().saved, "record_chunks_indexing_mode": "hybrid"}
        store.registry.save(transaction.connection, saved)
    with pytest.raises(NotYetError, match="VECTOR"):
        open_on(recorder, **existing)


def test_the_default_is_vector_and_a_name_is_no_strategy(tmp_path: Path) -> None:
    store = SQLiteMemoryStore(tmp_path / "memory.sqlite3", embedder=WordEmbedder())
    assert store.search_strategy is SearchStrategy.VECTOR
    store.close()
    wrong: Any = "hybrid"
    with pytest.raises(WrongTypeError, match="SearchStrategy"):
        SQLiteMemoryStore(tmp_path / "x", embedder=WordEmbedder(), search_strategy=wrong)


def test_handles_of_every_strategy_share_one_file(tmp_path: Path) -> None:
    file = tmp_path / "memory.sqlite3"
    handles = [
        SQLiteMemoryStore(file, embedder=WordEmbedder(), search_strategy=strategy)
        for strategy in SearchStrategy
    ]
    for number, handle in enumerate(handles):
        handle.add(["red car"], "memory", record_ids=f"m{number}", user_ids="ann")
        for other in handles:
            found = {record.id for record, _ in other.search("car", 9, **ANN)}
            assert found == {f"m{one}" for one in range(number + 1)}
    for handle in handles:
        handle.close()


def test_a_client_passes_the_strategy_to_its_store(tmp_path: Path) -> None:
    client = OracleAgentMemory(
        connection=str(tmp_path / "memory.sqlite3"), search_strategy=SearchStrategy.KEYWORD
    )
    client.add_memory("a red car", user_id="ann", memory_id="m")
    assert [one.id for one in client.search("CAR?", user_id="ann")] == ["m"]
    client.close()
    with pytest.raises(ValueError, match="HYBRID needs an embedder"):
        OracleAgentMemory(
            connection=str(tmp_path / "other.sqlite3"), search_strategy=SearchStrategy.HYBRID
        )
