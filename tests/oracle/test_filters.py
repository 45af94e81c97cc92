"""Metadata filters on Oracle: the compiled conditions mean what the matcher does.

The documented rules of Oracle's paths are modelled (see `jsonpath`); whether the server follows
them needs a live one.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import assume, example, given, settings
from sqlalchemy.dialects import oracle

from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage import filters_oracle
from oracleagentmemory.storage.filters import matches, metadata_matches, parse_filter
from oracleagentmemory.storage.types import Json
from tests.oracle.conditions import Document
from tests.oracle.jsonpath import exists
from tests.oracle.tokens import tokens_of
from tests.sdk.contract.test_filters import FOUND, NASTY_KEYS, ROWS
from tests.sdk.storage.test_filter_predicate import FILTERS, METADATA

_DIALECT = oracle.oracledb.dialect()


def compiled(condition: Any) -> tuple[str, dict[str, str]]:
    """Return a filter's SQL on the column `m` and what it binds."""
    predicate = metadata_matches(sa.column("m", Json()), parse_filter(condition))
    statement = sa.select(sa.literal_column("1")).where(predicate).compile(dialect=_DIALECT)
    return statement.string.partition("WHERE ")[2], statement.params


def selects(condition: Any, metadata: Any) -> bool:
    sql, binds = compiled(condition)
    return Document("m", metadata, binds).fulfils(sql) is True


def _list_in_a_list(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_list_in_a_list, value.values()))
    return isinstance(value, list) and any(
        isinstance(one, list) or _list_in_a_list(one) for one in value
    )


@settings(max_examples=200, deadline=None)
@given(condition=FILTERS, metadata=METADATA)
@example({"a": [{"b": [1, {}]}]}, {"a": [{"b": [True, {}]}]})
@example({"a": [{}]}, {"a": [{"b": 1}]})
@example({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]})
@example({"a": {"$not": [1]}}, None)
@example({"a": {"$not": {"$array_contains": 1}}}, {})
@example({"a": {"b": 1}}, {"a": [{"b": 1}]})
@example({"a": {}}, {"a": [{}]})
def test_the_condition_takes_what_the_matcher_takes(condition: Any, metadata: Any) -> None:
    # A list inside a list counts with its elements for $array_contains: paths cannot say it.
    assume("$array_contains" not in json.dumps(condition) or not _list_in_a_list(metadata))
    assert selects(condition, metadata) is matches(parse_filter(condition), metadata)


@pytest.mark.parametrize("name", FOUND)
def test_the_documented_table_holds_for_the_condition(name: str) -> None:
    condition, expected = FOUND[name]
    assert {row for row, metadata in ROWS.items() if selects(condition, metadata)} == expected


@pytest.mark.parametrize(
    ("path", "document", "holds"),
    [
        ('$."a"?(@ == $v0)', {"a": [1, 2]}, True),
        ('$."a"?(@.type() == "object")', {"a": [{"b": 1}]}, True),
        ('$?(@."a".type() == "object")', {"a": [{"b": 1}]}, False),
        ('$?(@."a" == $v0)', {"a": "1"}, True),
        ('$?(@."a" == $v0)', {"a": True}, False),
        ('$?(@."a".type() != "array")', {}, False),
        ('$?(@."a"."b" == $v0)', {"a": [{"b": 2}, {"b": 1}]}, True),
        ('$."a"[0]?(@ == $v0)', {"a": 1}, True),
    ],
)
def test_the_model_knows_what_lax_paths_let_through(path: str, document: Any, holds: bool) -> None:
    assert exists(document, path, {"v0": 1}) is holds


def _types_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(filters_oracle, "_has_type_of", lambda value, here: "1 == 1")


def _twins_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(filters_oracle, "_twins", lambda value: [value])


def _unwrapped(patch: pytest.MonkeyPatch) -> None:
    def at_the_value(self: Any, path: Any, kind: str) -> str:
        place = filters_oracle._path(path)
        return str(self._json_exists(f"'{place}?(@.type() == \"{kind}\")'"))

    patch.setattr(filters_oracle._Writer, "_is", at_the_value)


def _null_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(filters_oracle, "replace", lambda writer, **_: writer)


def _rest_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(filters_oracle, "_is_empty", lambda document: "1 = 1")


@pytest.mark.parametrize(
    ("plant", "condition", "metadata"),
    [
        (_types_lost, {"a": 1}, {"a": "1"}),
        (_types_lost, {"a": 1}, {"a": [1]}),
        (_twins_lost, {"a": 1}, {"a": True}),
        (_unwrapped, {"a": {"b": 1}}, {"a": [{"b": 1}]}),
        (_null_lost, {"a": {"$not": 1}}, None),
        (_rest_lost, {"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}),
    ],
)
def test_a_planted_difference_from_the_matcher_is_seen(
    monkeypatch: pytest.MonkeyPatch, plant: Any, condition: Any, metadata: Any
) -> None:
    right = matches(parse_filter(condition), metadata)
    assert selects(condition, metadata) is right
    plant(monkeypatch)
    assert selects(condition, metadata) is not right


@pytest.mark.parametrize("key", NASTY_KEYS)
def test_a_key_stays_inside_its_literal(key: str) -> None:
    sql, binds = compiled({key: {key: ["value", key]}})
    plain, _ = compiled({"k": {"k": ["value", "k"]}})
    assert [(one.kind, one.text) for one in tokens_of(sql) if one.kind != "string"] == [
        (one.kind, one.text) for one in tokens_of(plain) if one.kind != "string"
    ]
    assert "[POSTCOMPILE" not in sql, "SQLAlchemy would put binds there"
    assert sorted(binds.values()) == sorted(
        json.dumps(one, ensure_ascii=False) for one in ("value", key)
    )
    assert selects({key: {key: ["value", key]}}, {key: {key: ["value", key]}})
    assert not selects({key: {key: 1}}, {"other": {key: 1}})


def test_keys_too_long_for_a_path_are_refused_by_name() -> None:
    with pytest.raises(InvalidInputError, match="Oracle takes 4000"):
        compiled({"k" * 4000: 1})


@pytest.mark.parametrize(
    "number", [2**53 + 1, 10**40, -(2**1023), 5e-324, 1.7976931348623157e308, 0.1, -0.0]
)
def test_a_number_is_bound_with_every_digit(number: float) -> None:
    sql, binds = compiled({"a": number})
    assert json.loads(next(iter(binds.values()))) == number
    assert selects({"a": number}, {"a": number})
    assert str(number) not in sql or number == 0
