"""Faults planted in the store are caught on the recorded Oracle path: the path can say no.

Each would pass on SQLite, or come back right there.
"""

from __future__ import annotations

import array
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.oracle.base import OracleCompiler
from sqlalchemy.dialects.oracle.cx_oracle import OracleDialect_cx_oracle

from oracleagentmemory._notset import NOT_SET_MARKER
from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core import OracleDBMemoryStore, SearchStrategy, oracledbmemorystore
from oracleagentmemory.errors import StoreUnavailableError
from oracleagentmemory.storage import engine, filters_oracle, keyword_sql, types, vector_sql
from oracleagentmemory.storage.kinds import Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.store import reading
from tests.oracle.stores import new_recorder, open_on
from tests.sdk.search.stores import DIMENSION, WordEmbedder

INVALID = RecordStatus.INVALID
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
    _write_and_search(store)
    _search_in_scope(store)


def _write_and_search(store: OracleDBMemoryStore) -> None:
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


def _search_in_scope(store: OracleDBMemoryStore) -> None:
    """Only what one user may see, what is valid, and what holds the words."""
    store.add(["red car"], "fact", record_ids=["bobs"], user_ids="bob")
    store.add(["red car"], "fact", record_ids=["old"], user_ids="ada", statuses=INVALID)
    store.add(["red car & blue boat"], "fact", record_ids=["new"], user_ids="ada")
    for strategy in (SearchStrategy.VECTOR, SearchStrategy.KEYWORD):
        store.search_strategy = strategy
        found = store.search(
            "red (car", 1, user_id="ada", exact_user_match=True, include_invalid_results=False
        )
        assert [record.id for record, _ in found] == ["new"], strategy
    assert [record.id for record in store.list("fact", user_id="bob")] == ["bobs"]


def test_without_a_fault_nothing_is_found(run: Callable[[], None]) -> None:
    run()


def _lost_lock(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sa.Select, "with_for_update", lambda self, **_: self)


def _lost_expiry(patch: pytest.MonkeyPatch) -> None:
    def always(kind: Kind, tables: ManagedTables) -> sa.ColumnElement[bool]:
        table = kind.table(tables)
        return sa.or_(table.c.expires_at.is_(None), table.c.expires_at.is_not(None))

    patch.setattr(reading, "visible", always)


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


def _extra_bind(patch: pytest.MonkeyPatch) -> None:
    _respell(patch, "SELECT", " AND memory.memory_type = :type", "")


def _on_conflict(patch: pytest.MonkeyPatch) -> None:
    real = OracleCompiler.visit_insert

    def visit_insert(self: OracleCompiler, *arguments: Any, **options: Any) -> str:
        return real(self, *arguments, **options) + " ON CONFLICT DO NOTHING"

    patch.setattr(OracleCompiler, "visit_insert", visit_insert)


def _fetch_without_only(patch: pytest.MonkeyPatch) -> None:
    _respell(patch, "FETCH", " ROWS ONLY", " ROWS")


def _unknown_table(patch: pytest.MonkeyPatch) -> None:
    _respell(patch, "DELETE", "DELETE FROM memory", "DELETE FROM memories")


def _lost_scope_in_search(patch: pytest.MonkeyPatch) -> None:
    _other_request(patch, user_id=NOT_SET_MARKER)


