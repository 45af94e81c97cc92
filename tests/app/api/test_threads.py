"""``/api/v1/threads``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memoryapp.models import AuditEntry, Revision
from tests.app.api.conftest import Api
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


def test_thread_comes_back_as_created(api: Api) -> None:
    given = {"id": "t-1", "user_id": "ada", "agent_id": "travel", "metadata": {"k": [1, None]}}
    created = api.post("/threads", given)
    assert created.status_code == 201
    assert created.json() == api.get("/threads/t-1").json()
    assert {name: created.json()[name] for name in given} == given
    assert created["ETag"] == f'"{created.json()["fingerprint"]}"'


def test_left_out_id_is_made(api: Api) -> None:
    created = api.post("/threads", {"user_id": "ada"}).json()
    assert api.get(f"/threads/{created['id']}").status_code == 200


def test_list_is_newest_first_and_pages_in_both_directions(api: Api) -> None:
    for number in range(5):
        api.post("/threads", {"id": f"t-{number}", "user_id": "ada"})
    first = api.get("/threads", {"limit": 2}).json()
    second = api.get("/threads", {"limit": 2, "cursor": first["next"]}).json()
    third = api.get("/threads", {"limit": 2, "cursor": second["next"]}).json()
    ids = [thread["id"] for page in (first, second, third) for thread in page["threads"]]
    assert ids == ["t-4", "t-3", "t-2", "t-1", "t-0"]
    assert first["count"] == {"value": 5, "capped": False}
    assert first["previous"] is None
    assert third["next"] is None
    back = api.get("/threads", {"limit": 2, "cursor": third["previous"]}).json()
    assert back["threads"] == second["threads"]


def test_cursors_need_no_quoting_in_a_url(api: Api) -> None:
    for name in ("a b+c&d", "空/x", "z"):
        api.post("/threads", {"id": name, "user_id": "ada"})
    seen, cursor = [], ""
    while cursor is not None:
        page = api.get(f"/threads?limit=1{cursor and '&cursor='}{cursor}").json()
        seen += [thread["id"] for thread in page["threads"]]
        cursor = page["next"]
    assert seen == ["z", "空/x", "a b+c&d"]


def test_list_filters_by_user_agent_and_metadata(api: Api) -> None:
    api.post("/threads", {"id": "a", "user_id": "ada", "agent_id": "x", "metadata": {"n": 1}})
    api.post("/threads", {"id": "b", "user_id": "bob", "agent_id": "y", "metadata": {"n": 2}})

    def ids(**query: str) -> list[str]:
        return [thread["id"] for thread in api.get("/threads", query).json()["threads"]]

    assert ids(user_id="ada") == ["a"]
    assert ids(agent_id="y") == ["b"]
    assert ids(metadata='{"n": 2}') == ["b"]
    assert ids(since="2000-01-01T00:00:00Z") == ["b", "a"]
    assert ids(until="2000-01-01") == []


def test_metadata_is_replaced_with_a_revision(api: Api, thread: str) -> None:
    changed = api.patch(thread, {"metadata": {"city": "Lisbon"}, "reason": "tidy"})
    assert changed.status_code == 200
    assert changed.json()["metadata"] == {"city": "Lisbon"}
    entry = AuditEntry.objects.get(noun="thread", action="update")
    assert (entry.record_id, entry.reason) == ("t-1", "tidy")
    assert entry.actor.startswith("key:mk_")
    assert Revision.objects.get(audit_entry=entry).after["metadata"] == {"city": "Lisbon"}


def test_stale_if_match_is_412_and_changes_nothing(api: Api, thread: str) -> None:
    stale = api.get(thread)["ETag"]
    fresh = api.patch(thread, {"metadata": {"n": 1}}, headers={"If-Match": stale})
    assert fresh.status_code == 200
    assert fresh["ETag"] != stale
    with nothing_changes():
        assert api.patch(thread, {"metadata": {}}, headers={"If-Match": stale}).status_code == 412
        assert api.delete(thread, headers={"If-Match": stale}).status_code == 412
        assert api.delete(thread, headers={"If-Match": "fresh"}).status_code == 422
    assert api.delete(thread, headers={"If-Match": fresh["ETag"]}).status_code == 204


def test_deleted_thread_is_gone_with_its_messages(api: Api, thread: str) -> None:
    assert api.delete(thread, query={"reason": "asked for"}).status_code == 204
    assert api.get(thread).status_code == 404
    assert api.get(f"{thread}/messages").status_code == 404
    assert api.post("/search", {"query": "Lisbon", "user_id": "ada"}).json()["results"] == []
    assert api.delete(thread).status_code == 404
    assert AuditEntry.objects.get(noun="thread", action="delete").reason == "asked for"


def test_taken_id_is_409(api: Api, thread: str) -> None:
    with nothing_changes():
        assert api.post("/threads", {"id": "t-1", "user_id": "bob"}).status_code == 409


def test_thread_of_another_user_does_not_exist(make_api: Callable[..., Api], thread: str) -> None:
    stranger = make_api(user_ids=["bob"])
    with nothing_changes():
        assert stranger.get(thread).status_code == 404
        assert stranger.patch(thread, {"metadata": {}}).status_code == 404
        assert stranger.delete(thread).status_code == 404
        assert stranger.get("/threads").json()["threads"] == []
        assert stranger.get("/threads", {"user_id": "ada"}).json()["count"]["value"] == 0
