"""Making and opening an Oracle store: every DDL text is pinned, and nothing else is sent.

That Oracle takes these texts, and what its dictionary answers about them, needs a live database.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import oracledb
import pytest

from oracleagentmemory.core import SchemaPolicy
from oracleagentmemory.errors import DimensionMismatchError, StateError
from tests.oracle.driver import Connection, Recorder
from tests.oracle.replay import Answer, raise_ora
from tests.oracle.stores import GOLDEN, new_recorder, open_on
from tests.sdk.search.stores import DIMENSION, WordEmbedder


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
    with pytest.raises(StateError, match="no complete memory store"):
        open_on(recorder, schema_policy=SchemaPolicy.REQUIRE_EXISTING)
    assert made(recorder) == []
    open_on(recorder, embedder=WordEmbedder()).close()
    with pytest.raises(StateError, match="CREATE_IF_EMPTY"):
        open_on(recorder, schema_policy=SchemaPolicy.CREATE_IF_EMPTY)
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
