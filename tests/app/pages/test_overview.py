"""The first page."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from memoryapp.services import memories
from tests.app.pages.conftest import OPERATOR, add_image, add_memory, add_thread, text_of

pytestmark = pytest.mark.django_db


def test_counts_and_newest_and_storage(client: Client, memory: str, foreign: str) -> None:
    add_thread("t-1", ["hello"])
    memories.set_status(OPERATOR, foreign, "invalid")
    response = client.get("/")
    overview = response.context["overview"]
    assert (str(overview.memories), str(overview.threads), str(overview.messages)) == (
        "2",
        "1",
        "1",
    )
    page = text_of(response)
    assert "Ada likes the window seat" in page
    assert "Bob likes the aisle seat" not in page
    assert re.search(r"Invalid memories</th>\s*<td class=\"n\">1<", page)
    assert re.search(r"Vectors</th>\s*<td class=\"n\">3 . 256<", page)


def test_a_limited_person_gets_numbers_of_their_users_only(
    limited: Client, memory: str, foreign: str
) -> None:
    response = limited.get("/")
    assert str(response.context["overview"].memories) == "1"
    assert response.context["memory_chart"].total == 1
    assert response.context["overview"].figures.statistics is None
    assert "Bob" not in text_of(response)


def test_images_are_counted_for_who_may_see_them(client: Client, limited: Client) -> None:
    for number, user_id in enumerate(["ada", "bob", "bob"]):
        add_image(f"i-{number}", user_id=user_id)
    for who, count in ((client, 3), (limited, 1)):
        page = text_of(who.get("/"))
        assert re.search(rf"<dt>Images</dt><dd>{count}<small>", page)
        assert "Nothing is stored yet" not in page


def test_activity_goes_by_the_day_something_happened(client: Client) -> None:
    today = timezone.now()
    for days in (0, 3, 3, 29, 40):
        add_memory("x", timestamp=(today - timedelta(days=days)).isoformat())
    chart = client.get("/").context["memory_chart"]
    counts = [column.count for column in chart.columns]
    assert len(counts) == 30
    assert (counts[-1], counts[-4], counts[0]) == (1, 2, 1)
    assert chart.total == 4
    assert max(column.height for column in chart.columns) <= chart.height


def test_the_chart_can_be_read_without_seeing_it(client: Client, memory: str) -> None:
    page = text_of(client.get("/"))
    assert '<title id="memory-chart-svg">Memories by day: 1 in 30 days' in page
    assert '<caption class="sr">Memories by day</caption>' in page


def test_days_are_those_of_the_person(make_client: Callable[..., Client]) -> None:
    page = text_of(make_client(time_zone="Asia/Tokyo").get("/"))
    assert "Days are those of Asia/Tokyo" in page or "Nothing is stored yet" in page


def test_an_empty_store_says_how_to_get_data_in(client: Client) -> None:
    page = text_of(client.get("/"))
    assert "memory_demo" in page
    assert '<svg class="plot"' not in page


def test_the_page_takes_the_same_queries_for_any_number_of_rows(
    client: Client, memory: str, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(16):
        client.get("/")


def test_a_large_store_keeps_its_figures_for_a_minute_and_apart_for_each_scope(
    client: Client, limited: Client, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.clear()
    monkeypatch.setattr("oracleagentmemory.inspection.results.COUNT_LIMIT", 1)
    add_memory("Bob likes tea", user_id="bob")
    assert client.get("/").context["memory_chart"].total == 2
    assert limited.get("/").context["memory_chart"].total == 1
    add_memory("Ada likes tea")
    response = client.get("/")
    assert response.context["memory_chart"].total == 2
    assert "at most a minute old" in text_of(response)
    cache.clear()
    assert client.get("/").context["memory_chart"].total == 3
