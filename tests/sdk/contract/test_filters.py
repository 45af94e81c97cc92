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


#: Keys that mean something to SQL, to JSON paths, to Python's templates or to SQLAlchemy.
NASTY_KEYS = [
    "",
    " ",
    "it's",
    'say "so"',
    "a.b",
    "$",
    "$eq",
    "$.a",
    "a[0]",
    "[*]",
    "@",
    "*",
    "') OR 1=1 --",
    '"?(1 == 1)',
    "\\",
    "\\u0061",
    "a\nb\tc",
    ":bind",
    ":1",
    "%s",
    "%(x)s",
    "{0}",
    "?",
    "__[POSTCOMPILE_types]",
    "__[POSTCOMPILE_param_1]",
    "q'[x]'",
    "/*",
    "&x",
    "空",
    "é",
    "e\u0301",
    "😀",
    "\u2028",
]


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


def test_a_key_is_a_name_and_nothing_else(store: SQLMemoryStore) -> None:
    for place, key in enumerate(NASTY_KEYS):
        store.add(["red"], "fact", record_ids=f"n{place}", metadata={key: {key: place + 2}})
    for place, key in enumerate(NASTY_KEYS):
        condition = {key: {key: place + 2}}
        assert [one.id for one in store.list("fact", metadata_filter=condition)] == [f"n{place}"]
        found = store.search("red", 100, record_types=["fact"], metadata_filter=condition)
        assert [one.id for one, _ in found] == [f"n{place}"], key
        assert store.list("fact", metadata_filter={key: {key: "other"}}) == []


def nested(value: Any, levels: int) -> dict[str, Any]:
    for level in range(levels):
        value = {f"level {level}": value}
    return value  # type: ignore[no-any-return]


def test_ten_levels_are_matched(store: SQLMemoryStore) -> None:
    store.add(["red"], "fact", record_ids="deep", metadata=nested({"x": [1, 2], "y": "z"}, 10))
    store.add(["red"], "fact", record_ids="other", metadata=nested({"x": [1, 3], "y": "z"}, 10))
    store.add(["red"], "fact", record_ids="less", metadata=nested({"x": [1, 2], "y": "z"}, 9))
    for inner, expected in [
        ({"x": [1, 2]}, ["deep"]),
        ({"x": {"$array_contains": 1}}, ["deep", "other"]),
        ({"x": {"$not": {"$array_contains": 2}}, "y": "z"}, ["other"]),
    ]:
        condition = nested(inner, 10)
        assert [one.id for one in store.list("fact", metadata_filter=condition)] == expected
        found = store.search("red", 5, metadata_filter=condition)
        assert sorted(one.id for one, _ in found) == expected


def test_numbers_are_told_apart_by_every_digit(store: SQLMemoryStore) -> None:
    numbers = [0, 2**53, 2**53 + 1, 2**63, 2**64, 10**40, -(10**40), 1e300, 5e-324, 1e-7, 0.1, 0.3]
    for place, number in enumerate(numbers):
        store.add(["red"], "fact", record_ids=f"n{place}", metadata={"n": number, "l": [number]})
    for place, number in enumerate(numbers):
        for condition in ({"n": number}, {"l": [number]}, {"l": {"$array_contains": number}}):
            listed = store.list("fact", metadata_filter=condition)
            assert [one.id for one in listed] == [f"n{place}"], number
    assert store.list("fact", metadata_filter={"n": 0.1 + 0.2}) == []
    assert len(store.list("fact", metadata_filter={"n": -0.0})) == 1


def _lists(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _nots(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"$not": value}
    return value


TOO_DEEP = {
    "objects": nested(1, 5000),
    "lists": {"a": _lists(5000)},
    "negations": {"a": _nots(5000)},
    "just one level": nested(1, 66),
}


@pytest.mark.parametrize("name", TOO_DEEP)
def test_a_filter_that_is_too_deep_is_refused_clearly(store: SQLMemoryStore, name: str) -> None:
    store.add(["red"], "fact")
    condition = TOO_DEEP[name]
    for ask in (
        lambda: store.list("fact", metadata_filter=condition),
        lambda: store.search("red", 1, metadata_filter=condition),
        lambda: refuse_unknown_operators(condition),
    ):
        with pytest.raises(InvalidInputError, match="nested deeper than 64 levels"):
            ask()


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
