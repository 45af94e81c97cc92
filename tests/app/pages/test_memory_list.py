"""The list of memories: filters, pages, the drawer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from memoryapp.services import memories
from tests.app.pages.conftest import OPERATOR, add_memory, add_thread, text_of

pytestmark = pytest.mark.django_db


def shown(client: Client, **query: Any) -> list[str]:
    """The texts of the rows, in their order."""
    response = client.get("/memories/", query)
    assert response.status_code == 200, response.content
    return [row.record.content for row in response.context["page"].rows]


@pytest.fixture
def several(db: None) -> None:
    """Memories that differ in every filter."""
    add_thread("t-1", [])
    add_memory("one", agent_id="travel", thread_id="t-1", timestamp="2026-01-10T23:30:00Z")
    add_memory("two", memory_type="fact", metadata={"topic": "food", "n": 1})
    add_memory("three", user_id="bob", timestamp="2026-01-11T00:30:00Z")
    add_memory("four", user_id=None)
    gone = add_memory("five")
    memories.set_status(OPERATOR, gone, "invalid")


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ({}, ["four", "three", "two", "one"]),
        ({"user": "ada"}, ["two", "one"]),
        ({"user": "nobody"}, []),
        ({"type": "fact"}, ["two"]),
        ({"agent": "travel"}, ["one"]),
        ({"thread": "t-1"}, ["one"]),
        ({"status": "invalid"}, ["five"]),
        ({"status": "all"}, ["five", "four", "three", "two", "one"]),
        ({"metadata": '{"topic": "food"}'}, ["two"]),
        ({"metadata": '{"topic": {"$not": "food"}}'}, ["four", "three", "one"]),
        ({"since": "2026-01-11", "until": "2026-01-11"}, ["three"]),
        ({"until": "2026-01-10"}, ["one"]),
        ({"user": "ada", "type": "memory"}, ["one"]),
        ({"q": "two"}, ["two"]),
        ({"q": "ONE", "user": "ada"}, ["one"]),
        ({"q": "one", "user": "bob"}, []),
        ({"q": "one two"}, []),
        ({"q": "five"}, []),
        ({"q": "five", "status": "all"}, ["five"]),
        ({"q": '"two" OR one* NEAR('}, []),
        ({"q": "  "}, ["four", "three", "two", "one"]),
        ({"q": "--"}, []),
        # Unknown values count as not given.
        ({"type": "episode", "status": "archived", "since": "x", "after": "q", "m": "z"}, None),
        ({"before": "-1"}, None),
        ({"until": "9999-12-31"}, None),
    ],
)
def test_each_filter(
    client: Client, several: None, query: dict[str, str], texts: list[str] | None
) -> None:
    assert shown(client, **query) == (["four", "three", "two", "one"] if texts is None else texts)


def test_days_are_those_of_the_person(make_client: Callable[..., Client], several: None) -> None:
    berlin = make_client(time_zone="Europe/Berlin")
    assert shown(berlin, since="2026-01-11", until="2026-01-11") == ["three", "one"]


@pytest.mark.parametrize(
    "query",
    [
        *(
            {"metadata": wrong}
            for wrong in ("{", "[1]", '"x"', '{"a": {"$above": 3}}', '{"a": NaN}')
        ),
        *({name: "空" * 43} for name in ("user", "agent", "thread")),
        {"q": "空" * 167},
        {"q": "a\x00b"},
        {"user": "a\x00b"},
    ],
)
def test_a_filter_that_cannot_be_used_is_said(
    client: Client, several: None, query: dict[str, str]
) -> None:
    response = client.get("/memories/", query)
    assert response.status_code == 422
    assert 'aria-invalid="true"' in text_of(response)
    assert "One" not in text_of(response)


def test_pages_walk_down_and_up_without_gaps(client: Client) -> None:
    texts = [f"memory {n}" for n in range(120)]
    for text in texts:
        add_memory(text)
    newest_first = texts[::-1]
    first = client.get("/memories/")
    assert "50 of 120 shown" in text_of(first)
    page = first.context["page"]
    seen = [row.record.content for row in page.rows]
    while page.older:
        page = client.get("/memories/", {"before": page.older}).context["page"]
        seen += [row.record.content for row in page.rows]
    assert seen == newest_first
    assert len(page.rows) == 20
    up = client.get("/memories/", {"after": page.newer}).context["page"]
    assert [row.record.content for row in up.rows] == newest_first[50:100]


def test_a_limited_person_sees_and_counts_only_their_users(limited: Client, several: None) -> None:
    assert shown(limited) == ["two", "one"]
    assert shown(limited, user="bob") == []
    page = text_of(limited.get("/memories/"))
    assert "2 of 2 shown" in page
    assert "bob" not in page


def test_the_drawer_shows_the_memory_and_keeps_the_filters(client: Client, memory: str) -> None:
    page = text_of(client.get("/memories/", {"user": "ada", "m": memory}))
    assert 'data-record="mem-1"' in page
    assert page.count("Ada likes the window seat") == 2
    assert re.search(r'href="\?user=ada"[^>]*data-close-drawer', page)


def test_the_drawer_stays_shut_for_what_is_not_there(limited: Client, foreign: str) -> None:
    for memory_id in (foreign, "gone", "x" * 200, "a\x00b"):
        response = limited.get("/memories/", {"m": memory_id})
        assert response.status_code == 200
        assert "data-record" not in text_of(response)


def test_an_empty_store_says_how_to_get_data_in(client: Client) -> None:
    page = text_of(client.get("/memories/"))
    for way in ("memory_demo", "memory_import", "/api/v1/memories"):
        assert way in page


def test_a_filter_that_finds_nothing_offers_to_clear_it(client: Client, memory: str) -> None:
    page = text_of(client.get("/memories/", {"user": "nobody"}))
    assert "No memory matches" in page
    assert "memory_demo" not in page


def test_the_list_takes_as_many_queries_for_fifty_rows_as_for_one(
    client: Client, memory: str, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(5):
        client.get("/memories/")
    for n in range(60):
        add_memory(f"memory {n}")
    with django_assert_max_num_queries(5):
        client.get("/memories/")


def offered(client: Client, **query: Any) -> dict[str, dict[str, int]]:
    """The values that the list offers for each filter, with their counts."""
    groups = client.get("/memories/", query).context["facets"].groups
    return {group.name: {one.value: one.count for one in group.values} for group in groups}


def test_facets_count_what_their_links_would_show(client: Client, several: None) -> None:
    facets = offered(client)
    assert facets == {"type": {"memory": 3, "fact": 1}, "user": {"ada": 2, "bob": 1}}
    for name, values in facets.items():
        for value, count in values.items():
            assert len(shown(client, **{name: value})) == count
    page = text_of(client.get("/memories/", {"q": "two", "before": "9", "m": "x"}))
    assert 'href="?q=two&amp;status=invalid"' in page
    assert 'href="?type=fact"' in text_of(client.get("/memories/", {"m": "x", "before": "999"}))


def test_the_status_says_how_many_there_are_of_each(client: Client, several: None) -> None:
    for query, counts in (
        ({}, {"valid": 4, "invalid": 1, "all": 5}),
        ({"status": "invalid"}, {"valid": 4, "invalid": 1, "all": 5}),
        ({"user": "bob"}, {"valid": 1, "all": 1}),
        ({"type": "fact", "q": "two"}, {"valid": 1, "all": 1}),
    ):
        assert client.get("/memories/", query).context["facets"].statuses == counts


def test_a_chosen_value_can_be_taken_back(client: Client, several: None) -> None:
    page = text_of(client.get("/memories/", {"user": "ada", "type": "fact"}))
    assert re.search(r'aria-current="true" href="\?type=fact"><span class="cut">ada', page)
    assert re.search(r'aria-current="true" href="\?user=ada"><span class="cut">Fact', page)


def test_facets_keep_to_the_persons_users(limited: Client, several: None) -> None:
    assert offered(limited) == {"type": {"memory": 1, "fact": 1}}
    assert offered(limited, user="bob") == {}


def test_a_capped_facet_is_said(
    client: Client, several: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "first 10,000" not in text_of(client.get("/memories/"))
    for place in ("facets", "pages", "results"):
        monkeypatch.setattr(f"oracleagentmemory.inspection.{place}.COUNT_LIMIT", 4)
    page = text_of(client.get("/memories/"))
    assert "Counts are of the first 10,000 memories" in page
