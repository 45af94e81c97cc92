"""What a line of an import file means, and what is said when it means nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memoryapp.services.import_formats import Line, LineError, parse_line

MESSAGE = {"thread_id": "t", "user_id": "u", "agent_id": "a", "role": "user", "content": "hello"}
DIALOGUE = {
    "dialogue_id": "d-1",
    "services": ["Hotels_2"],
    "messages": [{"role": "user", "content": "a room"}, {"role": "assistant", "content": "which"}],
    "goals": {},
}


def parse(value: object, name: str = "messages", number: int = 6) -> Line:
    return parse_line(number, json.dumps(value).encode(), name)


def error_of(raw: bytes, name: str = "messages") -> str:
    with pytest.raises(LineError) as caught:
        parse_line(6, raw, name)
    return str(caught.value)


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: inner for name, inner in value.items() if name != key}


def test_line_number_decides_user_and_agent_of_a_dialogue() -> None:
    lines = [parse(DIALOGUE, "sgd", number) for number in (0, 11, 12, 14)]
    assert [line.user_id for line in lines] == ["user-0", "user-11", "user-0", "user-2"]
    assert [line.agent_id for line in lines] == ["agent-0", "agent-2", "agent-0", "agent-2"]


def test_equal_dialogues_on_two_lines_have_different_ids() -> None:
    first, second = (parse(DIALOGUE, "sgd", number) for number in (3, 4))
    assert first.thread_id != second.thread_id
    assert not {m.id for m in first.messages} & {m.id for m in second.messages}


def test_ids_are_the_same_in_every_reading() -> None:
    assert parse(DIALOGUE, "sgd") == parse(DIALOGUE, "sgd")
    assert parse(MESSAGE) == parse(MESSAGE)


def test_dialogue_keeps_its_name_services_and_turns() -> None:
    line = parse(DIALOGUE, "sgd")
    assert line.metadata == {"dialogue_id": "d-1", "services": ["Hotels_2"]}
    assert [(m.role, m.content) for m in line.messages] == [
        ("user", "a room"),
        ("assistant", "which"),
    ]


def test_ids_stay_within_128_bytes_for_a_dialogue_id_of_128_bytes() -> None:
    line = parse({**DIALOGUE, "dialogue_id": "空" * 42 + "ab"}, "sgd", 10**9)
    assert max(len(m.id.encode()) for m in line.messages) <= 128


def test_message_with_everything_is_kept_as_given() -> None:
    full = {
        **MESSAGE,
        "id": "a/b",
        "timestamp": "2026-03-01T09:30:00Z",
        "metadata": {"k": [None, True, 1.5, "空"]},
    }
    (message,) = parse(full).messages
    assert message.id == "a/b"
    assert message.is_named
    assert message.timestamp == "2026-03-01T09:30:00Z"
    assert message.metadata == {"k": [None, True, 1.5, "空"]}


def test_empty_content_is_allowed_as_in_the_sdk() -> None:
    assert parse({**MESSAGE, "content": ""}).messages[0].content == ""


@pytest.mark.parametrize("key", sorted(MESSAGE))
def test_missing_key_is_named(key: str) -> None:
    assert error_of(json.dumps(without(MESSAGE, key)).encode()) == f"line 7: {key} is missing"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"role": " "}, "role is blank"),
        ({"role": 5}, "role must be a str, not int"),
        ({"role": "r" * 31}, "role has 31 bytes of UTF-8; at most 30"),
        ({"content": "a\0b"}, "content holds a NUL character at position 1"),
        ({"content": "a\ud800"}, "content holds a lone surrogate at position 1"),
        ({"content": ["x"]}, "content must be a str, not list"),
        ({"thread_id": ""}, "thread_id must not be empty"),
        ({"user_id": "é" * 65}, "user_id has 130 bytes of UTF-8; at most 128"),
        ({"id": "x" * 129}, "id has 129 bytes of UTF-8; at most 128"),
        ({"metadata": ["x"]}, "metadata must be a dict or None, not list"),
        ({"metadata": {"a": {"b": "\ud800"}}}, "lone surrogate"),
        ({"timestamp": "yesterday"}, "timestamp is not ISO 8601"),
        ({"timestamp": 5}, "timestamp must be a str, not int"),
        ({"name": "x"}, "unknown key 'name'; put it into metadata"),
    ],
)
def test_bad_value_is_named_with_its_line(change: dict[str, Any], says: str) -> None:
    text = error_of(json.dumps({**MESSAGE, **change}).encode())
    assert text.startswith("line 7: ")
    assert says in text


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"hello", "not JSON: Expecting value at column 1"),
        (b'{"thread_id": "t"', "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8 at byte 1"),
        (b'{"metadata": {"x": NaN}}', "NaN is no JSON value"),
        (b'{"metadata": ' + b"[" * 200_000, "not JSON"),
        (b'{"metadata": {"x": ' + b"9" * 5000 + b"}}", "not JSON"),
    ],
)
def test_line_that_is_no_json_object_is_refused(raw: bytes, says: str) -> None:
    assert says in error_of(raw)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"dialogue_id": None}, "dialogue_id is missing"),
        ({"dialogue_id": 7}, "dialogue_id must be a str, not int"),
        ({"messages": []}, "messages must be a list of 1 to 1000 messages"),
        ({"messages": "hi"}, "messages must be a list"),
        ({"messages": ["hi"]}, "messages[0] is not a JSON object"),
        ({"messages": [{"content": "x"}]}, "messages[0] has no role"),
        ({"messages": [{"role": "user"}]}, "messages[0] has no content"),
        ({"messages": [{"role": "user", "content": "\0"}]}, "messages[0].content holds a NUL"),
        ({"services": ["\ud800"]}, "lone surrogate"),
    ],
)
def test_bad_dialogue_is_named_with_its_line(change: dict[str, Any], says: str) -> None:
    text = error_of(json.dumps({**DIALOGUE, **change}).encode(), "sgd")
    assert text.startswith("line 7: ")
    assert says in text


def test_errors_never_show_the_text_of_a_message() -> None:
    secret = "my password is swordfish"
    assert "swordfish" not in error_of(json.dumps({**MESSAGE, "content": secret + "\0"}).encode())
