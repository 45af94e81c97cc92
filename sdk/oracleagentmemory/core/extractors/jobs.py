"""Background jobs as data: what is to be extracted, and what came of it.

Both travel as JSON, so that another process can run a job and anyone can read its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar, get_args

from oracleagentmemory.apis.llms.llm import LlmUsage
from oracleagentmemory.core.extractors.memoryextractionconfig import (
    BackgroundExtractionQueueFullBehavior,
    MemoryExtractionMode,
)
from oracleagentmemory.core.extractors.settings import DEFAULTS, extraction_from_json
from oracleagentmemory.core.llms.answers import storable_text
from oracleagentmemory.errors import AgentMemoryError, InvalidInputError

JobKind = Literal["messages", "edit", "image"]
JobState = Literal["succeeded", "partial", "failed"]

T = TypeVar("T")

_INLINE = MemoryExtractionMode.INLINE


@dataclass(frozen=True, slots=True)
class Window:
    """What one extraction sees.

    Attributes:
        message_ids: The messages to learn from, in order.
        earlier_ids: Those before them, in order: context that is not learnt from.
    """

    message_ids: tuple[str, ...]
    earlier_ids: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the window as a JSON object."""
        return {"message_ids": list(self.message_ids), "earlier_ids": list(self.earlier_ids)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Window:
        """Return the window that ``to_json`` described."""
        return cls(_ids(saved, "message_ids"), _ids(saved, "earlier_ids"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionJob:
    """One extraction pass, or one image description, to be run at any time by any process.

    Attributes:
        job_id: Also the id of the extraction: a job that is run twice has one effect.
        kind: ``"messages"`` for new messages, ``"edit"`` for an edited one, ``"image"`` for an
            image that lacks its description.
        thread_id: ``None`` for an image that belongs to no thread; so are the two owners.
        message_ids: The messages that were added or edited, in order: their images are described
            and the summary is to cover them.
        windows: The extractions that are due, in order; none where extraction is off.
        image_id: The image of a job of that kind.
        settings: The thread's resolved configuration, in the form that a thread saves.
        reason: Why there is a job, for people: ``"add_messages"``.
    """

    job_id: str
    kind: JobKind
    thread_id: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    message_ids: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()
    image_id: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.job_id} ({self.kind}, {self.queue_key})"

    @property
    def queue_key(self) -> str:
        """What keeps jobs in order: those of one thread, or of one image, run one by one."""
        if self.thread_id is not None:
            return f"thread {self.thread_id}"
        return f"image {self.image_id or self.job_id}"

    @property
    def is_inline(self) -> bool:
        """Whether the call that made it runs it before it returns."""
        return MemoryExtractionMode(self._extraction("extraction_mode")) is _INLINE

    @property
    def queue_full_behavior(self) -> BackgroundExtractionQueueFullBehavior:
        """What its submission does when the queue is full."""
        found = self._extraction("background_extraction_queue_full_behavior")
        return BackgroundExtractionQueueFullBehavior(found)

    @property
    def queue_put_timeout_s(self) -> float:
        """Seconds that its submission may wait for a place in the queue."""
        return float(self._extraction("background_extraction_queue_put_timeout_seconds"))

    def _extraction(self, name: str) -> Any:
        saved = extraction_from_json(self.settings.get("memory_extraction_config"))
        return saved.get(name, DEFAULTS[name])

    def to_json(self) -> dict[str, Any]:
        """Return the job as a JSON object."""
        return {
            **{spec.name: getattr(self, spec.name) for spec in fields(self)},
            "message_ids": list(self.message_ids),
            "windows": [window.to_json() for window in self.windows],
            "settings": dict(self.settings),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> ExtractionJob:
        """Return the job that ``to_json`` described; what a later release added is left out.

        Raises:
            InvalidInputError: If a part is missing or has another type.
        """
        kind: JobKind = _one_of(saved, "kind", JobKind)
        return cls(
            job_id=_part(saved, "job_id", str),
            kind=kind,
            thread_id=_optional(saved, "thread_id", str),
            user_id=_optional(saved, "user_id", str),
            agent_id=_optional(saved, "agent_id", str),
            message_ids=_ids(saved, "message_ids"),
            windows=tuple(map(Window.from_json, _part(saved, "windows", list))),
            image_id=_optional(saved, "image_id", str),
            settings=_part(saved, "settings", dict),
            reason=_part(saved, "reason", str),
        )


@dataclass(frozen=True, slots=True)
class JobProblem:
    """Something that a job lost, and why.

    Attributes:
        step: Where: ``"queue"``, ``"caption"``, ``"shortening"``, ``"extraction"``,
            ``"metadata"``, ``"links"``, ``"summary"``, ``"run"``.
        reason: What went wrong, for people.
        raw: The part of the model's answer that could not be used, unchanged.
    """

    step: str
    reason: str
    raw: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the problem as a JSON object."""
        return {"step": self.step, "reason": self.reason, "raw": self.raw}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> JobProblem:
        """Return the problem that ``to_json`` described."""
        return cls(
            _part(saved, "step", str), _part(saved, "reason", str), _optional(saved, "raw", str)
        )


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """One answer of a model.

    Attributes:
        step: Which request it answers: ``"caption"``, ``"shortening"``, ``"extraction"``,
            ``"links"``, ``"summary"``.
        prompt_version: Version of the prompt file.
        model: Name of the model, if it has one.
        raw: The text; only NUL and lone surrogates, which no database keeps, are taken out.
        usage: Tokens used, if the model tells them.
        finish_reason: Why the answer ended, if the model tells; ``"length"`` when it was cut off.
    """

    step: str
    prompt_version: str
    model: str | None
    raw: str
    usage: LlmUsage | None = None
    finish_reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a JSON object."""
        usage = self.usage and [self.usage.input_tokens, self.usage.output_tokens]
        return {
            "step": self.step,
            "prompt_version": self.prompt_version,
            "model": self.model,
            "raw": self.raw,
            "usage": usage,
            "finish_reason": self.finish_reason,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> ModelAnswer:
        """Return the answer that ``to_json`` described."""
        usage = _optional(saved, "usage", list)
        if usage is not None and [type(one) for one in usage] != [int, int]:
            raise InvalidInputError("usage of a saved answer must be two numbers of tokens")
        return cls(
            _part(saved, "step", str),
            _part(saved, "prompt_version", str),
            _optional(saved, "model", str),
            _part(saved, "raw", str),
            None if usage is None else LlmUsage(*usage),
            _optional(saved, "finish_reason", str),
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """A relation that a person may confirm: memories of two threads say the same.

    Attributes:
        memory_id: The memory of the job.
        other_id: The older one.
        relation_type: What they would be: ``"duplicates"``.
    """

    memory_id: str
    other_id: str
    relation_type: str = "duplicates"

    def to_json(self) -> dict[str, Any]:
        """Return the proposal as a JSON object."""
        return {
            "memory_id": self.memory_id,
            "other_id": self.other_id,
            "relation_type": self.relation_type,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Proposal:
        """Return the proposal that ``to_json`` described."""
        return cls(
            _part(saved, "memory_id", str),
            _part(saved, "other_id", str),
            _part(saved, "relation_type", str),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What came of a job.

    Attributes:
        job_id: The job.
        thread_id: Its thread, if it has one.
        state: ``"succeeded"``; ``"partial"`` when something was lost; ``"failed"`` when all was.
        memory_ids: Memories that it stored or gave another source, in order.
        relation_ids: Relations that it stored.
        proposals: Relations that it leaves to people.
        problems: What was lost.
        answers: Every answer of a model, in order.
    """

    job_id: str
    state: JobState
    thread_id: str | None = None
    memory_ids: tuple[str, ...] = ()
    relation_ids: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    problems: tuple[JobProblem, ...] = ()
    answers: tuple[ModelAnswer, ...] = ()

    @property
    def tokens(self) -> LlmUsage:
        """Tokens of all answers whose model tells them."""
        used = [answer.usage for answer in self.answers if answer.usage is not None]
        return LlmUsage(
            sum(one.input_tokens for one in used), sum(one.output_tokens for one in used)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {
            "job_id": self.job_id,
            "thread_id": self.thread_id,
            "state": self.state,
            "memory_ids": list(self.memory_ids),
            "relation_ids": list(self.relation_ids),
            "proposals": [proposal.to_json() for proposal in self.proposals],
            "problems": [problem.to_json() for problem in self.problems],
            "answers": [answer.to_json() for answer in self.answers],
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> JobResult:
        """Return the result that ``to_json`` described; see :meth:`ExtractionJob.from_json`."""
        state: JobState = _one_of(saved, "state", JobState)
        return cls(
            job_id=_part(saved, "job_id", str),
            thread_id=_optional(saved, "thread_id", str),
            state=state,
            memory_ids=_ids(saved, "memory_ids"),
            relation_ids=_ids(saved, "relation_ids"),
            proposals=tuple(map(Proposal.from_json, _part(saved, "proposals", list))),
            problems=tuple(map(JobProblem.from_json, _part(saved, "problems", list))),
            answers=tuple(map(ModelAnswer.from_json, _part(saved, "answers", list))),
        )


def failed_result(job: ExtractionJob, step: str, reason: str) -> JobResult:
    """Return the result of a job that ended before it could say anything itself."""
    return JobResult(
        job_id=job.job_id,
        thread_id=job.thread_id,
        state="failed",
        problems=(JobProblem(step, reason),),
    )


def explained(failure: BaseException) -> str:
    """Return what failed, for a problem's reason; any database can keep it."""
    code = f" ({failure.code})" if isinstance(failure, AgentMemoryError) else ""
    return storable_text(f"{type(failure).__name__}{code}: {failure}")


def _part(saved: Mapping[str, Any], name: str, kind: type[T]) -> T:
    value = saved.get(name)
    if not isinstance(value, kind):
        raise InvalidInputError(f"{name} of a saved job must be a {kind.__name__}")
    return value


def _optional(saved: Mapping[str, Any], name: str, kind: type[T]) -> T | None:
    return None if saved.get(name) is None else _part(saved, name, kind)


def _ids(saved: Mapping[str, Any], name: str) -> tuple[str, ...]:
    ids = _part(saved, name, list)
    if not all(isinstance(one, str) for one in ids):
        raise InvalidInputError(f"{name} of a saved job must be a list of ids")
    return tuple(ids)


def _one_of(saved: Mapping[str, Any], name: str, choices: Any) -> Any:
    value = saved.get(name)
    if value not in get_args(choices):
        raise InvalidInputError(f"{name} of a saved job must be one of {get_args(choices)}")
    return value
