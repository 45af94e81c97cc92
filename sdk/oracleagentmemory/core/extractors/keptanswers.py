"""The model of one run of a job: whatever asks it, its answers are kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from oracleagentmemory.apis.llms.llm import ILlm, LlmResponse, LlmUsage, Prompt
from oracleagentmemory.apis.message import ImageContent, Message, TextContent
from oracleagentmemory.apis.validation import ID_MAX_BYTES
from oracleagentmemory.core.extractors.jobs import ModelAnswer
from oracleagentmemory.core.extractors.journal import JobJournal
from oracleagentmemory.core.llms.answers import storable_text
from oracleagentmemory.errors import ModelAnswerError


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer, and what the run that asked for it kept beside it."""

    answer: ModelAnswer
    beside: Any = None


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked for while a block of `KeptAnswers.at` runs."""

    step: str = ""
    prompt_version: str = ""
    key: str | None = None
    beside: Any = None


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
        self._request = _Request()

    @property
    def model(self) -> str | None:
        """The model's name, as its adapter tells it; at most 128 bytes, as a source holds it."""
        name = getattr(self._llm, "model", None)
        if not isinstance(name, str):
            return None
        return storable_text(name).encode()[:ID_MAX_BYTES].decode(errors="ignore") or None

    @property
    def supports_vision(self) -> bool:
        """Whether the model reads images."""
        return bool(getattr(self._llm, "supports_vision", True))

    @contextmanager
    def at(
        self, step: str, prompt_version: str, *, key: str | None = None, beside: Any = None
    ) -> Iterator[ILlm]:
        """Note answers under a step while the block runs.

        Args:
            step: As in :class:`ModelAnswer`.
            prompt_version: Name and version of the prompt.
            key: Names the one request of the block, for `kept`. Without it an answer of an earlier
                run serves only a request that is the same, word by word.
            beside: A JSON value that is kept with the answer.
        """
        before = self._request
        self._request = _Request(step, prompt_version, key, beside)
        try:
            yield self
        finally:
            self._request = before

    def of_step(self, step: str, prompt_version: str) -> ILlm:
        """Return the model as one that is always asked under a step, whatever block runs."""
        return _OfStep(self, step, prompt_version)

    def kept(self, step: str, key: str) -> Kept | None:
        """Return what an earlier run kept of a request, and count its answer as one of this."""
        noted = self._journal.recall(f"answer {step} {key}")
        if noted is None:
            return None
        found = Kept(ModelAnswer.from_json(noted["answer"]), noted["beside"])
        self.answers.append(found.answer)
        return found

    def generate(
        self,
        /,
        prompt: Prompt,
        *,
        response_json_schema: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> LlmResponse:
        """Return the model's answer, or that of an earlier run.

        Raises:
            ModelAnswerError: If the answer is no text.
        """
        request = self._request
        if request.key is None:
            request = replace(request, key=_digest(prompt, response_json_schema))
        found = self.kept(request.step, str(request.key))
        if found is None:
            answer = self._ask(request, prompt, response_json_schema, kwargs)
            noted = {"answer": answer.to_json(), "beside": request.beside}
            self._journal.remember(f"answer {request.step} {request.key}", noted)
            self.answers.append(answer)
        else:
            answer = found.answer
        return LlmResponse(answer.raw, answer.usage, answer.finish_reason)

    def _ask(
        self,
        request: _Request,
        prompt: Prompt,
        schema: dict[str, Any] | None,
        options: dict[str, Any],
    ) -> ModelAnswer:
        # Models of callers may not know the argument: it is left out where there is no schema.
        asked = options if schema is None else {**options, "response_json_schema": schema}
        try:
            response = self._llm.generate(prompt, **asked)
            text = getattr(response, "text", None)
            if not isinstance(text, str):
                raise ModelAnswerError(
                    f"the model answered with a {type(text).__name__}, not a text"
                )
        except Exception as failure:
            self.failures.append((request.step, failure))
            raise
        reason = getattr(response, "finish_reason", None)
        return ModelAnswer(
            request.step,
            request.prompt_version,
            self.model,
            storable_text(text),
            _counted(getattr(response, "usage", None)),
            storable_text(reason) if isinstance(reason, str) else None,
        )


def _counted(usage: object) -> LlmUsage | None:
    """Return what a model says that it used, if these are numbers of tokens."""
    if not isinstance(usage, LlmUsage):
        return None
    counts = (usage.input_tokens, usage.output_tokens)
    return usage if all(type(one) is int and one >= 0 for one in counts) else None


class _OfStep(ILlm):
    """A model whose answers are noted under one step."""

    def __init__(self, llm: KeptAnswers, step: str, prompt_version: str) -> None:
        self._llm = llm
        self._step = (step, prompt_version)

    def generate(
        self,
        /,
        prompt: Prompt,
        *,
        response_json_schema: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> LlmResponse:
        """Return the answer."""
        with self._llm.at(*self._step) as llm:
            return llm.generate(prompt, response_json_schema=response_json_schema, **kwargs)


def _digest(prompt: Prompt, schema: Mapping[str, Any] | None) -> str:
    """Return what only an equal request has, too; ids of content parts do not count."""
    digest = hashlib.sha256(json.dumps(schema, sort_keys=True).encode())
    for one in _words(prompt):
        digest.update(b"%d:" % len(one) + one)
    return digest.hexdigest()


def _words(value: object) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, Message):
        yield from _words([value.role, value.content])
    elif isinstance(value, TextContent):
        yield from _words(["text", value.text])
    elif isinstance(value, ImageContent):
        yield from _words(["image", value.mime_type.value, value.bytes])
    elif isinstance(value, Mapping):
        yield from _words([part for pair in value.items() for part in pair])
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _words(one)
    else:
        yield str(value).encode("utf-8", "surrogatepass")
