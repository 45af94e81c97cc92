"""Threads and their messages in the browser."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from memoryapp.models import AuditEntry, Revision
from memoryapp.services import memories, messages, threads
from oracleagentmemory.errors import NotFoundError
from tests.app.pages.conftest import OPERATOR, add_memory, add_thread, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


def ids_of(client: Client, **query: Any) -> list[str]:
    return [row.record.id for row in client.get("/threads/", query).context["page"].rows]


def test_the_list_shows_how_each_thread_starts_and_what_is_in_it(
    client: Client, thread: str
) -> None:
    add_memory("x", thread_id=thread, agent_id="travel")
    page = text_of(client.get("/threads/"))
    assert "I fly to Lisbon" in page
    assert "Window or aisle?" not in page
    digest = client.get("/threads/").context["page"].digests[thread]
    assert (digest.message_count, digest.memory_count) == (2, 1)


def test_the_filters(client: Client) -> None:
    add_thread("t-1", [], metadata={"topic": "food"})
    add_thread("t-2", [], user_id="bob")
    assert ids_of(client) == ["t-2", "t-1"]
    assert ids_of(client, user="bob") == ["t-2"]
    assert ids_of(client, agent="travel", user="ada") == ["t-1"]
    assert ids_of(client, agent="other") == []
    assert ids_of(client, metadata='{"topic": "food"}') == ["t-1"]
    assert ids_of(client, until="2001-01-01") == []
    assert ids_of(client, since="nonsense", before="nonsense") == ["t-2", "t-1"]
    for wrong in ({"metadata": "{"}, {"user": "x" * 129}, {"agent": "a\x00"}):
        assert client.get("/threads/", wrong).status_code == 422


def test_pages_of_threads_walk_down(client: Client) -> None:
    for n in range(60):
        add_thread(f"t-{n}", [])
    page = client.get("/threads/").context["page"]
    assert [row.record.id for row in page.rows] == [f"t-{n}" for n in range(59, 9, -1)]
    rest = client.get("/threads/", {"before": page.older}).context["page"]
    assert [row.record.id for row in rest.rows] == [f"t-{n}" for n in range(9, -1, -1)]


def test_a_limited_person_sees_their_users_threads_only(limited: Client, thread: str) -> None:
    add_thread("t-2", ["secret plan"], user_id="bob")
    assert ids_of(limited) == ["t-1"]
    assert limited.get("/threads/t-2/").status_code == 404


def test_a_thread_reads_from_old_to_new(client: Client, thread: str) -> None:
    page = text_of(client.get("/threads/t-1/"))
    assert page.index("I fly to Lisbon") < page.index("Window or aisle?")


def test_a_long_thread_opens_at_its_end_and_loads_earlier_messages(client: Client) -> None:
    add_thread("t-1", [f"message {n:03}" for n in range(120)])
    response = client.get("/threads/t-1/")
    texts = [messages.text_of(row.record) for row in response.context["rows"]]
    assert texts == [f"message {n:03}" for n in range(70, 120)]
    older = response.context["page"].older
    assert f'href="?before={older}"' in text_of(response)
    earlier = client.get("/threads/t-1/", {"before": older}).context["rows"]
    assert messages.text_of(earlier[-1].record) == "message 069"


def test_a_message_has_an_address_that_opens_its_place(client: Client) -> None:
    add_thread("t-1", [f"message {n:03}" for n in range(120)])
    response = client.get("/threads/t-1/messages/m-11/")
    url, anchor = response.url.split("#")
    texts = [messages.text_of(row.record) for row in client.get(url).context["rows"]]
    assert "message 010" in texts
    assert f'id="{anchor}"' in text_of(client.get(url))


def test_creating_a_thread(client: Client) -> None:
    sent = {"user_id": "ada", "thread_id": "t-9", "metadata": '{"a": 1}', "reason": "by hand"}
    assert client.post("/threads/new/", sent).url == "/threads/t-9/"
    record = threads.get(OPERATOR, "t-9").record
    assert (record.user_id, record.metadata) == ("ada", {"a": 1})
    assert record.agent_id
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.noun, entry.reason) == ("add", "thread", "by hand")


@pytest.mark.parametrize(
    "wrong",
    [
        {"user_id": ""},
        {"user_id": "空" * 43},
        {"user_id": "ada", "thread_id": "t-1"},
        {"user_id": "ada", "metadata": "no"},
        {"user_id": "a\x00"},
    ],
)
def test_a_wrong_new_thread_is_said(client: Client, thread: str, wrong: dict[str, str]) -> None:
    with nothing_changes():
        assert client.post("/threads/new/", wrong).status_code == 422


def test_metadata_of_a_thread_changes_with_a_revision(client: Client, thread: str) -> None:
    state = threads.get(OPERATOR, thread).fingerprint
    sent = {"metadata": '{"topic": "travel"}', "fingerprint": state}
    assert client.post("/threads/t-1/edit/", sent).url == "/threads/t-1/"
    assert threads.get(OPERATOR, thread).record.metadata == {"topic": "travel"}
    assert Revision.objects.get().after["metadata"] == {"topic": "travel"}
    with nothing_changes():
        assert client.post("/threads/t-1/edit/", sent).status_code == 409


def test_deleting_a_thread_takes_its_messages_and_memories(client: Client, thread: str) -> None:
    inside = add_memory("x", thread_id=thread, agent_id="travel")
    assert "2 messages and 1 memory" in text_of(client.get("/threads/t-1/delete/"))
    assert client.post("/threads/t-1/delete/").url == "/threads/"
    for gone in (
        lambda: threads.get(OPERATOR, thread),
        lambda: messages.get(OPERATOR, thread, "m-1"),
        lambda: memories.get(OPERATOR, inside),
    ):
        with pytest.raises(NotFoundError):
            gone()
    entry = AuditEntry.objects.latest("id")
    assert entry.detail == {"messages": 2, "memories": 1, "images": 0}


def test_a_message_is_appended(client: Client, thread: str) -> None:
    sent = {"role": "user", "content": "Window,\r\nplease"}
    assert client.post("/threads/t-1/messages/", sent).status_code == 302
    rows = messages.list_page(OPERATOR, thread).rows
    assert messages.text_of(rows[0].record) == "Window,\nplease"
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.noun, entry.record_id) == ("add", "message", rows[0].record.id)


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "user", "content": ""},
        {"role": "", "content": "x"},
        {"role": "空" * 11, "content": "x"},
        {"role": "user", "content": "\x00"},
        {"content": "x"},
    ],
)
def test_a_wrong_message_is_said(client: Client, thread: str, wrong: dict[str, str]) -> None:
    with nothing_changes():
        response = client.post("/threads/t-1/messages/", wrong)
    assert response.status_code == 422
    assert "I fly to Lisbon" in text_of(response)


def test_a_message_is_edited_with_a_revision(client: Client, thread: str) -> None:
    state = messages.get(OPERATOR, thread, "m-1").fingerprint
    sent = {"content": "I fly to Porto", "metadata": "", "fingerprint": state}
    assert client.post("/threads/t-1/messages/m-1/edit/", sent).url == "/threads/t-1/"
    record = messages.get(OPERATOR, thread, "m-1").record
    assert messages.text_of(record) == "I fly to Porto"
    assert record.role == "user"
    assert Revision.objects.get().kind == "message"
    with nothing_changes():
        assert client.post("/threads/t-1/messages/m-1/edit/", sent).status_code == 409


def test_a_message_is_deleted_and_the_others_stay(client: Client, thread: str) -> None:
    assert client.post("/threads/t-1/messages/m-1/delete/").url == "/threads/t-1/"
    assert [row.record.id for row in messages.list_page(OPERATOR, thread).rows] == ["m-2"]


def test_a_message_belongs_to_its_own_thread_only(client: Client, thread: str) -> None:
    add_thread("t-2", [])
    for what in ("", "edit/", "delete/"):
        assert client.get(f"/threads/t-2/messages/m-1/{what}").status_code == 404


ACTIONS = [
    ("/threads/new/", {"user_id": "bob"}),
    ("/threads/t-2/edit/", {"metadata": "{}", "fingerprint": "x"}),
    ("/threads/t-2/delete/", {}),
    ("/threads/t-2/messages/", {"role": "user", "content": "x"}),
    ("/threads/t-2/messages/t-2-1/edit/", {"content": "x", "fingerprint": "x"}),
    ("/threads/t-2/messages/t-2-1/delete/", {}),
]


@pytest.mark.parametrize(("url", "sent"), ACTIONS)
class TestWhoMay:
    @pytest.fixture(autouse=True)
    def _thread(self, db: None) -> None:
        add_thread("t-2", ["Bob speaks"], user_id="bob")

    def test_a_stranger_is_sent_to_sign_in(
        self, anonymous: Client, url: str, sent: dict[str, str]
    ) -> None:
        with nothing_changes():
            assert anonymous.post(url, sent).url.startswith("/login/")

    def test_a_reader_may_not(self, reader: Client, url: str, sent: dict[str, str]) -> None:
        with nothing_changes():
            assert reader.post(url, sent).status_code == 403

    def test_another_users_thread_does_not_exist(
        self, limited: Client, url: str, sent: dict[str, str]
    ) -> None:
        with nothing_changes():
            response = limited.post(url, sent)
        assert response.status_code == (403 if url == "/threads/new/" else 404)


def test_a_reader_sees_no_buttons(reader: Client, thread: str) -> None:
    page = text_of(reader.get("/threads/t-1/"))
    for word in ("/edit/", "/delete/", "Add message", "/memories/new/"):
        assert word not in page


def test_the_page_takes_as_many_queries_for_fifty_messages_as_for_two(
    client: Client, thread: str, django_assert_max_num_queries: Any
) -> None:
    add_thread("t-2", [f"message {n}" for n in range(60)])
    for thread_id in ("t-1", "t-2"):
        with django_assert_max_num_queries(9):
            client.get(f"/threads/{thread_id}/")
    with django_assert_max_num_queries(8):
        client.get("/threads/")
