"""Users and agents in the browser: every id that a record carries."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from memoryapp.models import AuditEntry, Revision
from memoryapp.services import agents, profiles, users
from tests.app.pages.conftest import OPERATOR, add_image, add_memory, add_thread, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


@pytest.fixture
def several(db: None) -> None:
    """Two users and two agents, one user and one agent with a profile."""
    add_thread("t-1", ["hello", "hi"])
    add_memory("Ada likes the window seat")
    add_memory("Bob likes the aisle", user_id="bob", agent_id="concierge")
    users.add_profile(OPERATOR, "ada", "Flies often")
    agents.add_profile(OPERATOR, "travel", "Books trips")


def actors(client: Client, noun: str) -> dict[str, tuple[int, int, int]]:
    page = client.get(f"/{noun}s/").context["page"]
    return {a.id: (a.threads, a.messages, a.memories) for a in page.actors}


def test_lists_count_what_each_id_carries(client: Client, several: None) -> None:
    assert actors(client, "user") == {"ada": (1, 2, 1), "bob": (0, 0, 1)}
    assert actors(client, "agent") == {"concierge": (0, 0, 1), "travel": (1, 2, 0)}


def test_a_limited_person_finds_nothing_of_others(limited: Client, several: None) -> None:
    assert actors(limited, "user") == {"ada": (1, 2, 1)}
    assert actors(limited, "agent") == {"travel": (1, 2, 0)}
    assert limited.get("/users/bob/").status_code == 404
    assert limited.get("/agents/concierge/").status_code == 404
    for url in ("/users/", "/agents/", "/users/ada/", "/agents/travel/"):
        assert "bob" not in text_of(limited.get(url)).lower()


def test_a_user_page_shows_profile_threads_and_memories(client: Client, several: None) -> None:
    page = text_of(client.get("/users/ada/"))
    for text in ("Flies often", "Ada likes the window seat", "hello"):
        assert text in page
    assert "Bob" not in page
    assert client.get("/users/nobody/").status_code == 404
    assert "Books trips" in text_of(client.get("/agents/travel/"))


def test_a_page_counts_the_images_that_may_be_seen(
    client: Client, limited: Client, several: None
) -> None:
    for number, user_id in enumerate(["ada", "ada", "bob"]):
        add_image(f"i-{number}", user_id=user_id, agent_id="travel")
    counts = []
    for who, path in (
        (client, "/users/ada/"),
        (client, "/agents/travel/"),
        (limited, "/agents/travel/"),
        (client, "/agents/concierge/"),
    ):
        found = re.search(r"<dt>Images</dt><dd>(\d+)(<small>)?", text_of(who.get(path)))
        assert found is not None
        counts.append((int(found[1]), found[2] is not None))
    assert counts == [(2, True), (3, True), (2, True), (0, False)]
    assert 'href="/images/?user=ada"' in text_of(client.get("/users/ada/"))


def test_an_id_leads_to_its_page(client: Client, limited: Client, several: None) -> None:
    assert client.get("/users/", {"id": "bob"}).url == "/users/bob/"
    assert client.get("/agents/", {"id": "travel"}).url == "/agents/travel/"
    for unknown in ("nobody", "x" * 200, "a\x00"):
        page = client.get("/users/", {"id": unknown})
        assert "No record carries this id" in text_of(page)
    assert "No record carries this id" in text_of(limited.get("/users/", {"id": "bob"}))


def test_lists_have_pages(client: Client) -> None:
    for n in range(60):
        add_memory("x", user_id=f"user-{n:02}")
    first = client.get("/users/").context["page"]
    second = client.get("/users/", {"after": first.next}).context["page"]
    listed = [actor.id for page in (first, second) for actor in page.actors]
    assert listed == [f"user-{n:02}" for n in range(60)]
    back = client.get("/users/", {"before": second.previous}).context["page"]
    assert [actor.id for actor in back.actors] == listed[:50]
    assert client.get("/users/", {"after": "zzz"}).status_code == 200


@pytest.mark.parametrize("noun", ["user", "agent"])
class TestProfile:
    def test_a_new_one_is_stored_and_logged(self, client: Client, noun: str) -> None:
        sent = {"record_id": "a/b", "information": "Knows a lot", "metadata": '{"a": 1}'}
        response = client.post(f"/{noun}s/new/", sent)
        assert response.status_code == 302
        assert "Knows a lot" in text_of(client.get(response.url))
        entry = AuditEntry.objects.get()
        assert (entry.action, entry.noun, entry.record_id) == ("add", f"{noun}_profile", "a/b")

    def test_an_edit_leaves_a_revision(self, client: Client, noun: str, several: None) -> None:
        record_id = {"user": "ada", "agent": "travel"}[noun]
        url = f"/{noun}s/{record_id}/profile/"
        state = profiles.fingerprint(noun, record_id)
        sent = {"information": "Changed", "fingerprint": state}
        assert client.post(url, sent).status_code == 302
        assert Revision.objects.get().after["content"] == "Changed"
        with nothing_changes():
            conflict = client.post(url, {**sent, "information": "Mine"})
        assert conflict.status_code == 409
        assert "Changed" in text_of(conflict)
        assert "Mine" in text_of(conflict)

    def test_a_second_one_for_the_same_id_is_refused(
        self, client: Client, noun: str, several: None
    ) -> None:
        record_id = {"user": "ada", "agent": "travel"}[noun]
        with nothing_changes():
            sent = {"record_id": record_id, "information": "x"}
            response = client.post(f"/{noun}s/new/", sent)
        assert response.status_code == 422

    @pytest.mark.parametrize(
        "wrong",
        [
            {"record_id": "", "information": "x"},
            {"record_id": "x" * 129, "information": "x"},
            {"record_id": "x", "information": "  "},
            {"record_id": "x", "information": "x", "metadata": "1"},
            {"record_id": "x", "information": "a\x00"},
        ],
    )
    def test_bad_input_is_said(self, client: Client, noun: str, wrong: dict[str, str]) -> None:
        with nothing_changes():
            assert client.post(f"/{noun}s/new/", wrong).status_code == 422

    def test_a_reader_may_not(self, reader: Client, noun: str, several: None) -> None:
        record_id = {"user": "ada", "agent": "travel"}[noun]
        sent = {"record_id": "x", "information": "x"}
        with nothing_changes():
            assert reader.post(f"/{noun}s/new/", sent).status_code == 403
            assert reader.post(f"/{noun}s/{record_id}/profile/", sent).status_code == 403
        assert "profile/" not in text_of(reader.get(f"/{noun}s/{record_id}/"))


def test_a_limited_person_writes_no_profile_outside_their_users(
    limited: Client, several: None
) -> None:
    sent = {"record_id": "bob", "information": "x"}
    with nothing_changes():
        assert limited.post("/users/new/", sent).status_code == 403
        assert limited.post("/users/bob/profile/", sent).status_code == 404
        assert limited.post("/agents/new/", sent).status_code == 403
        assert limited.post("/agents/travel/profile/", sent).status_code == 403
    assert limited.post("/users/ada/profile/", {"information": "y"}).status_code == 302
