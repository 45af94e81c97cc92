"""Sources of memories, memories of messages, and deleting both together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoryapp.models import AuditEntry, Revision
from memoryapp.services import messages
from oracleagentmemory.errors import ConflictError
from tests.app.api.conftest import OPERATOR, Api, path_id
from tests.app.provenance import note
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


def add(api: Api, memory_id: str, **more: Any) -> str:
    """Store a memory of ada's in the thread, and return its path."""
    given = {"id": memory_id, "content": f"text of {memory_id}", "user_id": "ada"}
    given |= {"thread_id": "t-1", "agent_id": "travel"} | more
    assert api.post("/memories", given).status_code == 201
    return f"/memories/{memory_id}"


@pytest.fixture
def taught(api: Api, thread: str) -> str:
    """Memories: of ``m-1`` alone, of both messages, of ``m-1`` but older, of none."""
    for name in ("alone", "both", "older", "none"):
        add(api, name)
    note(("alone", "m-1"), ("both", "m-2"), ("both", "m-1"))
    note(("older", "m-1"), job_id=None)
    return thread


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return [memory["id"] for memory in answer.json()["memories"]]


def test_sources_of_a_memory_come_with_their_messages(api: Api, taught: str) -> None:
    answer = api.get("/memories/both/sources").json()
    assert (answer["count"], answer["is_recorded"]) == (2, True)
    assert [one["message"]["id"] for one in answer["sources"]] == ["m-1", "m-2"]
    first = answer["sources"][0]
    assert first["message"] == api.get(f"{taught}/messages/m-1").json()
    assert (first["job_id"], first["model"]) == ("job-1", "model-1")
    assert first["prompt_version"] == "extraction_1"
    assert first["recorded_at"].endswith("Z")


def test_a_memory_that_a_caller_added_has_no_sources(api: Api, taught: str) -> None:
    answer = api.get("/memories/none/sources").json()
    assert answer == {"sources": [], "count": 0, "is_recorded": True}


def test_the_limit_bounds_what_is_read_and_not_what_is_counted(api: Api, taught: str) -> None:
    answer = api.get("/memories/both/sources", {"limit": 1}).json()
    assert (len(answer["sources"]), answer["count"]) == (1, 2)
    for wrong in ("0", "201", "many"):
        assert api.get("/memories/both/sources", {"limit": wrong}).status_code == 422


def test_a_message_names_what_it_taught(api: Api, taught: str) -> None:
    assert ids(api.get(f"{taught}/messages/m-1/memories")) == ["alone", "both", "older"]
    assert ids(api.get(f"{taught}/messages/m-2/memories")) == ["both"]
    memory = api.get(f"{taught}/messages/m-2/memories").json()["memories"][0]
    assert memory == api.get("/memories/both").json()


def test_invalid_memories_are_given_when_asked_for(api: Api, taught: str) -> None:
    assert api.patch("/memories/alone", {"status": "invalid"}).status_code == 200
    path = f"{taught}/messages/m-1/memories"
    assert ids(api.get(path)) == ["both", "older"]
    assert ids(api.get(path, {"include_invalid": "true"})) == ["alone", "both", "older"]


def test_unknown_records_are_404(api: Api, taught: str) -> None:
    api.post("/threads", {"id": "t-2", "user_id": "ada"})
    for path in (
        "/memories/gone/sources",
        f"{taught}/messages/gone/memories",
        "/threads/t-2/messages/m-1/memories",
    ):
        assert api.get(path).status_code == 404, path


def test_route_words_and_odd_ids_are_ids_too(api: Api, taught: str) -> None:
    odd = "sources/ <b>空"
    for name in ("sources", "memories", odd):
        add(api, name)
        note((name, "m-2"))
        answer = api.get(f"/memories/{path_id(name)}/sources").json()
        assert [one["message"]["id"] for one in answer["sources"]] == ["m-2"]
    assert ids(api.get(f"{taught}/messages/m-2/memories")) == ["both", "sources", "memories", odd]


class TestSight:
    @pytest.fixture(autouse=True)
    def _foreign(self, api: Api, taught: str) -> None:
        """A message of bob's in ada's thread, which taught a memory of each of them."""
        api.post("/threads", {"id": "t-2", "user_id": "bob", "agent_id": "travel"})
        secret = [{"role": "user", "content": "the secret of bob", "id": "zebra-1"}]
        api.post("/threads/t-2/messages", {"messages": secret})
        add(api, "theirs", user_id="bob", content="a secret too")
        note(("both", "zebra-1"), ("theirs", "m-1"))

    def test_a_message_out_of_sight_is_neither_named_nor_quoted(
        self, make_api: Callable[..., Api]
    ) -> None:
        answer = make_api(user_ids=["ada"]).get("/memories/both/sources")
        assert answer.json()["count"] == 3
        last = answer.json()["sources"][-1]
        assert (last["message"], last["model"]) == (None, "model-1")
        for word in ("secret", "zebra-1", "t-2", "bob"):
            assert word not in answer.content.decode()

    def test_a_memory_out_of_sight_is_not_in_the_list(
        self, make_api: Callable[..., Api], api: Api, taught: str
    ) -> None:
        path = f"{taught}/messages/m-1/memories"
        assert ids(make_api(user_ids=["ada"]).get(path)) == ["alone", "both", "older"]
        assert "theirs" in ids(api.get(path))

    def test_a_stranger_finds_neither(self, make_api: Callable[..., Api], taught: str) -> None:
        stranger = make_api(user_ids=["bob"])
        assert stranger.get("/memories/both/sources").status_code == 404
        assert stranger.get(f"{taught}/messages/m-1/memories").status_code == 404

    def test_memories_that_a_key_may_not_see_keep_the_message(
        self, make_api: Callable[..., Api], api: Api, taught: str
    ) -> None:
        limited = make_api(user_ids=["ada"])
        with nothing_changes():
            refused = limited.delete(f"{taught}/messages/m-1?derived=delete")
        assert refused.status_code == 403
        assert "memories that you may not delete" in refused.json()["detail"]
        assert api.get("/memories/theirs").status_code == 200
        assert limited.delete(f"{taught}/messages/m-1").status_code == 204