def _lost_scope_in_keywords(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(keyword_sql, "_scope_condition", lambda *_: None)


def _lost_scope_in_lists(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reading, "_given", lambda scope: {})


def _lost_status(patch: pytest.MonkeyPatch) -> None:
    _other_request(patch, include_invalid=True)


def _other_request(patch: pytest.MonkeyPatch, **changes: Any) -> None:
    real = vector_sql.nearest
    patch.setattr(
        vector_sql, "nearest", lambda tables, request: real(tables, replace(request, **changes))
    )


def _unescaped_words(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(oracledbmemorystore, "oracle_query", lambda text: text)


def _condition(patch: pytest.MonkeyPatch, plant: Callable[[sa.Table], Any]) -> None:
    """Put a condition into every list."""
    real = reading.visible

    def planted(kind: Kind, tables: ManagedTables) -> sa.ColumnElement[bool]:
        return sa.and_(real(kind, tables), plant(kind.table(tables)))

    patch.setattr(reading, "visible", planted)


def _row_values(patch: pytest.MonkeyPatch) -> None:
    def later(table: sa.Table) -> Any:
        return sa.tuple_(table.c.order_seq, table.c.record_id) > sa.tuple_(0, "a")

    _condition(patch, later)


def _boolean_word(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reading, "visible", lambda kind, tables: sa.true())


def _empty_text_compared(patch: pytest.MonkeyPatch) -> None:
    _condition(patch, lambda table: table.c.user_id != sa.literal("", sa.String()))


def _large_compared(patch: pytest.MonkeyPatch) -> None:
    _condition(patch, lambda table: table.c.content != "x")


def _null_compared(patch: pytest.MonkeyPatch) -> None:
    _condition(patch, lambda table: table.c.user_id == sa.literal(None, sa.String()))


def _grouped_text(patch: pytest.MonkeyPatch) -> None:
    real = vector_sql.nearest

    def by_text(tables: ManagedTables, request: Any) -> Any:
        statement, parameters = real(tables, request)
        return statement.group_by(tables.record_chunks.c.chunk_text), parameters

    patch.setattr(vector_sql, "nearest", by_text)


def _locked_page(patch: pytest.MonkeyPatch) -> None:
    real = sa.Select.with_for_update
    patch.setattr(sa.Select, "with_for_update", lambda self, **_: real(self).limit(1))


def _numpy_scalar(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reading.Reading, "_limit", lambda self, limit: np.int64(5))


def _numbered_row(patch: pytest.MonkeyPatch) -> None:
    def number(self: object, transaction: object, rows: list[dict[str, Any]], name: str) -> None:
        for place, row in enumerate(rows):
            row[name] = 100 + place

    patch.setattr(OracleDBMemoryStore, "_number", number)


def _vector_as_list(patch: pytest.MonkeyPatch) -> None:
    def floats(self: types.Vector, dialect: sa.Dialect) -> Callable[[Any], Any]:
        return lambda value: None if value is None else [float(one) for one in value]

    patch.setattr(types.Vector, "bind_processor", floats)


def _lob_unread(patch: pytest.MonkeyPatch) -> None:
    # Without it the driver hands out locators, each worth a round trip.
    patch.setattr(
        OracleDialect_cx_oracle, "_generate_connection_outputtype_handler", lambda self: None
    )


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
        (_extra_bind, "bound but not in the statement ['type']"),
        (_on_conflict, "CONFLICT"),
        (_fetch_without_only, "FETCH without ONLY"),
        (_unknown_table, "memories"),
        (_lost_scope_in_search, "assert"),
        (_lost_scope_in_keywords, "assert"),
        (_lost_scope_in_lists, "assert"),
        (_lost_status, "assert"),
        (_unescaped_words, "no query of words in braces"),
        (_row_values, "row values"),
        (_boolean_word, "no such words"),
        (_empty_text_compared, "comparison with ''"),
        (_large_compared, "comparison of a large type"),
        (_null_compared, "bound NULL"),
        (_grouped_text, "GROUP BY a large type"),
        (_locked_page, "ORA-02014"),
        (_numpy_scalar, "numpy scalar"),
        (_numbered_row, "ORA-32795"),
        (_vector_as_list, "cannot be bound"),
        (_lob_unread, "LOB"),
    ],
)
def test_a_planted_fault_is_caught(
    run: Callable[[], None], monkeypatch: pytest.MonkeyPatch, plant: Plant, named: str
) -> None:
    plant(monkeypatch)
    with pytest.raises((AssertionError, AttributeError, StoreUnavailableError)) as caught:
        run()
    assert named.lower() in str(caught.value).lower()
