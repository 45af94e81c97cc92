"""The text filter: words through the keyword index, combined with every other filter."""

from __future__ import annotations

from typing import Any

import pytest

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import Count, StoreInspector, texts
from tests.sdk.inspection.test_pages import ids_of, walk_newer, walk_older

TEXTS = {
    "seat": "Ada prefers a window seat",
    "aisle": "Béla prefers the AISLE seat on Sundays",
    "soup": "Ada cooks soup, and drinks café au lait",
    "trip": "来週は東京へ旅行します",
    "cat": "The cat 🐈 sleeps",
}
USERS = {"seat": "ada", "aisle": "béla", "soup": "ada", "trip": "空", "cat": None}


@pytest.fixture
def inspector(store: SQLMemoryStore) -> StoreInspector:
    names = list(TEXTS)
    store.add(
        list(TEXTS.values()), "memory", record_ids=names, user_ids=[USERS[name] for name in names]
    )
    store.add(["A window seat for Ada"], "message", record_ids="m", roles="user", user_ids="ada")
    return StoreInspector(store)


@pytest.fixture(params=[texts._COMMON, 1], ids=["rare", "common"])
def _both_plans(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let words count as common from one text on, so that each row is asked for them."""
    monkeypatch.setattr(texts, "_COMMON", request.param)


def found(inspector: StoreInspector, text: str, kind: Any = "memory", **filters: Any) -> list[str]:
    """The ids of a page, which count and facets must agree with."""
    ids = [row.id for row in inspector.page(kind, text=text, **filters).rows]
    assert inspector.count(kind, text=text, **filters) == Count(value=len(ids), capped=False)
    statuses = inspector.facets(kind, text=text, **filters).values["status"]
    assert sum(one.count for one in statuses) == len(ids)
    return ids


@pytest.mark.usefixtures("_both_plans")
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("seat", ["aisle", "seat"]),
        ("SEAT window", ["seat"]),
        ("window, and the seat!", ["seat"]),
        ("window soup", []),
        ("CAFÉ", ["soup"]),
        ("東京", ["trip"]),
        ("東京 旅行", ["trip"]),
        ("大阪", []),
        ("   ", ["cat", "trip", "soup", "aisle", "seat"]),
        ("!?", []),
        ("absent", []),
    ],
)
def test_every_word_must_be_in_a_record(
    inspector: StoreInspector, text: str, ids: list[str]
) -> None:
    assert found(inspector, text) == ids


@pytest.mark.usefixtures("_both_plans")
def test_an_emoji_is_a_word_where_the_index_is_ours(inspector: StoreInspector) -> None:
    ours = inspector._store.keeps_texts
    assert found(inspector, "🐈") == (["cat"] if ours else [])


@pytest.mark.usefixtures("_both_plans")
@pytest.mark.parametrize(
    "text",
    [
        'seat" OR "soup',
        "seat OR soup",
        "seat NEAR soup",
        "body : seat AND scope : unone0",
        "seat* NOT soup",
        "{seat} ACCUM {soup}",
        "seat') OR 1=1 --",
        "%",
        "seat & soup | cat ~ ( } \\",
    ],
)
def test_no_text_is_query_syntax(inspector: StoreInspector, text: str) -> None:
    assert found(inspector, text) == []


@pytest.mark.usefixtures("_both_plans")
def test_words_and_other_filters_hold_together(inspector: StoreInspector) -> None:
    assert found(inspector, "seat", user_id="ada") == ["seat"]
    assert found(inspector, "seat", user_ids=["béla", "空"]) == ["aisle"]
    assert found(inspector, "cat", user_id=None) == ["cat"]
    assert found(inspector, "seat", memory_types=["fact"]) == []
    assert found(inspector, "seat", status="valid", ids=["aisle"]) == ["aisle"]
    assert found(inspector, "seat", user_ids=[]) == []
    assert found(inspector, "window", kind="message") == ["m"]
    many = [f"user {number}" for number in range(40)]
    assert found(inspector, "seat", user_ids=["ada", *many]) == ["seat"]


@pytest.mark.usefixtures("_both_plans")
def test_pages_of_found_records_are_complete_both_ways(inspector: StoreInspector) -> None:
    store = inspector._store
    store.add([f"common word {n}" for n in range(9)], "memory", user_ids=["ada", "béla", "空"] * 3)
    for filters in ({}, {"user_ids": ["ada", "béla"]}, {"user_id": "空"}):
        given = {"text": "common", **filters}
        pages = walk_older(inspector, "memory", 2, given)
        all_ids = [row.id for row in inspector.page("memory", **given).rows]
        assert ids_of(pages) == all_ids
        assert len(all_ids) == inspector.count("memory", **given).value
        back = walk_newer(inspector, "memory", 2, given, pages[-1])
        assert sorted(ids_of(back)) == sorted(all_ids)


def test_a_changed_text_is_found_by_its_new_words_alone(inspector: StoreInspector) -> None:
    inspector._store.update("memory", "seat", content="Ada prefers trains")
    assert found(inspector, "window") == []
    assert found(inspector, "trains") == ["seat"]


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "x" * 501])
def test_a_text_that_cannot_be_looked_for_is_refused(inspector: StoreInspector, text: str) -> None:
    with pytest.raises(InvalidInputError, match="text"):
        inspector.page("memory", text=text)


def test_threads_have_no_text(inspector: StoreInspector) -> None:
    with pytest.raises(InvalidInputError, match="thread"):
        inspector.count("thread", text="seat")
