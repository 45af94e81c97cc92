"""What could be read in two ways is refused, and no cache keeps an answer."""

from __future__ import annotations

import json

import pytest

from tests.app.api.conftest import Api
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "body",
    [
        b'{"content": "x", "user_id": "ada", "user_id": "bob"}',
        b'{"content": "x", "metadata": {"a": 1, "a": 2}}',
        b'{"content": "x", "metadata": {"a": [{"b": 1, "b": 1}]}}',
        '{"content": "x"}'.encode("utf-16"),
        b'{"content": "x", "metadata": {"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}}",
        b'{"content": "x", "metadata": {"a": ' + b"1" * 5_000 + b"}}",
    ],
)
def test_a_body_that_has_no_single_meaning_is_no_json(api: Api, body: bytes) -> None:
    with nothing_changes():
        refused = api.post("/memories", data=body)
    assert refused.status_code == 400
    assert refused.json()["code"] == "bad_json"


def test_a_byte_order_mark_is_no_harm(api: Api) -> None:
    assert api.post("/memories", data=b'\xef\xbb\xbf{"content": "x"}').status_code == 201


def test_a_parameter_is_given_once_unless_it_is_a_list(api: Api) -> None:
    assert api.get("/memories", {"memory_type": ["fact", "memory"]}).status_code == 200
    refused = api.get("/memories", {"user_id": ["ada", "bob"]})
    assert refused.status_code == 422
    assert "user_id is given twice" in refused.json()["detail"]
    assert api.get("/search", {"q": ["a", "b"]}).status_code == 422
    assert api.get("/memories", {"metadata": '{"a": 1, "a": 2}'}).status_code == 422


def test_the_key_that_the_sdk_keeps_is_not_the_callers(api: Api, memory: str) -> None:
    with nothing_changes():
        refused = api.patch(memory, {"metadata": {"$agent_memory": {"invalidated_by": "x"}}})
    assert refused.status_code == 422
    assert "reserved" in refused.json()["detail"]


def test_no_cache_keeps_an_answer(api: Api, memory: str) -> None:
    answers = [api.get(memory), api.get("/memories/gone"), api.get("/search", {"q": "window"})]
    assert {answer.headers["Cache-Control"] for answer in answers} == {"private, no-store"}


def test_a_thread_with_records_of_others_is_not_deleted_by_a_limited_key(
    api: Api, make_api: object, thread: str
) -> None:
    shared = {"content": "Bob plans a surprise", "user_id": "bob", "thread_id": "t-1"}
    assert api.post("/memories", shared).status_code == 201
    limited = make_api(user_ids=["ada"])  # type: ignore[operator]
    with nothing_changes():
        assert limited.delete(thread).status_code == 403
    assert api.delete(thread).status_code == 204


def test_a_filter_has_an_end(api: Api, memory: str) -> None:
    wide = {"$or": [{"a": number} for number in range(2_000)]}
    refused = api.post("/search", {"query": "x", "metadata_filter": wide})
    assert refused.status_code == 422
    assert "more than 500 values" in refused.json()["detail"]
    assert api.get("/memories", {"metadata": json.dumps(wide)}).status_code == 422
    some = {"$or": [{"a": number} for number in range(100)]}
    assert api.post("/search", {"query": "x", "metadata_filter": some}).status_code == 200
