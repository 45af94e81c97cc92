"""``/api/v1/memories``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoryapp.models import AuditEntry, Revision
from tests.app.api.conftest import Api
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


def test_memory_comes_back_as_sent(api: Api, thread: str) -> None:
    given = {
        "id": "mem-1",
        "content": "Ada likes <the> window ☕ 空",
        "memory_type": "preference",
        "user_id": "ada",
        "agent_id": "travel",
        "thread_id": "t-1",
        "timestamp": "2026-03-01T09:30:00Z",
        "metadata": {"k": None, "n": 348, "deep": {"list": [True, 1, 1.5, "x"]}},
    }
    created = api.post("/memories", given)
    assert created.status_code == 201
    assert {name: created.json()[name] for name in given} == given
    assert created.json()["status"] == "valid"
    assert api.get("/memories/mem-1").json() == created.json()


def test_memory_expires_only_when_asked(api: Api) -> None:
    never = api.post("/memories", {"content": "x", "user_id": "ada", "ttl_days": None}).json()
    soon = api.post("/memories", {"content": "x", "user_id": "ada", "ttl_days": 3}).json()
    assert never["expires_at"] is None
    assert soon["expires_at"] is not None


def test_explicit_add_of_equal_text_stores_twice(api: Api) -> None:
    for _ in range(2):
        assert api.post("/memories", {"content": "x", "user_id": "ada"}).status_code == 201
    assert api.get("/memories").json()["count"]["value"] == 2


def test_list_filters_and_hides_invalid_ones(api: Api) -> None:
    for name, memory_type, user in [
        ("a", "fact", "ada"),
        ("b", "memory", "ada"),
        ("c", "fact", "bob"),
    ]:
        body = {"id": name, "content": name, "memory_type": memory_type, "user_id": user}
        api.post("/memories", {**body, "metadata": {"name": name}})
    api.patch("/memories/b", {"status": "invalid"})

    def ids(**query: Any) -> list[str]:
        return [memory["id"] for memory in api.get("/memories", query).json()["memories"]]

    assert ids() == ["c", "a"]
    assert ids(status="invalid") == ["b"]
    assert ids(status="any", user_id="ada") == ["b", "a"]
    assert ids(memory_type=["fact", "memory"], status="any") == ["c", "b", "a"]
    assert ids(memory_type="fact", user_id="bob") == ["c"]
    assert ids(metadata='{"name": "a"}') == ["a"]
    assert ids(metadata='{"name": {"$not": "a"}}') == ["c"]


def test_text_lists_memories_with_all_the_words(api: Api) -> None:
    for name, content in [
        ("seat", "Ada likes the window seat"),
        ("tokyo", "来週は東京へ旅行します"),
        ("cat", "A 🐈 by the window"),
    ]:
        api.post("/memories", {"id": name, "content": content, "user_id": "ada"})

    def ids(text: str, **query: object) -> list[str]:
        answer = api.get("/memories", {"text": text, **query}).json()
        found = [memory["id"] for memory in answer["memories"]]
        assert answer["count"] == {"value": len(found), "capped": False}
        return found

    assert ids("WINDOW") == ["cat", "seat"]
    assert ids("window seat") == ["seat"]
    assert ids("東京") == ["tokyo"]
    assert ids("🐈") == ["cat"]
    assert ids("window", user_id="bob") == []
    assert ids('seat" OR "cat') == []
    for wrong in ("a\x00b", "空" * 167):
        answer = api.get("/memories", {"text": wrong})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "text")


def test_every_page_of_forty_memories_is_reached_once(api: Api) -> None:
    for number in range(41):
        api.post("/memories", {"id": f"m{number}", "content": "x", "user_id": "ada"})
    seen, query = [], {"limit": 20, "user_id": "ada"}
    while True:
        page = api.get("/memories", query).json()
        assert page["count"] == {"value": 41, "capped": False}
        seen += [memory["id"] for memory in page["memories"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert seen == [f"m{number}" for number in range(40, -1, -1)]


def test_patch_changes_what_it_names_and_leaves_a_revision(api: Api, memory: str) -> None:
    before = api.get(memory).json()
    after = api.patch(memory, {"content": "Ada likes the aisle", "reason": "corrected"}).json()
    unchanged = ("metadata", "status", "memory_type", "timestamp", "user_id", "created_at")
    assert {n: after[n] for n in unchanged} == {n: before[n] for n in unchanged}
    assert after["content"] == "Ada likes the aisle"
    assert after["fingerprint"] != before["fingerprint"]
    revision = Revision.objects.get(kind="memory", record_id="mem-1")
    assert revision.before["content"] == "Ada likes the window"
    assert revision.audit_entry.reason == "corrected"


def test_invalid_memory_is_found_only_on_request(api: Api, memory: str) -> None:
    assert api.patch(memory, {"status": "invalid"}).json()["status"] == "invalid"
    query = {"query": "likes the window", "user_id": "ada"}
    assert api.post("/search", query).json()["results"] == []
    found = api.post("/search", {**query, "include_invalid": True}).json()["results"]
    assert [hit["record"]["id"] for hit in found] == ["mem-1"]


def test_stale_if_match_is_412_and_changes_nothing(api: Api, memory: str) -> None:
    stale = {"If-Match": api.get(memory)["ETag"]}
    assert api.patch(memory, {"content": "newer"}, headers=stale).status_code == 200
    with nothing_changes():
        refused = api.patch(memory, {"content": "mine"}, headers=stale)
        assert refused.status_code == 412
        assert refused.json()["code"] == "fingerprint_mismatch"
        assert api.delete(memory, headers=stale).status_code == 412
    assert api.patch(memory, {"content": "mine"}, headers={"If-Match": "*"}).status_code == 200


def test_deleted_memory_is_gone_from_list_and_search(api: Api, memory: str) -> None:
    assert api.delete(memory).status_code == 204
    assert api.get(memory).status_code == 404
    assert api.delete(memory).status_code == 404
    assert api.get("/memories", {"status": "any"}).json()["memories"] == []
    assert api.post("/search", {"query": "the window", "user_id": "ada"}).json()["results"] == []
    assert AuditEntry.objects.filter(noun="memory", action="delete").count() == 1


def test_taken_id_is_409(api: Api, memory: str) -> None:
    with nothing_changes():
        again = api.post("/memories", {"id": "mem-1", "content": "x", "user_id": "bob"})
    assert again.status_code == 409
    assert again.json()["code"] == "duplicate_id"


def test_memory_of_an_unknown_thread_is_404(api: Api) -> None:
    with nothing_changes():
        given = {"content": "x", "user_id": "ada", "thread_id": "nowhere"}
        assert api.post("/memories", given).status_code == 404


def test_memory_of_another_user_does_not_exist(make_api: Callable[..., Api], memory: str) -> None:
    stranger = make_api(user_ids=["bob"])
    with nothing_changes():
        assert stranger.get(memory).status_code == 404
        assert stranger.patch(memory, {"content": "x"}).status_code == 404
        assert stranger.delete(memory).status_code == 404
        assert stranger.get("/memories").json()["memories"] == []
        assert stranger.get("/memories", {"user_id": "ada"}).json()["memories"] == []
        assert stranger.post("/memories", {"content": "x", "user_id": "ada"}).status_code == 403


def test_body_cannot_move_a_memory_to_another_user(api: Api, memory: str) -> None:
    with nothing_changes():
        assert api.patch(memory, {"user_id": "bob"}).status_code == 422
    moved = api.patch(memory, {"metadata": {"user_id": "bob"}}).json()
    assert moved["user_id"] == "ada"
