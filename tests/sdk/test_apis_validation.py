"""Text, ids and metadata that cannot be stored are refused before any I/O."""

from __future__ import annotations

from typing import Any

import pytest

from oracleagentmemory.apis.validation import check_id, check_metadata, check_text
from oracleagentmemory.errors import InvalidInputError, WrongTypeError

CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE


@pytest.mark.parametrize(
    "text", ["", " ", "naïve ☕", "空", "x" * 100_000, "\n\t\u202e", "\U0001f34e"]
)
def test_any_real_text_passes_unchanged(text: str) -> None:
    assert check_text(text, "content") == text


@pytest.mark.parametrize("text", ["a\0b", "\0", "\ud800", "x\udfff", "\ude00\ud83d"])
def test_nul_and_lone_surrogates_are_named_with_their_field(text: str) -> None:
    with pytest.raises(InvalidInputError, match="content"):
        check_text(text, "content")


@pytest.mark.parametrize("value", [None, 5, b"x", ["x"]])
def test_what_is_no_text_is_a_type_error(value: object) -> None:
    with pytest.raises(WrongTypeError, match="content must be a str"):
        check_text(value, "content")


@pytest.mark.parametrize("value", ["a/b", "a%2Fb", 'a"b', "..", "search", "~x", "空", "é" * 64])
def test_an_id_may_hold_anything_up_to_128_bytes(value: str) -> None:
    assert check_id(value, "memory_id") == value


@pytest.mark.parametrize("value", ["", "x" * 129, "é" * 64 + "x", "\0"])
def test_an_id_that_cannot_be_stored_is_refused(value: str) -> None:
    with pytest.raises(InvalidInputError, match="memory_id"):
        check_id(value, "memory_id")


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"": 1, "a.b": [1, None, True, {"c": []}], "$x": -1.5e300},
        {"deep": [[[[["x"]]]]], "tuple": (1, 2)},
        {"big": 2**63},
    ],
)
def test_json_metadata_passes(metadata: dict[str, Any] | None) -> None:
    assert check_metadata(metadata) is metadata


@pytest.mark.parametrize(
    "metadata",
    [
        [1],
        "x",
        5,
        {1: "key"},
        {"a": {None: 1}},
        {"a": float("nan")},
        {"a": [float("inf")]},
        {"a": -float("inf")},
        {"a": b"bytes"},
        {"a": {1, 2}},
        {"a": object()},
        {"a": "x\0"},
        {"a\0": 1},
        {"a": ["\ud800"]},
        {"a": 10**5000},
        CYCLE,
    ],
    ids=lambda value: type(value).__name__,
)
def test_metadata_that_is_no_json_is_refused(metadata: object) -> None:
    with pytest.raises(InvalidInputError, match="metadata"):
        check_metadata(metadata)


def test_an_error_about_metadata_says_where() -> None:
    with pytest.raises(InvalidInputError, match=r"metadata\['a'\]\[1\]\['b'\]"):
        check_metadata({"a": [1, {"b": {1}}]})
