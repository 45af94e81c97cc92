"""A form that is sent twice, as an impatient person without JavaScript does, stores one record."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from memoryapp.services import memories, messages, threads
from memoryapp.services.memories import MemoryFilters
from memoryapp.services.threads import ThreadFilters
from tests.app.pages.conftest import OPERATOR, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


def sizes() -> tuple[int, int, int]:
    """How many memories, threads and messages of thread ``t-1`` there are."""
    return (
        memories.list_page(OPERATOR, MemoryFilters()).count.value,
        threads.list_page(OPERATOR, ThreadFilters()).count.value,
        messages.count(OPERATOR, "t-1").value,
    )


@pytest.mark.parametrize(
    ("shown_on", "sent_to", "fields", "added"),
    [
        ("/memories/new/", "/memories/new/", {"content": "x", "memory_type": "fact"}, (1, 0, 0)),
        ("/threads/new/", "/threads/new/", {"user_id": "ada"}, (0, 1, 0)),
        ("/threads/t-1/", "/threads/t-1/messages/", {"role": "user", "content": "x"}, (0, 0, 1)),
    ],
)
def test_a_form_that_is_sent_twice_stores_one_record(
    client: Client,
    thread: str,
    shown_on: str,
    sent_to: str,
    fields: dict[str, str],
    added: tuple[int, int, int],
) -> None:
    def once(page: str) -> str:
        found = re.search(r'name="once" value="([0-9a-f-]{36})"', page)
        assert found is not None
        return found[1]

    before = sizes()
    sent = fields | {"once": once(text_of(client.get(shown_on)))}
    assert client.post(sent_to, sent).status_code == 302
    with nothing_changes():
        again = client.post(sent_to, sent)
    assert again.status_code == 422
    assert "This form was sent before and is stored." in text_of(again)
    assert tuple(now - then for now, then in zip(sizes(), before, strict=True)) == added
    fresh = once(text_of(again))
    assert client.post(sent_to, fields | {"once": fresh}).status_code == 302


def test_an_id_that_is_taken_is_named(client: Client, memory: str) -> None:
    sent = {"content": "x", "memory_type": "fact", "memory_id": memory}
    answer = client.post("/memories/new/", sent)
    assert answer.status_code == 422
    assert "exists already" in text_of(answer)
