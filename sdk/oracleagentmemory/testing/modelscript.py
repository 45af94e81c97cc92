"""What a scripted model answers: the script, and the bodies of the OpenAI protocols."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oracleagentmemory.errors import InvalidInputError

KINDS = ("chat", "embeddings")
DIMENSION = 64
MODEL = "scripted"
STANDARD_TEXT = "This is a scripted answer: no model was asked."


@dataclass(frozen=True, kw_only=True)
class ScriptedAnswer:
    """One answer of a script.

    Attributes:
        kind: ``chat`` or ``embeddings``; an answer serves requests of its kind only.
        when: Serves only a request whose texts contain this.
        repeat: Serves any number of requests instead of one.
        text: What the model says.
        json: What the model says, as JSON; instead of ``text``.
        reply: Makes what the model says, a text or a JSON value, from the texts of the request,
            joined by line breaks; instead of ``text``. It may run on several threads at once.
        finish_reason: ``length`` for an answer that was cut by ``max_tokens``.
        vectors: Embeddings, one a text; omitted, they are made from the texts' words.
        usage: Tokens of the question and of the answer.
        status: HTTP status; from 400 on an error with ``text`` as its message.
        retry_after: Seconds, in the header ``Retry-After``.
        delay_s: Seconds before the answer begins.
        cut_after: Sends this many bytes of the answer and closes the connection.
        raw: The body, whatever it is, instead of an answer of the protocol.
        until: Holds the answer back until the event is set.
    """

    kind: str = "chat"
    when: str = ""
    repeat: bool = False
    text: str = ""
    json: Any = None
    reply: Callable[[str], Any] | None = None
    finish_reason: str = "stop"
    vectors: Sequence[Sequence[float]] | None = None
    usage: tuple[int, int] | None = None
    status: int = 200
    retry_after: float | None = None
    delay_s: float = 0.0
    cut_after: int | None = None
    raw: str | None = None
    until: threading.Event | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInputError(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        if not isinstance(self.status, int) or not 200 <= self.status <= 599:
            raise InvalidInputError("status must be an HTTP status from 200 to 599")
        if not isinstance(self.delay_s, int | float) or not 0 <= self.delay_s <= 3600:
            raise InvalidInputError("delay_s must be a number of seconds from 0 to 3600")
        if not isinstance(self.text, str) or not isinstance(self.when, str):
            raise InvalidInputError("text and when must be strings")
        if not isinstance(self.raw, str | None) or not isinstance(self.cut_after, int | None):
            raise InvalidInputError("raw must be a string and cut_after a number of bytes")


def parse_script(source: str) -> list[ScriptedAnswer]:
    """Read a script: one JSON object a line, its names those of `ScriptedAnswer`.

    Empty lines and lines that begin with ``#`` are left out.

    Raises:
        InvalidInputError: A line is no answer; the text gives its number.
    """
    answers = []
    for number, line in enumerate(source.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            answers.append(_parse_answer(json.loads(line)))
        except ValueError as exc:
            raise InvalidInputError(f"line {number} of the script: {exc}") from exc
    return answers


def _parse_answer(fields: object) -> ScriptedAnswer:
    if not isinstance(fields, dict):
        raise InvalidInputError("an answer is a JSON object")
    known = {field.name for field in dataclasses.fields(ScriptedAnswer)} - {"until", "reply"}
    if unknown := sorted(fields.keys() - known):
        names = ", ".join(sorted(known))
        raise InvalidInputError(f"unknown name {unknown[0]!r}; there are {names}")
    if "usage" in fields:
        usage = fields["usage"]
        if not isinstance(usage, list) or [type(part) for part in usage] != [int, int]:
            raise InvalidInputError("usage must be two numbers: of the question, of the answer")
        fields["usage"] = tuple(usage)
    return ScriptedAnswer(**fields)


def default_answer(kind: str, body: Mapping[str, Any]) -> ScriptedAnswer:
    """Answer a request that no line of the script serves."""
    if kind == "embeddings":
        return ScriptedAnswer(kind="embeddings")
    schema = _schema_of(body)
    if schema is not None:
        return ScriptedAnswer(json=_smallest(schema))
    return ScriptedAnswer(text=STANDARD_TEXT)


def _schema_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for path in (("response_format", "json_schema", "schema"), ("text", "format", "schema")):
        value: Any = body
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, Mapping):
            return value
    return None


def _smallest(schema: Mapping[str, Any]) -> Any:
    """Return the emptiest value of a JSON schema of plain types that says something.

    A text is never empty: who asks for one, as for a summary, takes an empty one for a failure.
    """
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("anyOf"):
        return _smallest(schema["anyOf"][0])
    kind = schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: _smallest(properties.get(name, {})) for name in schema.get("required", ())}
    plain = {"array": [], "string": STANDARD_TEXT, "integer": 0, "number": 0, "boolean": False}
    return plain.get(kind)


def texts_of(kind: str, body: Mapping[str, Any]) -> list[str]:
    """Return every text of a request, in order."""
    if kind == "embeddings":
        texts = body.get("input", [])
        return list(map(str, texts)) if isinstance(texts, list) else [str(texts)]
    return list(_strings(body.get("messages", body.get("input", []))))


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = [value.get("content"), value.get("text")]
    if isinstance(value, list):
        return list(itertools.chain.from_iterable(map(_strings, value)))
    return []


def answer_body(
    kind: str, path: str, answer: ScriptedAnswer, body: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the protocol's body for an answer."""
    if answer.status >= 400:
        error = {"message": answer.text, "type": "scripted", "param": None, "code": None}
        return {"error": error}
    texts = texts_of(kind, body)
    if kind == "embeddings":
        return _embeddings(answer, texts, body)
    text = _said(answer, texts)
    asked, told = answer.usage or (_tokens(*texts), _tokens(text))
    if path.endswith("/responses"):
        return _response(text, asked, told)
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": answer.finish_reason, "message": message}],
        "usage": {
            "prompt_tokens": asked,
            "completion_tokens": told,
            "total_tokens": asked + told,
        },
    }


