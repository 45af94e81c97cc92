"""Adding a memory in the browser."""

from __future__ import annotations

import pytest
from django.test import Client

from memoryapp.models import AuditEntry, Revision
from memoryapp.services import memories
from tests.app.pages.conftest import OPERATOR, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db
URL = "/memories/new/"
GIVEN = {"content": "Ada prefers trains", "memory_type": "preference", "user_id": "ada"}


def test_it_is_stored_and_shown_and_logged(client: Client) -> None:
    response = client.post(URL, {**GIVEN, "memory_id": "mem-1", "reason": "she said so"})
    assert response.status_code == 302
    row = memories.get(OPERATOR, "mem-1")
    assert (row.record.content, row.record.record_type) == ("Ada prefers trains", "preference")
    assert "Ada prefers trains" in text_of(client.get(response.url))
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.noun, entry.record_id) == ("add", "memory", "mem-1")
    assert (entry.actor, entry.user_id, entry.reason) == ("person:reviewer0", "ada", "she said so")
    assert not Revision.objects.exists()


def test_text_area_line_ends_are_stored_as_plain_ones(client: Client) -> None:
    client.post(URL, {**GIVEN, "content": "one\r\ntwo\n three ", "memory_id": "mem-1"})
    assert memories.get(OPERATOR, "mem-1").record.content == "one\ntwo\n three "


def test_the_address_can_fill_the_form_in(client: Client) -> None:
    page = text_of(client.get(URL, {"user_id": "a/b", "thread_id": "t"}))
    assert 'value="a/b"' in page


def test_a_stranger_is_sent_to_sign_in(anonymous: Client) -> None:
    with nothing_changes():
        response = anonymous.post(URL, GIVEN)
    assert response.url == "/login/?next=/memories/new/"


def test_a_reader_may_not(reader: Client) -> None:
    with nothing_changes():
        assert reader.post(URL, GIVEN).status_code == 403
        assert reader.get(URL).status_code == 403


def test_another_users_scope_is_refused(limited: Client) -> None:
    with nothing_changes():
        response = limited.post(URL, {**GIVEN, "user_id": "bob"})
    assert response.status_code == 403


def test_no_scope_at_all_is_refused_for_a_limited_person(limited: Client) -> None:
    with nothing_changes():
        assert limited.post(URL, {**GIVEN, "user_id": ""}).status_code == 403


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"content": ""}, "required"),
        ({"content": " \r\n\t "}, "required"),
        ({"content": "a\x00b"}, "Null characters"),
        ({"memory_type": "episode"}, "not one of the available choices"),
        ({"user_id": "空" * 43}, "at most 128 bytes"),
        ({"memory_id": "x" * 129}, "at most 128 bytes"),
        ({"metadata": "{"}, "This is not JSON"),
        ({"metadata": "[1]"}, "JSON object"),
        ({"metadata": '{"a": NaN}'}, "NaN"),
        ({"metadata": '{"a": "\\ud83d"}'}, "surrogate"),
        ({"metadata": '{"a": "\\u0000"}'}, "NUL"),
        ({"metadata": "[" * 100_000}, "This is not JSON"),
        ({"timestamp": "x" * 65}, "at most 64 characters"),
        ({"timestamp": "空" * 22}, "64"),
        ({"timestamp": "2026-13-01"}, "no ISO 8601 time"),
        ({"thread_id": "nowhere"}, "not found"),
    ],
)
def test_bad_input_is_said_and_changes_nothing(
    client: Client, wrong: dict[str, str], said: str
) -> None:
    with nothing_changes():
        response = client.post(URL, {**GIVEN, **wrong})
    assert response.status_code == 422
    page = text_of(response)
    assert said in page
    if "content" not in wrong:
        assert "Ada prefers trains" in page


def test_a_taken_id_is_said(client: Client, memory: str) -> None:
    with nothing_changes():
        response = client.post(URL, {**GIVEN, "memory_id": memory})
    assert response.status_code == 422
    assert memory in text_of(response)
