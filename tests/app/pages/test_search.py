"""The search page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from memoryapp.memory import store
from memoryapp.services import memories
from tests.app.pages.conftest import OPERATOR, add_memory, add_thread, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


@pytest.fixture
def several(db: None) -> None:
    """Memories of two users and a thread with a message on the same subject."""
    add_thread("t-1", ["Which seat do you want on the plane?"])
    add_memory("Ada likes the window seat on a plane", memory_id="mem-1")
    add_memory("Ada cooks soup on Sundays", memory_id="mem-2", memory_type="fact")
    add_memory("Bob likes the aisle seat on a plane", memory_id="mem-3", user_id="bob")


def hits(client: Client, **query: Any) -> list[str]:
    response = client.get("/search/", {"q": "seat on the plane", **query})
    assert response.status_code == 200, response.content
    return [hit.record.id for hit in response.context["found"]]


def test_nearest_come_first_with_rank_distance_and_time(client: Client, several: None) -> None:
    response = client.get("/search/", {"q": "a window seat on a plane", "user": "ada"})
    found = response.context["found"]
    assert found[0].record.id == "mem-1"
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    assert [hit.distance for hit in found] == sorted(hit.distance for hit in found)
    page = text_of(response)
    assert f"distance {found[0].distance:.4f}" in page
    assert " ms</p>" in page


def test_scope_types_and_number(client: Client, several: None) -> None:
    assert set(hits(client)) >= {"mem-1", "mem-3"}
    assert set(hits(client, user="ada")) == {"mem-1", "mem-2", "m-1"}
    assert hits(client, user="bob") == ["mem-3"]
    assert hits(client, user="ada", types="fact") == ["mem-2"]
    assert set(hits(client, user="ada", types=["fact", "message"])) == {"mem-2", "m-1"}
    assert hits(client, user="ada", thread="t-1") == ["m-1"]
    assert len(hits(client, k=1)) == 1
    assert hits(client, user="nobody") == []


def test_an_invalid_memory_is_found_only_when_asked_for(client: Client, several: None) -> None:
    memories.set_status(OPERATOR, "mem-1", "invalid")
    assert "mem-1" not in hits(client, user="ada")
    assert "mem-1" in hits(client, user="ada", invalid="on")


def test_hits_lead_to_their_records(client: Client, several: None) -> None:
    page = text_of(client.get("/search/", {"q": "seat", "user": "ada"}))
    assert 'href="/memories/mem-1/"' in page
    assert 'href="/threads/t-1/messages/m-1/"' in page


@pytest.mark.parametrize(
    "wrong",
    [
        {"q": ""},
        {"q": "   "},
        {"q": "a\x00b"},
        {"q": "x" * 10_001},
        {"q": "x", "k": "0"},
        {"q": "x", "k": "101"},
        {"q": "x", "k": "many"},
        {"q": "x", "types": "episode"},
        {"q": "x", "by": "magic"},
        {"q": "x", "user": "空" * 43},
    ],
)
def test_bad_input_is_said(client: Client, several: None, wrong: dict[str, str]) -> None:
    with nothing_changes():
        response = client.get("/search/", wrong)
    assert response.status_code == 422
    assert 'class="errors"' in text_of(response)


def test_a_limited_person_searches_their_users_only(limited: Client, several: None) -> None:
    assert set(hits(limited, user="ada")) == {"mem-1", "mem-2", "m-1"}
    assert set(hits(limited)) == {"mem-1", "mem-2", "m-1"}
    response = limited.get("/search/", {"q": "seat", "user": "bob"})
    assert response.status_code == 422
    assert "aisle" not in text_of(response)
    assert 'value="ada"' in text_of(limited.get("/search/"))


def test_a_person_of_several_users_names_one_of_them(
    make_client: Callable[..., Client], several: None
) -> None:
    client = make_client(user_ids=["ada", "bob"])
    response = client.get("/search/", {"q": "seat"})
    assert response.status_code == 422
    assert "Name one of the users" in text_of(response)
    assert hits(client, user="bob") == ["mem-3"]


def stages_of(client: Client, **query: Any) -> tuple[list[str], dict[str, dict[str, int]]]:
    """The stages, and the rank of each hit in each of them."""
    context = client.get("/search/", {"q": "plane seat", "user": "ada", **query}).context
    ranks = {
        hit.record.id: {name: standing.rank for name, standing in hit.standings.items()}
        for hit in context["found"]
    }
    return list(context["stages"]), ranks


def test_each_strategy_shows_its_stages_with_rank_and_score(client: Client, several: None) -> None:
    stages, ranks = stages_of(client, by="vector")
    assert stages == ["vector"]
    assert [one["vector"] for one in ranks.values()] == [1, 2, 3]
    stages, ranks = stages_of(client, by="keyword")
    assert stages[0] == "keyword"
    assert set(ranks) == {"mem-1", "m-1"}  # soup has none of the words
    stages, ranks = stages_of(client, by="hybrid")
    assert stages[0] == "vector"
    assert stages[-1] == "fusion"
    assert [one["fusion"] for one in ranks.values()] == list(range(1, len(ranks) + 1))
    assert "keyword" not in ranks["mem-2"]


def test_stages_can_be_read_without_a_script(client: Client, several: None) -> None:
    query = {"q": "plane seat", "user": "ada", "by": "hybrid"}
    response = client.get("/search/", query)
    page = text_of(response)
    first = response.context["found"][0]
    for stage, name in (("vector", "Meaning"), ("keyword", "Words"), ("fusion", "Together")):
        standing = first.standings[stage]
        row = (
            f'<th scope="row">{name}</th><td class="num">{standing.rank}</td>'
            f'<td class="num">{standing.score:.4f}</td>'
        )
        assert row in page
    assert "not among its candidates" in page
    assert "by meanings and words in" in page


def test_without_a_choice_the_strategy_of_the_settings_is_taken(
    client: Client, several: None
) -> None:
    assert "by meanings and words in" in text_of(client.get("/search/", {"q": "seat"}))
    assert hits(client, by="") == hits(client, by="hybrid")


def test_a_message_without_a_thread_is_shown_without_a_link(client: Client) -> None:
    store().add(["seat on the plane"], "message", record_ids="lone", roles="user", user_ids="ada")
    page = text_of(client.get("/search/", {"q": "seat on the plane"}))
    assert '<span class="txt">seat on the plane</span>' in page