def _said(answer: ScriptedAnswer, texts: Sequence[str]) -> str:
    value = answer.json
    if answer.reply is not None:
        value = answer.reply("\n".join(texts))
        if isinstance(value, str):
            return value
    return answer.text if value is None else json.dumps(value, ensure_ascii=False)


def _response(text: str, asked: int, told: int) -> Mapping[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "id": "resp_scripted",
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": MODEL,
        "output": [
            {
                "type": "message",
                "id": "msg_scripted",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        ],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": asked,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": told,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": asked + told,
        },
    }


def _embeddings(
    answer: ScriptedAnswer, texts: list[str], body: Mapping[str, Any]
) -> Mapping[str, Any]:
    asked_size = body.get("dimensions")
    size = asked_size if isinstance(asked_size, int) and 0 < asked_size <= 4096 else DIMENSION
    vectors = answer.vectors or [word_vector(text, size) for text in texts]
    asked = answer.usage[0] if answer.usage else _tokens(*texts)
    return {
        "object": "list",
        "model": MODEL,
        "data": [
            {"object": "embedding", "index": index, "embedding": list(vector)}
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": asked, "total_tokens": asked},
    }


def word_vector(text: str, size: int) -> list[float]:
    """Return a vector that texts with the same words share, of length 1.

    Words weigh differently, so that two texts are as near to a third only if their words are equal.
    """
    vector = [0.0] * size
    for word in re.findall(r"\w+", text.lower()) or [text]:
        digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
        weight = 1.0 + int.from_bytes(digest[5:9], "big") / 2**32
        vector[int.from_bytes(digest[:4], "big") % size] += weight if digest[4] % 2 else -weight
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else [1.0] + [0.0] * (size - 1)


def stream_chunks(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Cut a chat answer into the chunks of a stream, the usage in the last one."""
    choice = body["choices"][0]
    text = choice["message"]["content"]
    head = {name: body[name] for name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    deltas: list[tuple[dict[str, Any], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": piece}, None) for piece in re.findall(r"\S*\s*", text) if piece]
    deltas.append(({}, choice["finish_reason"]))
    chunks: list[Mapping[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in deltas
    ]
    return [*chunks, {**head, "choices": [], "usage": body["usage"]}]


def _tokens(*texts: str) -> int:
    """Estimate tokens: four characters each, at least one a text."""
    return sum(max(1, len(text) // 4) for text in texts)
