"""Editing a memory in the browser."""

from __future__ import annotations

import pytest
from django.test import Client

from memoryapp.models import Revision
from memoryapp.services import memories
from tests.app.pages.conftest import OPERATOR, add_memory, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db
URL = "/memories/mem-1/edit/"


def state() -> str:
    return memories.get(OPERATOR, "mem-1").fingerprint


def test_text_metadata_and_time_change_with_a_revision(client: Client, memory: str) -> None:
    sent = {
        "content": "Ada likes the aisle",
        "metadata": '{"a": [1, null]}',
        "timestamp": "2026-03-14T09:30:00Z",
        "fingerprint": state(),
        "reason": "asked again",
    }
    response = client.post(URL, sent)
    assert response.url == "/memories/mem-1/"
    record = memories.get(OPERATOR, "mem-1").record
    assert record.content == "Ada likes the aisle"
    assert record.metadata == {"a": [1, None]}
    assert record.timestamp == "2026-03-14T09:30:00Z"
    revision = Revision.objects.get()
    assert revision.before["content"] == "Ada likes the window seat"
    assert revision.after["content"] == "Ada likes the aisle"
    assert revision.audit_entry.reason == "asked again"
    assert revision.audit_entry.detail["fields"] == ["content", "timestamp", "metadata"]


def test_the_form_starts_with_what_is_stored(client: Client) -> None:
    add_memory("x", memory_id="mem-1", metadata={"b": "é"}, timestamp="yesterday")
    page = text_of(client.get(URL))
    assert "&quot;b&quot;: &quot;é&quot;" in page
    assert 'value="yesterday"' in page


def test_a_time_in_other_words_may_stay_but_not_come(client: Client) -> None:
    add_memory("x", memory_id="mem-1", timestamp="yesterday")
    sent = {"content": "y", "fingerprint": state()}
    with nothing_changes():
        assert client.post(URL, {**sent, "timestamp": "tomorrow"}).status_code == 422
    assert client.post(URL, {**sent, "timestamp": "yesterday"}).status_code == 302
    assert memories.get(OPERATOR, "mem-1").record.timestamp == "yesterday"


def test_a_time_that_nobody_gave_stays_out_of_the_form(client: Client, memory: str) -> None:
    page = text_of(client.get(URL))
    assert 'name="timestamp" maxlength="64"' in page


def test_after_saving_the_person_is_where_they_came_from(client: Client, memory: str) -> None:
    sent = {"content": "y", "fingerprint": state(), "next": "/memories/?m=mem-1&user=ada"}
    assert client.post(URL, sent).url == "/memories/?m=mem-1&user=ada"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:x"])
def test_a_foreign_way_back_is_not_taken(client: Client, memory: str, target: str) -> None:
    sent = {"content": "y", "fingerprint": state(), "next": target}
    assert client.post(URL, sent).url == "/memories/mem-1/"


def test_a_conflict_shows_both_and_the_second_save_overwrites(client: Client, memory: str) -> None:
    stale = state()
    memories.update(OPERATOR, "mem-1", content="theirs")
    with nothing_changes():
        response = client.post(URL, {"content": "mine", "fingerprint": stale})
    assert response.status_code == 409
    page = text_of(response)
    assert "theirs" in page
    assert "mine" in page
    fresh = response.context["form"]["fingerprint"].value()
    assert client.post(URL, {"content": "mine", "fingerprint": fresh}).status_code == 302
    assert memories.get(OPERATOR, "mem-1").record.content == "mine"


def test_a_form_without_the_state_it_started_from_is_refused(client: Client, memory: str) -> None:
    with nothing_changes():
        assert client.post(URL, {"content": "mine"}).status_code == 422


def test_a_blank_text_is_refused(client: Client, memory: str) -> None:
    with nothing_changes():
        assert client.post(URL, {"content": " ", "fingerprint": state()}).status_code == 422


def test_a_stranger_is_sent_to_sign_in(anonymous: Client, memory: str) -> None:
    with nothing_changes():
        assert anonymous.post(URL, {"content": "y"}).url.startswith("/login/")


def test_a_reader_may_not_and_sees_no_button(reader: Client, memory: str) -> None:
    with nothing_changes():
        assert reader.post(URL, {"content": "y", "fingerprint": state()}).status_code == 403
    assert URL not in text_of(reader.get("/memories/mem-1/"))


def test_another_users_memory_does_not_exist(limited: Client, foreign: str) -> None:
    with nothing_changes():
        response = limited.post(f"/memories/{foreign}/edit/", {"content": "y"})
    assert response.status_code == 404
