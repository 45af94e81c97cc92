"""Input that is refused: a 422 problem that names the field, and no table changes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.api.conftest import Api
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db

LONG_ID = "空" * 43  # 129 bytes
DEEP: dict[str, Any] = {}
for _ in range(100):
    DEEP = {"a": DEEP}

MEMORY = {"content": "x", "user_id": "ada"}
BAD_MEMORIES: list[tuple[dict[str, Any], str]] = [
    ({"content": ""}, "content"),
    ({"content": " \n\t "}, "content"),
    ({"content": "a\0b"}, "content"),
    ({"content": "a\ud800"}, "content"),
    ({"content": None}, "content"),
    ({"content": 5}, "content"),
    ({"memory_type": "message"}, "memory_type"),
    ({"id": ""}, "id"),
    ({"id": LONG_ID}, "id"),
    ({"user_id": LONG_ID}, "user_id"),
    ({"user_id": "a\0"}, "user_id"),
    ({"agent_id": LONG_ID}, "agent_id"),
    ({"metadata": ["x"]}, "metadata"),
    ({"metadata": "x"}, "metadata"),
    ({"metadata": {"k": "a\0"}}, "metadata"),
    ({"metadata": {"k": "\ud800"}}, "metadata"),
    ({"metadata": {"\ud800": 1}}, "metadata"),
    ({"metadata": DEEP}, "metadata"),
    ({"timestamp": "x" * 65}, "timestamp"),
    ({"timestamp": 5}, "timestamp"),
    ({"ttl_days": 0}, "ttl_days"),
    ({"ttl_days": "soon"}, "ttl_days"),
    ({"reason": "x" * 501}, "reason"),
    ({"colour": "red"}, "colour"),
]


def refused(answer: Any, *names: str) -> None:
    assert answer.status_code == 422, answer.content
    assert any(name in answer.json()["detail"] for name in names), answer.json()["detail"]


@pytest.mark.parametrize(("change", "field"), BAD_MEMORIES)
def test_bad_memory_is_refused(api: Api, change: dict[str, Any], field: str) -> None:
    with nothing_changes():
        refused(api.post("/memories", {**MEMORY, **change}), field)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({}, "at least one field"),
        ({"reason": "why"}, "at least one field"),
        ({"content": "  "}, "content"),
        ({"content": None}, "content"),
        ({"content": "a\0b"}, "content"),
        ({"status": "maybe"}, "status"),
        ({"status": None}, "status"),
        ({"metadata": {"k": "\ud800"}}, "metadata"),
        ({"timestamp": "x" * 65}, "timestamp"),
        ({"memory_type": "fact"}, "memory_type"),
    ],
)
def test_bad_change_of_a_memory_is_refused(
    api: Api, memory: str, change: dict[str, Any], field: str
) -> None:
    with nothing_changes():
        refused(api.patch(memory, change), field)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"user_id": None}, "user_id"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": LONG_ID}, "user_id"),
        ({"id": LONG_ID}, "id"),
        ({"id": "a\ud800"}, "id"),
        ({"metadata": 5}, "metadata"),
        ({"metadata": {"x": "\0"}}, "metadata"),
        ({"title": "x"}, "title"),
    ],
)
def test_bad_thread_is_refused(api: Api, change: dict[str, Any], field: str) -> None:
    with nothing_changes():
        refused(api.post("/threads", {"user_id": "ada", **change}), field)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"content": "x"}, "messages[1].role"),
        ({"role": "user"}, "messages[1].content"),
        ({"role": "", "content": "x"}, "messages[1].role"),
        ({"role": "r" * 31, "content": "x"}, "role"),
        ({"role": "user", "content": "a\0b"}, "content"),
        ({"role": "user", "content": "a\ud800b"}, "messages[1].content"),
        ({"role": "user", "content": None}, "messages[1].content"),
        ({"role": "user", "content": "x", "metadata": []}, "messages[1].metadata"),
        ({"role": "user", "content": "x", "metadata": {"k": "\ud800"}}, "metadata"),
        ({"role": "user", "content": "x", "timestamp": "x" * 65}, "timestamp"),
        ({"role": "user", "content": "x", "name": "y"}, "messages[1].name"),
        ("hello", "messages[1]"),
    ],
)
def test_bad_message_is_refused_with_its_whole_batch(
    api: Api, thread: str, message: Any, field: str
) -> None:
    batch = [{"role": "user", "content": "good"}, message]
    with nothing_changes():
        refused(api.post(f"{thread}/messages", {"messages": batch}), field)


@pytest.mark.parametrize(
    "body",
    [
        {"messages": []},
        {"messages": "x"},
        {},
        {"messages": [{"role": "u", "content": "x", "id": "a"}, {"role": "u", "content": "x"}]},
        {"messages": [{"role": "u", "content": "x", "id": "a"}] * 2},
        {"messages": [{"role": "u", "content": "x", "id": LONG_ID}]},
        {"messages": [{"role": "u", "content": "x"}] * 1001},
    ],
    ids=["empty", "text", "missing", "some-ids", "same-id", "long-id", "too-many"],
)
def test_bad_batch_is_refused(api: Api, thread: str, body: dict[str, Any]) -> None:
    with nothing_changes():
        answer = api.post(f"{thread}/messages", body)
    assert answer.status_code in (409, 422), answer.content


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "  "}, "query"),
        ({"query": "a\0"}, "query"),
        ({"query": "\ud800"}, "query"),
        ({"query": "x" * 100_001}, "query"),
        ({"max_results": 0}, "max_results"),
        ({"max_results": -1}, "max_results"),
        ({"max_results": 101}, "max_results"),
        ({"max_results": "many"}, "max_results"),
        ({"record_types": ["thread"]}, "record_types"),
        ({"record_types": "fact"}, "record_types"),
        ({"metadata_filter": {"k": {"$near": 1}}}, "$near"),
        ({"metadata_filter": []}, "metadata_filter"),
        ({"user_id": ""}, "user_id"),
        ({"user_id": LONG_ID}, "user_id"),
        ({"num_hops": 1}, "num_hops"),
    ],
)
def test_bad_search_is_refused(api: Api, memory: str, change: dict[str, Any], field: str) -> None:
    with nothing_changes():
        refused(api.post("/search", {"query": "x", "user_id": "ada", **change}), field)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "q"),
        ({"q": " "}, "query"),
        ({"q": "x", "max_results": "0"}, "max_results"),
        ({"q": "x", "k": "5"}, "Unknown query parameter 'k'"),
        ({"q": "x", "metadata_filter": "{"}, "metadata_filter"),
        ({"q": "x", "metadata_filter": '{"k": {"$near": 1}}'}, "$near"),
        ({"q": "x", "record_types": "thread"}, "record_types"),
    ],
)
def test_bad_query_string_of_a_search_is_refused(
    api: Api, query: dict[str, str], field: str
) -> None:
    with nothing_changes():
        refused(api.get("/search", query), field)


@pytest.mark.parametrize("path", ["/memories", "/threads"])
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"limit": "x"}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "n"}, "cursor"),
        ({"cursor": "nJzsgLS0"}, "cursor"),
        ({"cursor": "n空"}, "cursor"),
        ({"cursor": "n_w"}, "cursor"),
        ({"offset": "1000"}, "Unknown query parameter 'offset'"),
        ({"user_id": ""}, "user_id"),
        ({"since": "yesterday"}, "since"),
        ({"until": "0.5"}, "until"),
        ({"metadata": "x"}, "metadata"),
        ({"metadata": "[1]"}, "metadata"),
        ({"metadata": '{"a": {"$near": 1}}'}, "$near"),
        ({"metadata": "[" * 100_000}, "metadata"),
    ],
)
def test_bad_parameter_of_a_list_is_refused(
    api: Api, path: str, query: dict[str, str], field: str
) -> None:
    with nothing_changes():
        refused(api.get(path, query), field)


def test_bad_filter_of_memories_is_refused(api: Api) -> None:
    refused(api.get("/memories", {"status": "maybe"}), "status")
    refused(api.get("/memories", {"memory_type": "image"}), "memory_type")


def test_errors_name_every_field_at_fault_and_echo_no_input(api: Api) -> None:
    body = {"content": 5, "memory_type": "swordfish", "user_id": "ada", "hunter2": 1}
    answer = api.post("/memories", body)
    named = {error["field"] for error in answer.json()["errors"]}
    assert named == {"content", "memory_type", "hunter2"}
    assert all(error["in"] == "body" for error in answer.json()["errors"])
    assert b"swordfish" not in answer.content


def test_body_that_is_no_object_is_refused(api: Api) -> None:
    for body in ([], "x", 5):
        with nothing_changes():
            assert api.post("/memories", body).status_code == 422
    with nothing_changes():
        assert api.call("POST", "/memories").status_code == 422
