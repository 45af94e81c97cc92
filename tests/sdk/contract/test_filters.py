"""Every kind of metadata filter over every kind of metadata, by list and by search."""

from __future__ import annotations

from typing import Any

import pytest

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import refuse_unknown_operators

ROWS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "empty": {},
    "null": {"a": None},
    "one": {"a": 1},
    "float": {"a": 1.0},
    "digit": {"a": "1"},
    "true": {"a": True},
    "two": {"a": 2},
    "list": {"a": [1, 2]},
    "swap": {"a": [2, 1]},
    "truelist": {"a": [True]},
    "floatlist": {"a": [1.0]},
    "nulllist": {"a": [None]},
    "words": {"a": ["x", "y"]},
    "dict": {"a": {"b": 1}},
    "dict2": {"a": {"b": 1, "c": 2}},
    "dicts": {"a": [{"b": 1}]},
    "dicts2": {"a": [{"b": 1, "c": 2}]},
    "upper": {"a": "Word"},
    "accent": {"a": "é"},
    "composed": {"a": "e\u0301"},
    "dotted": {"a.b": 1},
    "pair": {"a": 1, "b": 2},
    "eq": {"a": {"$eq": 1}},
    "not": {"$not": 1},
    "quotes": {'it\'s "so"; --': 'it\'s "so"'},
}
ALL = set(ROWS)
#: Each filter with the rows that fulfil it.
FOUND: dict[str, tuple[dict[str, Any], set[str]]] = {
    "nothing asked": ({}, ALL),
    "null": ({"a": None}, {"null"}),
    "one": ({"a": 1}, {"one", "float", "true", "pair"}),
    "true": ({"a": True}, {"one", "float", "true", "pair"}),
    "a float": ({"a": 1.0}, {"one", "float", "true", "pair"}),
    "a digit": ({"a": "1"}, {"digit"}),
    "a missing key": ({"z": 1}, set()),
    "two keys": ({"a": 1, "b": 2}, {"pair"}),
    "a part of an object": ({"a": {"b": 1}}, {"dict", "dict2"}),
    "an empty object": ({"a": {}}, {"dict", "dict2", "eq"}),
    "a list": ({"a": [1, 2]}, {"list"}),
    "a list in another order": ({"a": [2, 1]}, {"swap"}),
    "a list of true": ({"a": [True]}, {"truelist", "floatlist"}),
    "a list of objects": ({"a": [{"b": 1}]}, {"dicts"}),
    "small letters": ({"a": "word"}, set()),
    "one form of an accent": ({"a": "é"}, {"accent"}),
    "a key with a dot": ({"a.b": 1}, {"dotted"}),
    "a key with quotes": ({'it\'s "so"; --': 'it\'s "so"'}, {"quotes"}),
    "not one": ({"a": {"$not": 1}}, ALL - {"one", "float", "true", "pair"}),
    "not null": ({"a": {"$not": None}}, ALL - {"null"}),
    "not not": ({"a": {"$not": {"$not": 1}}}, {"one", "float", "true", "pair"}),
    "not a part": ({"a": {"$not": {"b": 1}}}, ALL - {"dict", "dict2"}),
    "not an object": ({"a": {"$not": {}}}, ALL - {"dict", "dict2", "eq"}),
    "not a missing key": ({"z": {"$not": 1}}, ALL),
    "contains one": ({"a": {"$array_contains": 1}}, {"list", "swap", "floatlist"}),
    "contains both": ({"a": {"$array_contains": [1, 2]}}, {"list", "swap"}),
    "contains true": ({"a": {"$array_contains": True}}, {"truelist"}),
    "contains null": ({"a": {"$array_contains": None}}, {"nulllist"}),
    "contains a word": ({"a": {"$array_contains": "x"}}, {"words"}),
    "contains any": ({"a": {"$array_contains_any": [2, "y"]}}, {"list", "swap", "words"}),
    "does not contain": (
        {"a": {"$not": {"$array_contains": 1}}},
        ALL - {"list", "swap", "floatlist"},
    ),
    "two operators": ({"a": {"$array_contains": 2, "$not": [1, 2]}}, {"swap"}),
    "an operator inside": ({"a": {"b": {"$not": 2}}}, {"dict", "dict2", "eq"}),
    "an unknown operator is a key": ({"a": {"$eq": 1}}, {"eq"}),
    "an operator on top is a key": ({"$not": 1}, {"not"}),
}


@pytest.fixture
def filled(store: SQLMemoryStore) -> SQLMemoryStore:
    for name, metadata in ROWS.items():
        store.add(["red"], "fact", record_ids=name, user_ids="u1", metadata=metadata)
    return store


def test_list_and_search_follow_the_documented_table(filled: SQLMemoryStore) -> None:
    for name, (condition, expected) in FOUND.items():
        listed = {one.id for one in filled.list("fact", metadata_filter=condition)}
        found = {one.id for one, _ in filled.search("red", 100, metadata_filter=condition)}
        assert listed == expected, name
        assert found == expected, name


def test_none_lists_records_without_metadata_and_searches_all(filled: SQLMemoryStore) -> None:
    filled.add(["red"], "fact", record_ids="ours", metadata={"$agent_memory": {"importance": 3}})
    filled.add(["red"], "fact", record_ids="both", metadata={"$agent_memory": {}, "a": 7})

    listed = {one.id for one in filled.list("fact", metadata_filter=None)}
    assert listed == {"none", "ours"}
    assert len(filled.search("red", 100, metadata_filter=None)) == len(ROWS) + 2


def test_the_filter_counts_before_the_limit(filled: SQLMemoryStore) -> None:
    condition = {"a": {"b": 1, "c": 2}}
    assert [one.id for one, _ in filled.search("red", 1, metadata_filter=condition)] == ["dict2"]
    assert [one.id for one in filled.list("fact", limit=1, metadata_filter=condition)] == ["dict2"]


REFUSED: dict[str, Any] = {
    "contains nothing": {"a": {"$array_contains": []}},
    "any of nothing": {"a": {"$array_contains_any": []}},
    "any of a scalar": {"a": {"$array_contains_any": 1}},
    "contains an object": {"a": {"$array_contains": {"b": 1}}},
    "contains a list": {"a": {"$array_contains": [[1]]}},
    "operators beside keys": {"a": {"$not": 1, "b": 1}},
    "a tuple": {"a": (1, 2)},
    "a tuple inside": {"a": [{"b": (1,)}]},
    "bytes": {"a": b"x"},
    "an object": {"a": object()},
    "not a number": {"a": float("nan")},
    "infinite": {"a": {"$not": float("inf")}},
    "a key that is a number": {1: "x"},
    "NUL": {"a": "\0"},
    "a lone surrogate": {"a\ud800": 1},
    "a list": [1],
    "text": "x",
}


def test_what_is_no_filter_is_refused(store: SQLMemoryStore, subtests: pytest.Subtests) -> None:
    store.add(["red"], "fact")
    for name, condition in REFUSED.items():
        with subtests.test(name, way="list"), pytest.raises(ValueError, match=r"filter|key"):
            store.list("fact", metadata_filter=condition)
        with subtests.test(name, way="search"), pytest.raises(ValueError, match=r"filter|key"):
            store.search("red", 1, metadata_filter=condition)


def test_interfaces_for_people_name_an_unknown_operator() -> None:
    with pytest.raises(InvalidInputError, match=r"'\$eq'"):
        refuse_unknown_operators({"a": {"b": {"$eq": 1}}})
    refuse_unknown_operators({"$top": 1, "a": {"b": {"$not": 1}}})
    refuse_unknown_operators(None)
