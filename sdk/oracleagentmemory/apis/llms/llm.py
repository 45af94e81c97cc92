"""The contract of a language model."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypedDict

from oracleagentmemory._threaded import TwinOwner, threaded
from oracleagentmemory.apis.message import Message


class ChatMessageTypedDictT(TypedDict):
    """A prompt message in the shape of the chat completions protocol."""

    role: str
    content: str | list[Mapping[str, Any]] | None


PromptMessage: TypeAlias = Message | Mapping[str, str | Sequence[Mapping[str, Any]]]
Prompt: TypeAlias = str | Sequence[PromptMessage] | ChatMessageTypedDictT


@dataclass(frozen=True)
class LlmUsage:
    """Tokens that a request used, as the provider counts them."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class LlmResponse:
    """What a model answered; equality is that of the text.

    Attributes:
        text: The answer.
        usage: Tokens used, if the model tells them.
        finish_reason: Why the answer ended, if the model tells: ``"stop"``, or ``"length"`` when
            it was cut by ``max_tokens``.
    """

    text: str
    usage: LlmUsage | None = field(default=None, compare=False)
    finish_reason: str | None = field(default=None, compare=False)


class ILlm(TwinOwner, abc.ABC):
    """A language model."""

    @abc.abstractmethod
    def generate(
        self,
        /,
        prompt: Prompt,
        *,
        response_json_schema: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> LlmResponse:
        """Return the model's answer to a prompt.

        Args:
            prompt: A text or a sequence of messages.
            response_json_schema: JSON schema that the answer should follow.
            kwargs: Options of the provider, such as ``max_tokens``.
        """

    generate_async = threaded(generate)
