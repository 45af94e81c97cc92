"""Faults planted in the store are caught on the recorded Oracle path: the path can say no.

Each would pass on SQLite, or come back right there.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.oracle.base import OracleCompiler

from oracleagentmemory.core import OracleDBMemoryStore
from oracleagentmemory.storage import engine, filters_oracle, types, vector_sql
from oracleagentmemory.storage.store import reading
from tests.oracle.stores import new_recorder, open_on
from tests.sdk.search.stores import DIMENSION, WordEmbedder

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Something that uses each kind of statement of a store and checks what it answers."""
    recorder = new_recorder(tmp_path, DIMENSION)
    open_on(recorder, embedder=WordEmbedder()).close()

    def use() -> None:
        store = open_on(recorder, embedder=WordEmbedder())
        store.engine.clock = lambda: NOW
        _exercise(store)

    yield use
    recorder.sqlite.dispose()


def _exercise(store: OracleDBMemoryStore) -> None:
    metadata = {"ratio": 0.5, "tags": ["a", "b"]}
    store.add(["red car", ""], "fact", record_ids=["m1", "m2"], user_ids="ada", ttl_days=3)
    store.add(["red car"], "memory", record_ids=["m3"], user_ids="ada", metadata=metadata)
    store.engine.clock = lambda: NOW + timedelta(days=1)
    first, empty = (store.get("fact", record_id) for record_id in ("m1", "m2"))
    assert (first.content, empty.content) == ("red car", "")
    assert first.timestamp == NOW.isoformat()
    found = store.search("car", 5, metadata_filter={"tags": {"$array_contains": "a"}})
    assert [record.id for record, _ in found] == ["m3"]
    store.update("fact", "m1", content="blue boat", metadata={"a": 1})
    assert len(store.list("fact", metadata_filter={"a": 1})) == 1
    store.engine.clock = lambda: NOW + timedelta(days=4)
    assert store.list("fact") == []
    assert store.delete("memory", "m3") == 1


def test_without_a_fault_nothing_is_found(run: Callable[[], None]) -> None:
    run()


def _lost_lock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sa.Select, "with_for_update", lambda self, **_: self)


def _lost_expiry(patch: pytest.MonkeyPatch) -> None:
    def always(table: sa.Table) -> sa.ColumnElement[bool]:
        return sa.or_(table.c.expires_at.is_(None), table.c.expires_at.is_not(None))

    patch.setattr(reading, "not_expired", always)


def _limit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OracleCompiler, "fetch_clause", lambda *_, **__: " LIMIT 5")


def _naive_time(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(types.UtcTime, "column_expression")


def _time_without_zone(patch: pytest.MonkeyPatch) -> None:
    patch.delattr(types.UtcTime, "bind_expression")


def _empty_text(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(types.LongText, "bind_processor", lambda self, dialect: lambda value: value)


def _no_vector_size(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(types.Vector, "input_size", None)


def _no_json_size(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(types.Json, "input_size", None)


def _sizes_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(engine, "_set_input_sizes", lambda *_: None)


def _double_vector(patch: pytest.MonkeyPatch) -> None:
    def doubles(self: types.Vector, dialect: sa.Dialect) -> Callable[[Any], Any]:
        return lambda value: None if value is None else array.array("d", value.tolist())

    patch.setattr(types.Vector, "bind_processor", doubles)


def _wrong_metric(patch: pytest.MonkeyPatch) -> None:
    _respell(patch, "VECTOR_DISTANCE", "COSINE)", "COSIN)")


def _unpassed_value(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(filters_oracle._Writer, "_bound", lambda self, value: ":unbound")


def _column_typo(patch: pytest.MonkeyPatch) -> None:
    _respell(patch, "SELECT", "memory.content", "memory.contents")


def _table_alias(patch: pytest.MonkeyPatch) -> None:
    _respell(patch, "SELECT", "FROM memory", "FROM memory AS memory")


def _sqlite_function(patch: pytest.MonkeyPatch) -> None:
    _respell(patch, "VECTOR_DISTANCE", "VECTOR_DISTANCE(", "oam_cosine(")


def _lost_group(patch: pytest.MonkeyPatch) -> None:
    real = vector_sql.nearest

    def ungrouped(*arguments: Any) -> Any:
        statement, parameters = real(*arguments)
        return statement.with_only_columns(
            *statement.selected_columns, sa.column("order_seq", sa.Integer)
        ), parameters

    patch.setattr(vector_sql, "nearest", ungrouped)


def _respell(patch: pytest.MonkeyPatch, marker: str, right: str, wrong: str) -> None:
    """Let the Oracle compiler write ``wrong`` for ``right`` in statements that hold ``marker``."""
    real = OracleCompiler.process

    def process(self: OracleCompiler, *arguments: Any, **options: Any) -> str:
        text = real(self, *arguments, **options)
        return text.replace(right, wrong) if marker in text else text

    patch.setattr(OracleCompiler, "process", process)


@pytest.mark.parametrize(
    ("plant", "named"),
    [
        (_lost_lock, "lost lock"),
        (_limit, "LIMIT"),
        (_naive_time, "assert"),
        (_time_without_zone, "time without a zone"),
        (_empty_text, "NULL on Oracle"),
        (_no_vector_size, "input size"),
        (_no_json_size, "input size"),
        (_sizes_lost, "input size"),
        (_double_vector, "not of float32"),
        (_wrong_metric, "COSIN"),
        (_unpassed_value, "unbound"),
        (_column_typo, "contents"),
        (_table_alias, "AS before a table alias"),
        (_sqlite_function, "OAM_COSINE"),
        (_lost_group, "ORA-00979"),
        (_lost_expiry, "assert"),
    ],
)
def test_a_planted_fault_is_caught(
    run: Callable[[], None], monkeypatch: pytest.MonkeyPatch, plant: Plant, named: str
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError) as caught:
        run()
    assert named.lower() in str(caught.value).lower()
