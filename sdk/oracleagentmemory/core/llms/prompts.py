"""From a prompt to the messages of the chat completions protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from oracleagentmemory.apis.llms.llm import Prompt
from oracleagentmemory.apis.message import ImageContent, Message, MessageContent, TextContent
from oracleagentmemory.apis.validation import check_text
from oracleagentmemory.errors import InvalidInputError, MissingFieldError, WrongTypeError

#: Roles that providers know without more fields; any other name speaks as the user.
_ROLES = frozenset({"system", "developer", "user", "assistant"})


def chat_messages(prompt: Prompt) -> list[dict[str, Any]]:
    """Return the messages of a prompt.

    Raises:
        InvalidInputError: The prompt is empty, or an image lacks its bytes.
        MissingFieldError: A message has no role or no content.
        WrongTypeError: The prompt is no text, message or sequence of messages.
    """
    if isinstance(prompt, str):
        return [{"role": "user", "content": check_text(prompt, "prompt")}]
    if isinstance(prompt, Message | Mapping):
        return [_chat_message(prompt)]
    if not isinstance(prompt, Sequence):
        raise WrongTypeError(f"prompt must be a str or messages, not {type(prompt).__name__}")
    if not prompt:
        raise InvalidInputError("prompt must have at least one message")
    return [_chat_message(message) for message in prompt]


def _chat_message(message: object) -> dict[str, Any]:
    if isinstance(message, Message):
        content = message.content
        parts = content if isinstance(content, str) else [_part(part) for part in content]
        return {"role": message.role if message.role in _ROLES else "user", "content": parts}
    if not isinstance(message, Mapping):
        raise WrongTypeError(
            f"a prompt message must be a Message or a mapping, not {type(message).__name__}"
        )
    for name in ("role", "content"):
        if name not in message:
            raise MissingFieldError(f"a prompt message has no {name!r}")
    return dict(message)


def _part(part: MessageContent) -> dict[str, Any]:
    if isinstance(part, TextContent):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImageContent):
        if part.bytes is None:
            raise InvalidInputError(f"image {part.id!r} was read without its bytes")
        data = base64.b64encode(part.bytes).decode("ascii")
        url = f"data:{part.mime_type.value};base64,{data}"
        return {"type": "image_url", "image_url": {"url": url}}
    raise WrongTypeError(f"a {type(part).__name__} cannot be sent to a model")


def image_sizes(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the raw bytes of each image in messages; 0 for one given by its address."""
    sizes = []
    for message in messages:
        content = message["content"]
        for part in content if isinstance(content, list | tuple) else ():
            if part.get("type") != "image_url":
                continue
            image = part.get("image_url")
            url = str(image.get("url") if isinstance(image, Mapping) else image)
            data = url.partition(",")[2] if url.startswith("data:") else ""
            sizes.append(len(data.rstrip("=")) * 3 // 4)
    return sizes


def response_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the structured output option for a JSON schema."""
    named = {"name": "answer", "schema": dict(schema), "strict": _is_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


def _is_strict(schema: object) -> bool:
    """Whether providers accept a schema as strict: closed objects with all fields required."""
    if isinstance(schema, list | tuple):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("required", ())) != set(properties):
            return False
    return all(map(_is_strict, schema.values()))


def schema_reminder(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message that asks for JSON of a schema in words."""
    text = json.dumps(schema, ensure_ascii=False)
    content = f"Answer with JSON only, no other text, that follows this JSON schema:\n{text}"
    return {"role": "user", "content": content}
