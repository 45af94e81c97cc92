"""Making and opening an Oracle store: every DDL text is pinned, and nothing else is sent.

That Oracle takes these texts, and what its dictionary answers about them, needs a live database.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oracledb
import pytest
from sqlalchemy.schema import CreateIndex, CreateTable

from oracleagentmemory.core import (
    OracleDBMemoryStore,
    SchemaPolicy,
    SearchIndexSyncMode,
    SearchStrategy,
)
from oracleagentmemory.errors import DimensionMismatchError, StateError
from oracleagentmemory.storage.extras import EXTRAS_VERSION, ExtraTables
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.schema_oracle import OracleSchema
from tests.oracle.ddl import compiled
from tests.oracle.driver import Connection, Handler, Recorder
from tests.oracle.replay import Answer, raise_ora
from tests.oracle.stores import GOLDEN, _creates, new_recorder, open_on
from tests.sdk.contract.snapshots import rows_of
from tests.sdk.search.stores import DIMENSION, ScopedWordEmbedder, WordEmbedder

MANAGED = ManagedTables(dimension=DIMENSION)
EXTRAS = ExtraTables(MANAGED)
TABLES = (*MANAGED.record_tables, MANAGED.stores, *EXTRAS.tables)
EXTRA_NAMES = tuple(table.name for table in EXTRAS.tables)
NAMES = (*(table.name for table in MANAGED.record_tables), *EXTRA_NAMES)


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = new_recorder(tmp_path, DIMENSION)
    yield recorder
    recorder.sqlite.dispose()


def made(recorder: Recorder) -> list[str]:
    """Return the first words of each DDL statement that was sent."""
    sent = [" ".join(each.sql.split()) for each in recorder.statements]
    return [" ".join(sql.split()[:4]) for sql in sent if sql.startswith("CREATE")]


def tables(recorder: Recorder) -> list[str]:
    return [sql.split()[2] for sql in made(recorder) if sql.startswith("CREATE TABLE")]


def test_a_new_store_is_made_parents_first_and_registered(recorder: Recorder) -> None:
    store = open_on(recorder, embedder=WordEmbedder())
    order = tables(recorder)
    for child, parent in [
        ("message", "thread"),
        ("document", "message"),
        ("memory_link", "memory"),
    ]:
        assert order.index(parent) < order.index(child)
    assert set(order) == {table.name for table in store.tables.metadata.sorted_tables} - {
        store.extras.sequence.name
    }
    special = [
        sql for sql in made(recorder) if not sql.startswith(("CREATE TABLE", "CREATE INDEX"))
    ]
    assert special == [
        "CREATE VECTOR INDEX record_chunks_embedding_vec_i",
        "CREATE OR REPLACE TRIGGER",
        "CREATE PROPERTY GRAPH memory_graph",
    ]
    config = store.current_config()
    assert (config.dimension, config.lifecycle_state) == (DIMENSION, "CREATED")
    store.close()


def test_a_store_that_is_there_is_opened_and_nothing_is_made(recorder: Recorder) -> None:
    first = open_on(recorder, embedder=WordEmbedder())
    first.add(["red car"], "fact", record_ids=["m1"])
    recorder.statements.clear()
    for policy in (SchemaPolicy.REQUIRE_EXISTING, SchemaPolicy.CREATE_IF_NECESSARY):
        store = open_on(recorder, embedder=WordEmbedder(), schema_policy=policy)
        assert [record.id for record, _ in store.search("car", 5)] == ["m1"]
    assert made(recorder) == []


def test_a_missing_table_is_made_and_the_rest_is_left(recorder: Recorder) -> None:
    open_on(recorder, embedder=WordEmbedder()).close()
    with recorder.sqlite.connect() as connection:
        connection.exec_driver_sql("DROP TABLE x_source")
    recorder.statements.clear()
    open_on(recorder, embedder=WordEmbedder()).close()
    assert tables(recorder) == ["x_source"]
    assert [sql for sql in made(recorder) if "OR REPLACE" in sql or "VECTOR" in sql] == []


def test_policies_that_forbid_what_is_needed_name_it(recorder: Recorder) -> None:
    with pytest.raises(StateError, match="no complete, up-to-date memory store"):
        open_on(recorder, schema_policy=SchemaPolicy.REQUIRE_EXISTING)
    assert made(recorder) == []
    open_on(recorder, embedder=WordEmbedder()).close()
    open_on(recorder, schema_policy=SchemaPolicy.CREATE_IF_EMPTY).close()
    with pytest.raises(DimensionMismatchError):
        open_on(recorder, vector_dim=DIMENSION + 1)


@pytest.mark.parametrize(
    ("column", "value"), [("lifecycle_state", "UPGRADING"), ("schema_version", "12")]
)
def test_a_store_in_another_state_or_version_is_refused(
    recorder: Recorder, column: str, value: str
) -> None:
    open_on(recorder, embedder=WordEmbedder()).close()
    with recorder.sqlite.connect() as connection:
        connection.exec_driver_sql(f"UPDATE agent_memory_stores SET {column} = ?", (value,))
    with pytest.raises(StateError, match=value):
        open_on(recorder, embedder=WordEmbedder())


def test_ddl_in_another_sessions_way_is_tried_again(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("oracleagentmemory.storage.schema_oracle.time.sleep", pauses.append)
    failures = iter([54, 51906])
    trigger = (GOLDEN / "trigger.sql").read_text()

    def busy_twice(session: Connection, binds: object) -> Answer:
        for code in failures:
            raise_ora(code, "resource busy")
        return Answer()

    recorder.handle(trigger, busy_twice)
    open_on(recorder, embedder=WordEmbedder()).close()
    assert pauses == [0.5, 1.0]


def test_a_vector_index_without_memory_says_what_to_set(recorder: Recorder) -> None:
    def no_memory(session: Connection, binds: object) -> Answer:
        raise_ora(51962, "the vector memory area is out of space")

    recorder.handle((GOLDEN / "vector_index.sql").read_text(), no_memory)
    with pytest.raises(StateError, match="vector_memory_size") as caught:
        open_on(recorder, embedder=WordEmbedder())
    assert isinstance(caught.value.__cause__, Exception)
    assert not isinstance(caught.value, oracledb.Error)


# -- the text index ------------------------------------------------------------------------------


def text_indexes(recorder: Recorder) -> list[str]:
    sent = [" ".join(each.sql.split()) for each in recorder.statements]
    return [sql for sql in sent if "CTXSYS" in sql]


def indexing(store: OracleDBMemoryStore) -> tuple[Any, Any]:
    saved = store.current_config().saved
    return saved["record_chunks_indexing_mode"], saved["search_index_sync"]


def test_only_a_strategy_that_compares_words_makes_the_text_index(recorder: Recorder) -> None:
    store = open_on(recorder, embedder=WordEmbedder())
    assert text_indexes(recorder) == []
    assert indexing(store) == ("vector", None)


@pytest.mark.parametrize("strategy", [SearchStrategy.KEYWORD, SearchStrategy.HYBRID])
def test_a_store_that_compares_words_is_made_with_a_text_index(
    recorder: Recorder, strategy: SearchStrategy
) -> None:
    store = open_on(recorder, embedder=WordEmbedder(), search_strategy=strategy)
    assert len(text_indexes(recorder)) == 1
    assert indexing(store) == ("keyword", "on_commit")
    open_on(recorder, embedder=WordEmbedder(), search_strategy=strategy)
    open_on(recorder, embedder=WordEmbedder())
    assert len(text_indexes(recorder)) == 1


def test_a_text_index_may_be_kept_by_hand(recorder: Recorder) -> None:
    text = (GOLDEN / "text_index.sql").read_text()
    recorder.answer(text.replace("ON COMMIT", "MANUAL"))
    store = open_on(
        recorder,
        embedder=WordEmbedder(),
        search_strategy=SearchStrategy.KEYWORD,
        search_index_sync=SearchIndexSyncMode.MANUAL,
    )
    assert indexing(store) == ("keyword", "manual")


def test_a_store_without_a_text_index_gets_one_or_names_it(recorder: Recorder) -> None:
    open_on(recorder, embedder=WordEmbedder()).close()
    keyword = {"embedder": WordEmbedder(), "search_strategy": SearchStrategy.KEYWORD}
    with pytest.raises(StateError, match=r"text index.*CREATE_IF_NECESSARY"):
        open_on(recorder, schema_policy=SchemaPolicy.REQUIRE_EXISTING, **keyword)
    assert text_indexes(recorder) == []
    store = open_on(recorder, **keyword)
    assert len(text_indexes(recorder)) == 1
    assert indexing(store) == ("keyword", "on_commit")
    assert store.repairs == ("made: the text index of its chunks",)
    assert store.current_config().extras_version == EXTRAS_VERSION


def test_a_hybrid_vector_index_of_the_reference_is_refused_for_words(recorder: Recorder) -> None:
    store = open_on(recorder, embedder=WordEmbedder())
    mode = {"record_chunks_indexing_mode": "hybrid"}
    with store.engine.write() as transaction:
        saved = {**store.current_config().saved, **mode}
        store.registry.save(transaction.connection, saved)
    with pytest.raises(StateError, match="hybrid vector index"):
        open_on(recorder, embedder=WordEmbedder(), search_strategy=SearchStrategy.HYBRID)
    open_on(recorder, embedder=WordEmbedder()).close()


# -- dropping, extending and upgrading ----------------------------------------------------------


def knows_drops(recorder: Recorder) -> None:
    """Let the recorder drop what `drop_ddl` names."""
    recorder.answer("DROP PROPERTY GRAPH IF EXISTS memory_graph")
    for name in NAMES:
        recorder.handle(f"DROP TABLE {name} CASCADE CONSTRAINTS PURGE", drops(name))


def drops(name: str) -> Handler:
    def drop(session: Connection, _: object) -> Answer:
        with session.recorder.sqlite.begin() as connection:
            connection.exec_driver_sql(f"DROP TABLE {name}")
        return Answer()

    return drop


def ddl(recorder: Recorder) -> list[str]:
    sent = [" ".join(each.sql.split()) for each in recorder.statements]
    return [" ".join(sql.split()[:3]) for sql in sent if sql.startswith(("CREATE", "DROP"))]


def lose_extras(recorder: Recorder, *names: str) -> None:
    with recorder.sqlite.begin() as connection:
        for name in names:
            connection.exec_driver_sql(f"DROP TABLE {name}")
        forget = "UPDATE agent_memory_stores SET store_config = json_remove(store_config, ?)"
        connection.exec_driver_sql(forget, ("$.attributes",))


def test_recreate_drops_children_first_and_makes_the_store_anew(recorder: Recorder) -> None:
    knows_drops(recorder)
    first = open_on(recorder, embedder=WordEmbedder())
    first.add(["red car"], "fact", record_ids=["m1"])
    old = first.incarnation
    recorder.statements.clear()

    store = open_on(recorder, embedder=WordEmbedder(), schema_policy=SchemaPolicy.RECREATE)
    sent = ddl(recorder)
    assert sent[0] == "DROP PROPERTY GRAPH"
    dropped = [text.split()[2] for text in sent if text.startswith("DROP TABLE")]
    assert set(dropped) == set(NAMES)
    for child, parent in [("document", "message"), ("memory_link", "memory"), ("memory", "thread")]:
        assert dropped.index(child) < dropped.index(parent)
    last_drop = max(at for at, text in enumerate(sent) if text.startswith("DROP"))
    assert not any(text.startswith("CREATE") for text in sent[:last_drop])
    assert "agent_memory_stores" not in dropped
    assert tables(recorder) == [
        table.name for table in [*store.tables.record_tables, *store.extras.tables]
    ]
    assert store.list("fact") == []
    assert store.incarnation != old
    assert first.incarnation == store.incarnation, "an open handle sees the new store"


def test_recreate_that_was_cut_off_is_refused_by_others_and_can_be_repeated(
    recorder: Recorder,
) -> None:
    knows_drops(recorder)
    open_on(recorder, embedder=WordEmbedder()).close()

    def fails(session: Connection, binds: object) -> Answer:
        raise_ora(1031, "insufficient privileges")

    recorder.handle("DROP TABLE memory CASCADE CONSTRAINTS PURGE", fails)
    with pytest.raises(StateError, match="ORA-01031"):
        open_on(recorder, embedder=WordEmbedder(), schema_policy=SchemaPolicy.RECREATE)
    with pytest.raises(StateError, match=r"DROPPING.*RECREATE"):
        open_on(recorder, embedder=WordEmbedder())
    knows_drops(recorder)
    store = open_on(recorder, embedder=WordEmbedder(), schema_policy=SchemaPolicy.RECREATE)
    assert store.current_config().lifecycle_state == "CREATED"


def test_a_store_of_the_reference_is_extended_and_filled(recorder: Recorder) -> None:
    embedder = ScopedWordEmbedder()
    before = open_on(recorder, embedder=embedder)
    before.add(["red car", "blue boat"], "fact", record_ids=["m1", "m2"], user_ids="ann")
    lose_extras(recorder, *EXTRA_NAMES)
    before.close()

    policy = SchemaPolicy.REQUIRE_EXISTING
    store = open_on(recorder, embedder=embedder, schema_policy=policy)
    assert not store.has_extras
    recorder.statements.clear()
    assert store.extend() == tuple(f"table {name}" for name in EXTRA_NAMES)
    assert tables(recorder) == list(EXTRA_NAMES)
    assert store.current_config().extras_version == EXTRAS_VERSION
    assert {row.record_id for row in rows_of(store, store.extras.record_state)} == {"m1", "m2"}
    assert len(rows_of(store, store.extras.chunk_token)) == 2
    assert store.extend() == ()
    again = open_on(recorder, embedder=embedder, schema_policy=policy)
    assert again.has_extras
    assert again.update("fact", "m1", content="green tree") == 1


def test_an_older_layout_is_named_and_then_upgraded(recorder: Recorder) -> None:
    open_on(recorder, embedder=WordEmbedder()).close()
    lose_extras(recorder, "x_new_vector")
    with pytest.raises(StateError, match="from layout 1 to 2"):
        open_on(recorder, schema_policy=SchemaPolicy.REQUIRE_EXISTING)
    (table,) = [one for one in TABLES if one.name == "x_new_vector"]
    text = compiled(CreateTable(table)).replace("TABLE", "TABLE IF NOT EXISTS", 1)
    recorder.handle(text, _creates(table))
    store = open_on(recorder, embedder=WordEmbedder())
    assert store.repairs == ("upgraded to layout 2: a table for the vectors of a re-embedding",)
    assert store.current_config().extras_version == 2


def test_two_processes_that_make_a_store_at_once_make_one(recorder: Recorder) -> None:
    first = open_on(recorder, embedder=WordEmbedder())

    def exists(session: Connection, binds: object) -> Answer:
        raise_ora(955, "name is already used by an existing object")

    # The second looked before the first had begun.
    for table in TABLES:
        recorder.handle(compiled(CreateTable(table)), exists)
        for index in table.indexes:
            recorder.handle(compiled(CreateIndex(index)), exists)
    schema = OracleSchema(first.engine, first.tables, first.extras, first.registry)
    assert schema._make(None, set(), {}).incarnation == first.incarnation
