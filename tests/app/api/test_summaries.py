"""``/api/v1/threads/{thread_id}/summary`` and ``…/context-card``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoryapp.memory import store
from tests.app.api.conftest import Api
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def records(api: Api, thread: str) -> None:
    """A thread about Lisbon, with a valid and an invalid memory."""
    for name, content in [("mem-1", "Ada likes <Lisbon> in May"), ("mem-2", "Ada left Lisbon")]:
        scope = {"user_id": "ada", "agent_id": "travel", "thread_id": "t-1"}
        body = {"id": name, "content": content, "memory_type": "fact", **scope}
        assert api.post("/memories", body).status_code == 201
    api.patch("/memories/mem-2", {"status": "invalid"})


def card(api: Api, **query: Any) -> str:
    with nothing_changes():
        answer = api.get("/threads/t-1/context-card", query)
    assert answer.status_code == 200, answer.content
    content: str = answer.json()["content"]
    return content


def test_a_summary_is_read_without_a_write(api: Api) -> None:
    with nothing_changes():
        whole = api.get("/threads/t-1/summary").json()
        first = api.get("/threads/t-1/summary", {"except_last": 1}).json()
        short = api.get("/threads/t-1/summary", {"token_budget": 5}).json()
    assert "Window or aisle?" in whole["content"]
    assert (whole["is_transcript"], whole["is_current"], whole["topics"]) == (True, True, [])
    assert "Window or aisle?" not in first["content"]
    assert first["is_current"] is False
    assert short["content"] == "(truncated)\nuser "[:17]


def test_a_summary_is_made_anew_and_saved(api: Api) -> None:
    made = api.post("/threads/t-1/summary", {"reason": "why"})
    assert made.status_code == 201
    assert made.json() == api.get("/threads/t-1/summary", {"token_budget": 0}).json()
    (saved,) = store().list("thread_summary", thread_id="t-1", limit=None)
    assert saved.status == "valid"
    api.post("/threads", {"id": "t-2", "user_id": "ada"})
    with nothing_changes():
        assert api.post("/threads/t-2/summary", {}).status_code == 409


def test_a_card_holds_valid_records_unless_asked(api: Api) -> None:
    content = card(api)
    assert "Ada likes &lt;Lisbon&gt; in May" in content
    assert "Ada left Lisbon" not in content
    assert "Ada left Lisbon" in card(api, include_invalid=True)


def test_a_card_takes_the_arguments_of_the_sdk(api: Api) -> None:
    assert "recent_messages" not in card(api)
    assert "<recent_messages>" in card(api, max_recent_messages=1)
    assert "in May" not in card(api, max_relevant_results=0).split("relevant_information")[1]
    by_type = card(api, max_relevant_results=1, min_relevant_results_by_type='{"fact": 1}')
    assert "Ada likes" in by_type
    none = card(api, metadata_filter='{"topic": "x"}').split("relevant_information")[1]
    assert "Ada likes" not in none


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("summary", {"except_last": -1}),
        ("summary", {"token_budget": "x"}),
        ("summary", {"topics": "x"}),
        ("context-card", {"max_relevant_results": -1}),
        ("context-card", {"min_relevant_results_by_type": "{"}),
        ("context-card", {"min_relevant_results_by_type": '{"image": 1}'}),
        ("context-card", {"metadata_filter": '{"a": {"$near": 1}}'}),
        ("context-card", {"max_recent_messages": 2, "except_last_messages": 1}),
        ("context-card", {"include_invalid_results": True}),
    ],
)
def test_a_bad_parameter_is_refused(api: Api, path: str, query: dict[str, Any]) -> None:
    assert api.get(f"/threads/t-1/{path}", query).status_code == 422


def test_keys_meet_threads_within_their_scope_only(api: Api, make_api: Callable[..., Api]) -> None:
    api.post("/threads", {"id": "t-2", "user_id": "bob"})
    ada = make_api(user_ids=["ada"])
    for path in ("summary", "context-card"):
        assert ada.get(f"/threads/t-1/{path}").status_code == 200
        assert ada.get(f"/threads/t-2/{path}").status_code == 404
    store().add(["a zebra"], "message", thread_ids="t-1", user_ids="bob", roles="user")
    for path in ("summary", "context-card"):
        assert ada.get(f"/threads/t-1/{path}").status_code == 403
    with nothing_changes():
        assert ada.post("/threads/t-1/summary", {}).status_code == 403
