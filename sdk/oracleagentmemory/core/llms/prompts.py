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
    """Return the raw bytes of each image in messages; 0 for one given by its address.

    Images count in every form that a provider's protocol has for them, not in ours alone: a limit
    that another spelling passes would be none.
    """
    sizes = []
    for message in messages:
        content = message["content"]
        for part in content if isinstance(content, list | tuple) else ():
            if isinstance(part, Mapping) and (size := _image_size(part)) is not None:
                sizes.append(size)
    return sizes


def _image_size(part: Mapping[str, Any]) -> int | None:
    """Return the raw bytes of a part that is an image, or ``None`` for any other part."""
    kind = part.get("type")
    if kind == "image":  # Anthropic's form, with bare base64
        data = _inner(part.get("source"), "data")
        return _base64_size(data) if isinstance(data, str) else 0
    if kind == "file":
        url = _inner(part.get("file"), "file_data")
        if not isinstance(url, str) or url[:11].lower() != "data:image/":
            return None
    elif kind in ("image_url", "input_image"):
        url = _inner(part.get("image_url"), "url")
    else:
        return None
    if not isinstance(url, str) or url[:5].lower() != "data:":
        return 0
    head, _, data = url.partition(",")
    return _base64_size(data) if head.lower().endswith(";base64") else len(data)


def _inner(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else value


def _base64_size(data: str) -> int:
    digits = len(data) - sum(map(data.count, " \t\r\n="))
    return digits * 3 // 4


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
