"""The search page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

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
