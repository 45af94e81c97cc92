"""A model that answers from a list and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from oracleagentmemory.apis import ILlm, LlmResponse


class ListedLlm(ILlm):
    """Gives the answers of a list, one a call, the last one for ever.

    An answer is a text, a JSON value, an exception to raise, or a function that gives one.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers) or [{"summary": "A summary.", "topics": ["a topic"]}]
        self.prompts: list[Any] = []
        self.schemas: list[Any] = []

    def generate(
        self, prompt: Any, *, response_json_schema: Any = None, **kwargs: Any
    ) -> LlmResponse:
        """Give the next answer."""
        self.prompts.append(prompt)
        self.schemas.append(response_json_schema)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            answer = answer()
        if isinstance(answer, Exception):
            raise answer
        return LlmResponse(answer if isinstance(answer, str) else json.dumps(answer))

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.prompts)

    def told(self, number: int = -1) -> str:
        """What the user's message of a prompt said."""
        return str(self.prompts[number][-1]["content"])
