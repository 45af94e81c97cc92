"""Ids of any characters work in every path."""

from __future__ import annotations

import pytest

from tests.app.api.conftest import Api, path_id

pytestmark = pytest.mark.django_db

IDS = [
    "a/b", "a%2Fb", 'a"b', "a b", "..", ".", "search", "new", "~x", "空", "é" * 64, "-x", "a?b",
    "a#b", "~", "a;b", "abc\n", "messages", "<img src=x onerror=alert(1)>", "mem-1", "x" * 128,
]  # fmt: skip


@pytest.mark.parametrize("record_id", IDS)
def test_thread_message_and_memory_of_any_id_are_made_read_changed_and_deleted(
    api: Api, record_id: str
) -> None:
    path = path_id(record_id)
    scope = {"user_id": record_id, "agent_id": record_id}
    created = api.post("/threads", {"id": record_id, **scope})
    assert created.json()["id"] == record_id
    message = {"role": "user", "content": "hello", "id": record_id}
    added = api.post(f"/threads/{path}/messages", {"messages": [message]})
    assert added.json()["message_ids"] == [record_id]
    given = {"id": record_id, "content": "hello", "thread_id": record_id, **scope}
    assert api.post("/memories", given).json()["id"] == record_id

    for found in (f"/threads/{path}", f"/threads/{path}/messages/{path}", f"/memories/{path}"):
        read = api.get(found)
        assert (read.status_code, read.json()["id"]) == (200, record_id)
        assert read.json()["user_id"] == record_id
        assert api.patch(found, {"metadata": {"id": record_id}}).status_code == 200
    listed = api.get("/memories", {"user_id": record_id, "thread_id": record_id}).json()
    assert [memory["id"] for memory in listed["memories"]] == [record_id]
    hits = api.get("/search", {"q": "hello", "user_id": record_id}).json()["results"]
    assert len(hits) == 2

    assert api.delete(f"/threads/{path}/messages/{path}").status_code == 204
    assert api.delete(f"/memories/{path}").status_code == 204
    assert api.delete(f"/threads/{path}").status_code == 204
    assert api.get(f"/threads/{path}").status_code == 404


@pytest.mark.parametrize("record_id", ["mem-1", "a.b_c:d@e", "_x", "123"])
def test_simple_ids_travel_plain(api: Api, record_id: str) -> None:
    api.post("/memories", {"id": record_id, "content": "x", "user_id": "ada"})
    assert api.get(f"/memories/{record_id}").json()["id"] == record_id
    assert api.get(f"/memories/{path_id(record_id)}").json()["id"] == record_id


@pytest.mark.parametrize(
    "path", ["a%2Fb", "%E7%A9%BA", "~", "~YS9", "~YS9i=", "~YS9j*", "~_w", "-x", "~" + "A" * 200]
)
def test_wrongly_written_id_is_404_and_the_answer_explains_the_form(api: Api, path: str) -> None:
    answer = api.get(f"/memories/{path}")
    assert answer.status_code == 404
    assert "~" in answer.json()["detail"]
