"""The model of one run of a job: whatever asks it, its answers are kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oracleagentmemory.apis.llms.llm import ILlm, LlmResponse, LlmUsage, Prompt
from oracleagentmemory.core.extractors.jobs import ModelAnswer
from oracleagentmemory.core.extractors.journal import JobJournal
from oracleagentmemory.errors import ModelAnswerError


class KeptAnswers(ILlm):
    """A model that answers a job, and its journal where an earlier run has the answer.

    Attributes:
        answers: Every answer so far, in order, unchanged.
        failures: Every request that failed, in order: its step and what the model raised.
    """

    def __init__(self, llm: ILlm, journal: JobJournal) -> None:
        self.answers: list[ModelAnswer] = []
        self.failures: list[tuple[str, Exception]] = []
        self._llm = llm
        self._journal = journal
        self._step = ""
        self._prompt_version = ""
        self._asked: Counter[str] = Counter()

    @property
    def model(self) -> str | None:
        """The model's name, as its adapter tells it."""
        name = getattr(self._llm, "model", None)
        return name if isinstance(name, str) else None

    @property
    def supports_vision(self) -> bool:
        """Whether the model reads images."""
        return bool(getattr(self._llm, "supports_vision", True))

    @contextmanager
    def at(self, step: str, prompt_version: str) -> Iterator[ILlm]:
        """Note answers under a step while the block runs.

        Args:
            step: As in :class:`ModelAnswer`.
            prompt_version: Name and version of the prompt.
        """
        before = (self._step, self._prompt_version)
        self._step, self._prompt_version = step, prompt_version
        try:
            yield self
        finally:
            self._step, self._prompt_version = before

    def generate(
        self,
        /,
        prompt: Prompt,
        *,
        response_json_schema: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> LlmResponse:
        """Return the model's answer; a run asks in one order, so the earlier run's fits.

        Raises:
            ModelAnswerError: If the answer is no text.
        """
        # Steps of a run come in one order, whatever was recalled.
        number = self._asked[self._step]
        self._asked[self._step] += 1
        key = f"answer {self._step} {number}"
        noted = self._journal.recall(key)
        if noted is not None:
            answer = ModelAnswer.from_json(noted)
        else:
            try:
                answer = self._ask(prompt, response_json_schema, kwargs)
            except Exception as failure:
                self.failures.append((self._step, failure))
                raise
            self._journal.remember(key, answer.to_json())
        self.answers.append(answer)
        return LlmResponse(answer.raw, answer.usage, answer.finish_reason)

    def _ask(
        self, prompt: Prompt, schema: dict[str, Any] | None, options: dict[str, Any]
    ) -> ModelAnswer:
        # Models of callers may not know the argument: it is left out where there is no schema.
        asked = options if schema is None else {**options, "response_json_schema": schema}
        response = self._llm.generate(prompt, **asked)
        text = getattr(response, "text", None)
        if not isinstance(text, str):
            raise ModelAnswerError(f"the model answered with a {type(text).__name__}, not a text")
        usage = getattr(response, "usage", None)
        reason = getattr(response, "finish_reason", None)
        return ModelAnswer(
            self._step,
            self._prompt_version,
            self.model,
            text,
            usage if isinstance(usage, LlmUsage) else None,
            reason if isinstance(reason, str) else None,
        )