def test_memories_of_another_agent_keep_the_message(
    make_api: Callable[..., Api], api: Api, taught: str
) -> None:
    add(api, "of another", agent_id="other")
    note(("of another", "m-1"))
    bound = make_api(agent_id="travel")
    with nothing_changes():
        refused = bound.delete(f"{taught}/messages/m-1?derived=delete")
    assert refused.status_code == 403
    assert "memories that you may not delete" in refused.json()["detail"]


def test_deleting_a_message_keeps_what_it_taught(api: Api, taught: str) -> None:
    for more in ("", "?derived=keep"):
        message = {"role": "user", "content": "x", "id": "m-9"}
        api.post(f"{taught}/messages", {"messages": [message]})
        note(("none", "m-9"))
        assert api.delete(f"{taught}/messages/m-9{more}").status_code == 204
        assert api.get("/memories/none/sources").json()["count"] == 0


def test_memories_that_nothing_else_taught_go_with_their_message(api: Api, taught: str) -> None:
    answer = api.delete(f"{taught}/messages/m-1?derived=delete&reason=wrong")
    assert answer.status_code == 204
    assert api.get(f"{taught}/messages/m-1").status_code == 404
    assert api.get("/memories/alone").status_code == 404
    for name in ("both", "older", "none"):
        assert api.get(f"/memories/{name}").status_code == 200
    rest = api.get("/memories/both/sources").json()
    assert [one["message"]["id"] for one in rest["sources"]] == ["m-2"]
    query = {"query": "text of alone", "user_id": "ada"}
    found = api.post("/search", query).json()["results"]
    assert "alone" not in [hit["record"]["id"] for hit in found]


def test_each_deletion_is_told_with_a_revision(api: Api, taught: str) -> None:
    before = AuditEntry.objects.count()
    api.delete(f"{taught}/messages/m-1?derived=delete&reason=wrong")
    memory, message = AuditEntry.objects.order_by("id")[before:]
    assert (memory.noun, memory.record_id, memory.reason) == ("memory", "alone", "wrong")
    assert memory.detail == {"message_id": "m-1", "thread_id": "t-1"}
    assert (message.noun, message.record_id) == ("message", "m-1")
    assert message.detail == {"thread_id": "t-1", "memories": 1}
    (revision,) = Revision.objects.filter(audit_entry=memory)
    assert (revision.kind, revision.before["content"]) == ("memory", "text of alone")
    assert revision.after is None


def test_what_a_deleted_memory_superseded_is_valid_again(api: Api, taught: str) -> None:
    relation = {"source_record_id": "alone", "target_record_id": "none", "id": "r-1"}
    assert api.post("/relations", relation | {"relation_type": "supersedes"}).status_code == 201
    assert api.get("/memories/none").json()["status"] == "invalid"
    api.delete(f"{taught}/messages/m-1?derived=delete")
    assert api.get("/memories/none").json()["status"] == "valid"
    kinds = [(one.kind, one.record_id) for one in Revision.objects.order_by("id")]
    assert kinds[-4:] == [
        ("memory", "alone"),
        ("relation", "r-1"),
        ("memory", "none"),
        ("message", "m-1"),
    ]


def test_a_relation_between_two_that_go_is_told_once(api: Api, taught: str) -> None:
    add(api, "second")
    note(("second", "m-1"))
    relation = {"source_record_id": "alone", "target_record_id": "second", "id": "r-1"}
    api.post("/relations", relation | {"relation_type": "supports"})
    assert api.delete(f"{taught}/messages/m-1?derived=delete").status_code == 204
    assert Revision.objects.filter(kind="relation", record_id="r-1").count() == 1
    assert Revision.objects.filter(kind="memory").count() == 2


@pytest.mark.parametrize("word", ["all", "", "DELETE", "keep,delete"])
def test_an_unknown_word_is_refused_and_says_which_there_are(
    api: Api, taught: str, word: str
) -> None:
    with nothing_changes():
        refused = api.delete(f"{taught}/messages/m-1?derived={word}")
    assert refused.status_code == 422
    for part in ("derived", "keep", "delete"):
        assert part in refused.json()["detail"]


def test_a_stale_if_match_keeps_both(api: Api, taught: str) -> None:
    path = f"{taught}/messages/m-1"
    stale = {"If-Match": api.get(path)["ETag"]}
    api.patch(path, {"metadata": {"n": 1}})
    with nothing_changes():
        assert api.delete(f"{path}?derived=delete", headers=stale).status_code == 412
    assert api.get("/memories/alone").status_code == 200


def test_other_than_expected_keeps_both(api: Api, taught: str) -> None:
    with nothing_changes(), pytest.raises(ConflictError, match="taught 1 memories by now, not 2"):
        messages.delete(OPERATOR, "t-1", "m-1", derived="delete", expected=2)
