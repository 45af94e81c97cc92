"""The filter in SQL is the filter in memory, for any filter over any metadata."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.dialects import oracle

from oracleagentmemory.storage.engine import register_functions
from oracleagentmemory.storage.filters import matches, metadata_matches, parse_filter
from oracleagentmemory.storage.types import Json

KEYS = st.sampled_from(["a", "b", "a.b", "$eq", "it's", 'say "x"', "空", ""])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, 1.0, 2.5, 1e300, 2**63, -(2**70)]),
    st.sampled_from(["", "x", "1", "é", "e\u0301", "'; DROP TABLE memory; --", '"']),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
METADATA = st.none() | st.dictionaries(KEYS, VALUES, max_size=3)


def operators(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    scalars = st.lists(SCALARS, min_size=1, max_size=3)
    parts = {
        "$not": inner,
        "$array_contains": scalars | SCALARS,
        "$array_contains_any": scalars,
    }
    return st.fixed_dictionaries({}, optional=parts).filter(bool)


FIELDS = st.recursive(
    VALUES.filter(lambda value: not isinstance(value, dict)) | operators(VALUES.filter(
        lambda value: not isinstance(value, dict))),
    lambda inner: st.dictionaries(KEYS, inner, max_size=2) | operators(inner),
    max_leaves=4,
)  # fmt: skip
FILTERS = st.none() | st.dictionaries(KEYS, FIELDS, max_size=2)


@pytest.fixture(scope="module")
def connection() -> Iterator[sa.Connection]:
    raw = sqlite3.connect(":memory:", check_same_thread=False)
    register_functions(raw)
    engine = sa.create_engine("sqlite://", creator=lambda: raw, poolclass=sa.StaticPool)
    with engine.connect() as opened:
        yield opened
    engine.dispose()


@settings(max_examples=300, deadline=None)
@given(condition=FILTERS, rows=st.lists(METADATA, min_size=1, max_size=5))
def test_the_predicate_selects_what_the_matcher_takes(
    connection: sa.Connection, condition: Any, rows: list[Any]
) -> None:
    parsed = parse_filter(condition)
    values = [
        sa.select(sa.literal(at).label("at"), sa.bindparam(None, row, Json()).label("metadata"))
        for at, row in enumerate(rows)
    ]
    table = sa.union_all(*values).subquery()
    for negated in (False, True):
        predicate: Any = metadata_matches(table.c.metadata, parsed)
        statement = sa.select(table.c.at).where(sa.not_(predicate) if negated else predicate)
        found = set(connection.execute(statement).scalars())
        # What is stored went through JSON.
        stored = [None if row is None else json.loads(json.dumps(row)) for row in rows]
        assert found == {at for at, row in enumerate(stored) if matches(parsed, row) is not negated}


@settings(max_examples=200, deadline=None)
@given(condition=FILTERS)
def test_any_filter_can_be_written_for_oracle(condition: Any) -> None:
    predicate = metadata_matches(sa.column("metadata", Json()), parse_filter(condition))
    compiled = sa.select(sa.literal(1)).where(predicate).compile(dialect=oracle.oracledb.dialect())
    text = str(compiled)
    assert text.count("(") == text.count(")") or "'" in text
    for name in compiled.params:
        assert f":{name}" in text, "every bound value stands in the statement"
    assert "DROP TABLE" not in text, "values travel as binds"


def oracle_text(condition: Any) -> str:
    predicate = metadata_matches(sa.column("m", Json()), parse_filter(condition))
    compiled = sa.select(sa.literal(1)).where(predicate).compile(dialect=oracle.oracledb.dialect())
    return " ".join(str(compiled).partition("WHERE ")[2].split())


def test_the_oracle_form_of_each_condition(golden: Any) -> None:
    conditions: list[Any] = [
        None,
        {},
        {"a": 1},
        {"a": "x"},
        {"a": None},
        {"a": {"b": {"c": [1, 2]}}},
        {"a": {"$not": 2}},
        {"a": {"$array_contains": ["x", "y"]}},
        {"a": {"$not": {"$array_contains_any": ["x"]}}},
        {"it's": {'say "x"': True}},
    ]
    lines = [f"{json.dumps(one)}\n    {oracle_text(one)}\n" for one in conditions]
    golden("oracle_filters.sql", "".join(lines))
