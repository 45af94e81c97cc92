"""Cutting text, fingerprints, effective times: the pure functions of the store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.chunking import CHUNK_CHARACTERS, split_text
from oracleagentmemory.storage.extras import UNSCOPED, scope_key
from oracleagentmemory.storage.fingerprints import content_hash, fingerprint
from oracleagentmemory.storage.registry import check_store_id, store_name, table_prefix
from oracleagentmemory.storage.retention import parse_time
from oracleagentmemory.storage.rows import effective_time


@given(st.text(alphabet="ab \n\u3000空", max_size=200), st.integers(2, 30))
def test_cutting_loses_nothing_but_white_space(text: str, size: int) -> None:
    pieces = split_text(text, size=size)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece.strip() for piece in pieces)
    if len(pieces) > 1:
        assert max(map(len, pieces)) <= size


def test_a_text_that_fits_is_one_piece_as_it_is() -> None:
    assert split_text(" red\n car ") == [" red\n car "]
    assert split_text("x" * CHUNK_CHARACTERS) == ["x" * CHUNK_CHARACTERS]
    assert [len(one) for one in split_text("x" * 9000)] == [4000, 4000, 1000]
    assert split_text(" \n\t") == []
    assert split_text("") == []


def test_cuts_fall_between_words_of_the_second_half() -> None:
    assert split_text("aaaa bbbb cccc", size=10) == ["aaaa bbbb", "cccc"]
    assert split_text("a " + "b" * 12, size=10) == ["a " + "b" * 8, "bbbb"]


def test_a_fingerprint_does_not_depend_on_what_a_database_makes_of_a_value() -> None:
    left = {"content": "x", "metadata": {"b": 1.0, "a": [2.0, {"c": 3}]}, "timestamp": None}
    right = {"metadata": {"a": [2, {"c": 3.0}], "b": 1}, "content": "x", "timestamp": ""}
    assert fingerprint("memory", left) == fingerprint("memory", right)
    assert len(fingerprint("memory", left)) == 32


@pytest.mark.parametrize(
    "other",
    [
        {"content": "y", "metadata": {"a": 1}},
        {"content": "x", "metadata": {"a": "1"}},
        {"content": "x", "metadata": {"a": True}},
        {"content": "x", "metadata": {}},
        {"content": "x", "metadata": None},
        {"content": "x", "metadata": {"a": 1}, "status": "invalid"},
    ],
)
def test_a_fingerprint_shows_every_change(other: dict[str, Any]) -> None:
    assert fingerprint("memory", other) != fingerprint(
        "memory", {"content": "x", "metadata": {"a": 1}}
    )


def test_ids_and_the_states_of_machines_are_no_part_of_a_fingerprint() -> None:
    left = {"record_id": "a", "order_seq": 1, "created_at": datetime.now(UTC), "runtime_state": {}}
    assert fingerprint("thread", left) == fingerprint("thread", {"record_id": "b"})
    assert fingerprint("thread", {}) != fingerprint("message", {})


def test_the_content_hash_overlooks_case_and_white_space() -> None:
    assert content_hash("Red  CAR\n") == content_hash("red car")
    assert content_hash("ﬁne") == content_hash("FINE")
    assert content_hash("red car") != content_hash("redcar")


def test_the_effective_time_is_the_callers_when_it_can_be_read() -> None:
    created = datetime(2026, 1, 1, tzinfo=UTC)
    assert effective_time("2024-05-01T10:00:00+02:00", created) == datetime(
        2024, 5, 1, 8, tzinfo=UTC
    )
    assert effective_time("2024-05-01", created) == datetime(2024, 5, 1, tzinfo=UTC)
    for unreadable in (None, "yesterday", "2024-13-01", "0001-01-01T00:00:00+14:00"):
        assert effective_time(unreadable, created) == created
    assert parse_time("2026-W01-1") == datetime(2025, 12, 29, tzinfo=UTC)


def test_no_users_scope_is_the_scope_of_none() -> None:
    assert scope_key(None) == UNSCOPED
    assert scope_key(UNSCOPED) != UNSCOPED


def test_store_ids_name_tables_and_nothing_else() -> None:
    assert check_store_id("Acme_1") == "ACME_1"
    assert (store_name(None), table_prefix(None)) == ("__UNPREFIXED_DEFAULT__", "")
    assert (store_name("ACME"), table_prefix("ACME")) == ("ACME", "acme_")
    for bad in ("", "1a", "a-b", "a" * 17, 'a"', "ä"):
        with pytest.raises(InvalidInputError):
            check_store_id(bad)
