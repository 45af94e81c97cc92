"""``/api/v1/threads/{thread_id}/messages``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memoryapp.models import AuditEntry
from tests.app.api.conftest import Api
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


def test_messages_come_back_newest_first_as_sent(api: Api, thread: str) -> None:
    sent = {
        "role": "tool",
        "content": "21 °C ☀ <b>",
        "timestamp": "2026-03-01T09:30:00+01:00",
        "metadata": {"a": {"b": [True, None, 1.5]}},
    }
    added = api.post(f"{thread}/messages", {"messages": [sent]})
    assert added.status_code == 201
    (new_id,) = added.json()["message_ids"]
    page = api.get(f"{thread}/messages").json()
    assert [message["id"] for message in page["messages"]] == [new_id, "m-2", "m-1"]
    assert page["count"] == {"value": 3, "capped": False}
    first = page["messages"][0]
    assert {name: first[name] for name in sent} == sent
    assert (first["user_id"], first["agent_id"], first["thread_id"]) == ("ada", "travel", "t-1")


def test_pages_walk_the_whole_thread(api: Api, thread: str) -> None:
    more = [{"role": "user", "content": f"text {n}", "id": f"m-{n}"} for n in range(3, 8)]
    api.post(f"{thread}/messages", {"messages": more})
    seen, cursor = [], None
    while True:
        query = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = api.get(f"{thread}/messages", query).json()
        seen += [message["id"] for message in page["messages"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert seen == [f"m-{n}" for n in range(7, 0, -1)]


def test_batch_is_one_operation_with_one_audit_entry(api: Api, thread: str) -> None:
    before = AuditEntry.objects.count()
    batch = [{"role": "user", "content": str(n)} for n in range(20)]
    ids = api.post(f"{thread}/messages", {"messages": batch, "reason": "sync"}).json()[
        "message_ids"
    ]
    assert len(set(ids)) == 20
    entry = AuditEntry.objects.order_by("-id")[0]
    assert AuditEntry.objects.count() == before + 1
    assert (entry.action, entry.noun, entry.reason) == ("add", "message", "sync")


def test_changed_text_is_found_and_the_old_one_is_not(api: Api, thread: str) -> None:
    changed = api.patch(f"{thread}/messages/m-1", {"content": "a ticket to Reykjavik"})
    assert changed.status_code == 200
    assert changed.json()["content"] == "a ticket to Reykjavik"
    assert changed.json()["role"] == "user"
    assert api.get(f"{thread}/messages/m-1").json() == changed.json()
    found = api.post("/search", {"query": "ticket to Reykjavik", "user_id": "ada"}).json()
    assert found["results"][0]["record"]["id"] == "m-1"
    assert found["results"][0]["record"]["content"] == "a ticket to Reykjavik"


def test_stale_if_match_is_412(api: Api, thread: str) -> None:
    path = f"{thread}/messages/m-1"
    stale = {"If-Match": api.get(path)["ETag"]}
    assert api.patch(path, {"metadata": {"n": 1}}, headers=stale).status_code == 200
    with nothing_changes():
        assert api.patch(path, {"content": "x"}, headers=stale).status_code == 412
        assert api.delete(path, headers=stale).status_code == 412


def test_deleted_message_is_gone_from_list_and_search(api: Api, thread: str) -> None:
    assert api.delete(f"{thread}/messages/m-1").status_code == 204
    assert api.get(f"{thread}/messages/m-1").status_code == 404
    assert [m["id"] for m in api.get(f"{thread}/messages").json()["messages"]] == ["m-2"]
    results = api.post("/search", {"query": "Lisbon in May", "user_id": "ada"}).json()["results"]
    assert [hit["record"]["id"] for hit in results] == ["m-2"]


def test_message_is_found_in_its_own_thread_only(api: Api, thread: str) -> None:
    api.post("/threads", {"id": "t-2", "user_id": "ada"})
    with nothing_changes():
        assert api.get("/threads/t-2/messages/m-1").status_code == 404
        assert api.patch("/threads/t-2/messages/m-1", {"content": "x"}).status_code == 404
        assert api.delete("/threads/t-2/messages/m-1").status_code == 404


def test_unknown_thread_is_404(api: Api) -> None:
    message = {"messages": [{"role": "user", "content": "x"}]}
    with nothing_changes():
        assert api.post("/threads/nowhere/messages", message).status_code == 404
        assert api.get("/threads/nowhere/messages").status_code == 404


def test_taken_id_is_409_and_the_whole_batch_is_left_out(api: Api, thread: str) -> None:
    batch = [
        {"role": "user", "content": "new", "id": "m-9"},
        {"role": "user", "content": "old", "id": "m-1"},
    ]
    with nothing_changes():
        assert api.post(f"{thread}/messages", {"messages": batch}).status_code == 409


def test_messages_of_another_user_do_not_exist(make_api: Callable[..., Api], thread: str) -> None:
    stranger = make_api(user_ids=["bob"])
    message = {"messages": [{"role": "user", "content": "x"}]}
    with nothing_changes():
        assert stranger.get(f"{thread}/messages").status_code == 404
        assert stranger.post(f"{thread}/messages", message).status_code == 404
        assert stranger.get(f"{thread}/messages/m-1").status_code == 404
        assert stranger.patch(f"{thread}/messages/m-1", {"content": "x"}).status_code == 404
        assert stranger.delete(f"{thread}/messages/m-1").status_code == 404
