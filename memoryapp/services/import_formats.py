"""The two formats of an import file: what one line of JSON means, or why it means nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memoryapp.services import strict_json
from oracleagentmemory.apis.message import ImageContent
from oracleagentmemory.apis.validation import (
    ROLE_MAX_BYTES,
    TIMESTAMP_MAX_BYTES,
    check_id,
    check_metadata,
    check_text,
)
from oracleagentmemory.errors import InvalidInputError, WrongTypeError

MAX_MESSAGES = 1000

_SGD_USERS, _SGD_AGENTS = 12, 3
_MESSAGE_KEYS = frozenset(
    ("thread_id", "user_id", "agent_id", "role", "content", "timestamp", "metadata", "id")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message to store; ``is_named`` tells whether the file gave its id.

    ``images`` follow the text as parts; no file has any.
    """

    id: str
    role: str
    content: str
    timestamp: str | None = None
    metadata: dict[str, Any] | None = None
    is_named: bool = False
    images: tuple[ImageContent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a file: messages for one thread, which is created when it is new."""

    number: int
    thread_id: str
    user_id: str
    agent_id: str
    messages: tuple[NewMessage, ...]
    metadata: dict[str, Any] | None = None


class LineError(InvalidInputError):
    """A line that cannot be imported; the text names it, counted from 1."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(f"line {number + 1}: {why}")


def parse_line(number: int, raw: bytes, name: str) -> Line:
    """Return what line ``number``, counted from 0, holds in the format of this name.

    Raises: LineError.
    """
    try:
        return FORMATS[name].read(number, raw, _json_object(raw))
    except (InvalidInputError, WrongTypeError) as error:
        raise LineError(number, str(error)) from None


def _json_object(raw: bytes) -> dict[str, Any]:
    try:
        value = strict_json.parse(raw.decode())
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"not UTF-8 at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"not JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:
        raise InvalidInputError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidInputError("not a JSON object")
    return value


def _sgd_line(number: int, raw: bytes, value: dict[str, Any]) -> Line:
    dialogue_id = check_id(_required(value, "dialogue_id"), "dialogue_id")
    turns = _required(value, "messages")
    if not isinstance(turns, list) or not 1 <= len(turns) <= MAX_MESSAGES:
        raise InvalidInputError(f"messages must be a list of 1 to {MAX_MESSAGES} messages")
    # The line number keeps two equal dialogues apart, the digest two different files.
    stem = dialogue_id.encode()[:64].decode(errors="ignore")
    thread_id = f"{stem}-{number}-{_digest(raw)}"
    metadata = {"dialogue_id": dialogue_id, "services": value.get("services", [])}
    return Line(
        number=number,
        thread_id=thread_id,
        user_id=f"user-{number % _SGD_USERS}",
        agent_id=f"agent-{number % _SGD_AGENTS}",
        messages=tuple(_sgd_turn(thread_id, index, turn) for index, turn in enumerate(turns)),
        metadata=check_metadata(metadata, "services"),
    )


def _sgd_turn(thread_id: str, index: int, turn: object) -> NewMessage:
    where = f"messages[{index}]"
    if not isinstance(turn, dict):
        raise InvalidInputError(f"{where} is not a JSON object")
    return NewMessage(
        id=f"{thread_id}-{index}",
        role=_role(turn, where),
        content=check_text(_required(turn, "content", where), f"{where}.content"),
    )


def _message_line(number: int, raw: bytes, value: dict[str, Any]) -> Line:
    unknown = sorted(set(value) - _MESSAGE_KEYS)
    if unknown:
        raise InvalidInputError(f"unknown key {unknown[0]!r:.80}; put it into metadata")
    message_id = value.get("id")
    message = NewMessage(
        id=f"line-{number}-{_digest(raw)}" if message_id is None else check_id(message_id, "id"),
        role=_role(value),
        content=check_text(_required(value, "content"), "content"),
        timestamp=_timestamp(value.get("timestamp")),
        metadata=check_metadata(value.get("metadata")),
        is_named=message_id is not None,
    )
    return Line(
        number=number,
        thread_id=check_id(_required(value, "thread_id"), "thread_id"),
        user_id=check_id(_required(value, "user_id"), "user_id"),
        agent_id=check_id(_required(value, "agent_id"), "agent_id"),
        messages=(message,),
    )


def _required(value: dict[str, Any], key: str, where: str = "") -> object:
    found = value.get(key)
    if found is None:
        raise InvalidInputError(f"{where} has no {key}" if where else f"{key} is missing")
    return found


def _role(value: dict[str, Any], where: str = "") -> str:
    role = _required(value, "role", where)
    name = f"{where}.role" if where else "role"
    text = check_text(role, name, max_bytes=ROLE_MAX_BYTES)
    if not text.strip():
        raise InvalidInputError(f"{name} is blank")
    return text


def _timestamp(value: object) -> str | None:
    if value is None:
        return None
    text = check_text(value, "timestamp", max_bytes=TIMESTAMP_MAX_BYTES)
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInputError("timestamp is not ISO 8601, such as 2026-03-01T09:30:00Z") from None
    return text


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Format:
    """How lines are read, and how many of them are stored at a time."""

    read: Callable[[int, bytes, dict[str, Any]], Line]
    batch_lines: int


FORMATS = {"sgd": Format(_sgd_line, 32), "messages": Format(_message_line, 500)}
