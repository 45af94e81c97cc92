"""``/api/v1/relations``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoryapp.access import Role
from tests.app.api.conftest import Api
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db

LINK = {"source_record_id": "mem-1", "target_record_id": "mem-2", "relation_type": "supersedes"}


@pytest.fixture(autouse=True)
def memories(api: Api) -> None:
    """Two memories of ada's, one of bob's."""
    for name, user_id, memory_type in [
        ("mem-1", "ada", "fact"),
        ("mem-2", "ada", "preference"),
        ("mem-3", "bob", "fact"),
    ]:
        body = {"id": name, "content": name, "user_id": user_id, "memory_type": memory_type}
        assert api.post("/memories", body).status_code == 201


def status_of(api: Api, memory_id: str) -> str:
    status: str = api.get(f"/memories/{memory_id}").json()["status"]
    return status


def test_a_relation_comes_back_as_sent_and_ends_its_target(api: Api) -> None:
    given = {
        **LINK,
        "id": "r/1",
        "timestamp": "2026-03-01T09:30:00Z",
        "metadata": {"k": None, "deep": [True, 1.5, "空"]},
    }
    created = api.post("/relations", given)
    assert created.status_code == 201
    body = created.json()
    assert {name: body[name] for name in given} == given
    assert body["opposite_relation_type"] == "is_superseded_by"
    assert (body["source_record_type"], body["target_record_type"]) == ("fact", "preference")
    assert (body["source_status"], body["target_status"]) == ("valid", "invalid")
    assert status_of(api, "mem-2") == "invalid"
    read = api.get("/relations/~ci8x")
    assert read.json() == body
    assert read.headers["ETag"] == f'"{body["fingerprint"]}"'
    assert api.delete("/relations/~ci8x").status_code == 204
    assert status_of(api, "mem-2") == "valid"
    assert api.get("/relations/~ci8x").status_code == 404


def test_a_patch_changes_what_it_names(api: Api) -> None:
    body = {**LINK, "relation_type": "likes", "opposite_relation_type": "is liked by"}
    path = "/relations/" + api.post("/relations", {**body, "metadata": {"a": 1}}).json()["id"]
    changed = api.patch(path, {"timestamp": "2026-01-01"}).json()
    assert (changed["timestamp"], changed["metadata"]) == ("2026-01-01", {"a": 1})
    changed = api.patch(path, {"timestamp": None, "metadata": None}).json()
    assert (changed["timestamp"], changed["metadata"]) == (None, None)
    assert (changed["relation_type"], changed["opposite_relation_type"]) == ("likes", "is liked by")
    changed = api.patch(path, {"relation_type": "refines"}).json()
    assert changed["opposite_relation_type"] == "is_refined_by"
    assert changed["target_status"] == "invalid"


def test_if_match_guards_changes(api: Api) -> None:
    path = "/relations/" + api.post("/relations", LINK).json()["id"]
    old = api.get(path).headers["ETag"]
    assert api.patch(path, {"metadata": {"a": 1}}, headers={"If-Match": old}).status_code == 200
    with nothing_changes():
        for call in (
            lambda: api.patch(path, {"metadata": None}, headers={"If-Match": old}),
            lambda: api.delete(path, headers={"If-Match": old}),
        ):
            assert call().status_code == 412
    new = api.get(path).headers["ETag"]
    assert api.delete(path, headers={"If-Match": new}).status_code == 204


def test_the_list_filters_and_pages(api: Api) -> None:
    api.post("/threads", {"id": "t-1", "user_id": "ada"})
    inside = {"id": "mem-4", "content": "x", "user_id": "ada", "thread_id": "t-1"}
    api.post("/memories", inside)
    for number, (source, target, label) in enumerate(
        [("mem-1", "mem-2", "supersedes"), ("mem-3", "mem-1", "likes"), ("mem-4", "mem-2", "likes")]
    ):
        body = {"source_record_id": source, "target_record_id": target, "relation_type": label}
        assert api.post("/relations", {**body, "id": f"r-{number}"}).status_code == 201

    def ids(**query: Any) -> list[str]:
        return [one["id"] for one in api.get("/relations", query).json()["relations"]]

    # A list of relations shows those of invalid memories: they are why these are invalid.
    assert ids() == ["r-2", "r-1", "r-0"]
    assert ids(memory_id="mem-2") == ["r-2", "r-0"]
    assert ids(thread_id="t-1") == ["r-2"]
    assert ids(relation_type="likes", memory_id="mem-1") == ["r-1"]
    first = api.get("/relations", {"limit": 2}).json()
    assert first["count"] == {"value": 3, "capped": False}
    second = api.get("/relations", {"limit": 2, "cursor": first["next"]}).json()
    assert [one["id"] for one in second["relations"]] == ["r-0"]
    back = api.get("/relations", {"limit": 2, "cursor": second["previous"]}).json()
    assert back["relations"] == first["relations"]
    for wrong in ({"cursor": "nOTk"}, {"memory_id": ""}, {"type": "likes"}, {"limit": 0}):
        assert api.get("/relations", wrong).status_code == 422


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"source_record_id": None}, 422, "source_record_id"),
        ({"target_record_id": ""}, 422, "target_record_id"),
        ({"target_record_id": "mem-1"}, 422, "itself"),
        ({"target_record_id": "nothing"}, 404, "nothing"),
        ({"relation_type": ""}, 422, "relation_type"),
        ({"relation_type": "空" * 43}, 422, "relation_type"),
        ({"relation_type": "a\0"}, 422, "relation_type"),
        ({"opposite_relation_type": "\ud800"}, 422, "opposite_relation_type"),
        ({"metadata": {"$agent_memory": {}}}, 422, "reserved"),
        ({"metadata": []}, 422, "metadata"),
        ({"timestamp": "x" * 65}, 422, "timestamp"),
        ({"colour": "red"}, 422, "colour"),
        ({"id": "r-1"}, 409, "r-1"),
        ({"source_record_id": "mem-2", "target_record_id": "mem-1"}, 422, "one direction"),
    ],
)
def test_a_bad_relation_is_refused(
    api: Api, change: dict[str, Any], status: int, words: str
) -> None:
    there = {**LINK, "relation_type": "supports", "id": "r-1"}
    assert api.post("/relations", there).status_code == 201
    with nothing_changes():
        answer = api.post("/relations", {**LINK, **change})
    assert answer.status_code == status
    assert words in answer.json()["detail"]


def test_a_bad_change_is_refused(api: Api) -> None:
    path = "/relations/" + api.post("/relations", LINK).json()["id"]
    for change in ({}, {"relation_type": ""}, {"relation_type": None}, {"source_record_id": "x"}):
        with nothing_changes():
            assert api.patch(path, change).status_code == 422


def test_keys_meet_relations_within_their_scope_only(
    api: Api, make_api: Callable[..., Api]
) -> None:
    api.post("/relations", {**LINK, "id": "r-1"})
    api.post("/relations", {**LINK, "target_record_id": "mem-3", "id": "r-2"})
    ada = make_api(user_ids=["ada"])
    assert [one["id"] for one in ada.get("/relations").json()["relations"]] == ["r-1"]
    reader = make_api(Role.READER)
    bound = make_api(agent_id="other")
    with nothing_changes():
        for method, path, body in [
            ("GET", "/relations/r-2", None),
            ("PATCH", "/relations/r-2", {"metadata": {}}),
            ("DELETE", "/relations/r-2", None),
            ("POST", "/relations", {**LINK, "target_record_id": "mem-3"}),
        ]:
            assert ada.call(method, path, body).status_code == 404, (method, path)
            if method != "GET":
                assert reader.call(method, path, body).status_code == 403
                assert bound.call(method, path, body).status_code == 403


def test_a_list_costs_the_same_for_many_relations(
    api: Api, django_assert_max_num_queries: Any
) -> None:
    for number in range(12):
        api.post("/memories", {"id": f"m-{number}", "content": "x", "user_id": "ada"})
        body = {**LINK, "target_record_id": f"m-{number}", "relation_type": "supports"}
        assert api.post("/relations", body).status_code == 201
    with django_assert_max_num_queries(6):
        assert len(api.get("/relations").json()["relations"]) == 12
