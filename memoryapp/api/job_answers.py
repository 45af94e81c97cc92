"""What routes of jobs read and answer."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from memoryapp.api.answers import CountOut, PageOut, count_out
from memoryapp.api.schemas import Id, Moment, PageParameters
from memoryapp.models import Job
from memoryapp.services.job_reports import JobReport
from memoryapp.services.jobs import Depth
from oracleagentmemory.inspection import Row

State = Literal["queued", "running", "succeeded", "partial", "failed", "cancelled"]
Kind = Literal["messages", "edit", "image"]


class JobParameters(PageParameters):
    """Filters of the list of jobs."""

    state: State | None = None
    kind: Kind | None = None
    user_id: Id | None = None
    agent_id: Id | None = None
    thread_id: Id | None = None
    model: Id | None = Field(None, description="The model that it asked, as LiteLLM names it.")
    since: Moment | None = Field(None, description="Accepted since; ISO 8601, UTC if no zone.")
    until: Moment | None = None


class JobOut(BaseModel):
    """A job: one extraction, or the description of an image."""

    id: str
    kind: Kind
    state: State
    thread_id: str | None
    user_id: str | None
    agent_id: str | None
    reason: str = Field(description="What made it due, such as `add_messages`.")
    requested_by: str | None
    retry_of: str | None = Field(description="The job whose work it does again.")
    attempts: int = Field(description="How often a worker has begun it.")
    wait_reason: str | None = Field(description="The limit of tokens that it waits for.")
    error: str | None = Field(
        description="What failed; null, too, for a key that may not see all users' lists."
    )
    model: str | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="US dollars; null when a price is not known.")
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class QueueOut(BaseModel):
    """How much waits, within the key's scope, whatever the filters."""

    queued: CountOut
    running: CountOut
    limited: CountOut = Field(description="Those of the queued that wait for a limit of tokens.")
    oldest_s: float | None = Field(
        description="Seconds since the oldest job that has not ended was accepted."
    )


class JobPageOut(PageOut):
    """A page of jobs."""

    jobs: list[JobOut]
    queue: QueueOut


class GivenOut(BaseModel):
    """A message that a job reads."""

    id: str
    is_context: bool = Field(description="Whether it is only shown, not learnt from.")


class JobProblemOut(BaseModel):
    """Something that was refused or lost."""

    step: str
    reason: str
    raw: str | None = Field(description="The part of the answer that could not be used.")


class ModelAnswerOut(BaseModel):
    """One answer of the model, as it came."""

    step: str
    prompt_version: str
    model: str | None
    raw: str
    finish_reason: str | None
    input_tokens: int | None
    output_tokens: int | None


class ProposalOut(BaseModel):
    """A relation that a person may confirm."""

    memory_id: str
    other_id: str
    relation_type: str


class JobReportOut(JobOut):
    """A job with what it was given, said, stored and lost."""

    image_id: str | None
    waits_for: str | None = Field(description="Why it does not run yet, if it is queued.")
    messages: list[GivenOut]
    memory_ids: list[str] = Field(description="Memories it stored or gave another source.")
    relation_ids: list[str]
    proposals: list[ProposalOut]
    problems: list[JobProblemOut]
    answers: list[ModelAnswerOut]
    is_withheld: bool = Field(
        description="Whether your key may not see all of the thread: answers and problems are "
        "then left out, and so are ids of records you may not see."
    )


def job_out(job: Job, *, sees_errors: bool) -> JobOut:
    """Build the answer for a job of a list."""
    return JobOut(**_common(job, job.error if sees_errors else ""))


def queue_out(depth: Depth) -> QueueOut:
    """Build the answer for the queue."""
    return QueueOut(
        queued=count_out(depth.queued),
        running=count_out(depth.running),
        limited=count_out(depth.limited),
        oldest_s=depth.oldest_s,
    )


def report_out(report: JobReport, *, sees_all: bool) -> JobReportOut:
    """Build the answer for one job; ids of records that are gone are for who sees all."""
    result, given = report.result, report.given
    memory_ids = result.memory_ids if result else ()
    relation_ids = result.relation_ids if result else ()
    if not sees_all:
        memory_ids = _ids(report.memories)
        relation_ids = tuple(row.id for row in report.relations)
    proposals = result.proposals if result and not report.is_withheld else ()
    return JobReportOut(
        **_common(report.job, report.error),
        image_id=given.image_id if given else None,
        waits_for=report.waits_for or None,
        messages=[
            GivenOut(id=one.message_id, is_context=one.is_context)
            for one in report.messages
            if sees_all or one.row is not None
        ],
        memory_ids=list(memory_ids),
        relation_ids=list(relation_ids),
        proposals=[ProposalOut(**one.to_json()) for one in proposals],
        problems=[JobProblemOut(**one.to_json()) for one in report.problems],
        answers=_answers(report),
        is_withheld=report.is_withheld,
    )


def _answers(report: JobReport) -> list[ModelAnswerOut]:
    return [
        ModelAnswerOut(
            step=one.step,
            prompt_version=one.prompt_version,
            model=one.model,
            raw=one.raw,
            finish_reason=one.finish_reason,
            input_tokens=one.usage.input_tokens if one.usage else None,
            output_tokens=one.usage.output_tokens if one.usage else None,
        )
        for one in (report.result.answers if report.result else ())
    ]


def _common(job: Job, error: str) -> dict[str, Any]:
    plain = ("kind", "state", "reason", "attempts", "input_tokens", "output_tokens")
    texts = ("thread_id", "user_id", "agent_id", "requested_by", "retry_of", "wait_reason", "model")
    return {
        "id": job.job_id,
        **{name: getattr(job, name) for name in plain},
        **{name: getattr(job, name) or None for name in texts},
        "error": error or None,
        "cost_usd": None if job.cost is None else float(job.cost),
        "created_at": job.created_at,
        "started_at": job.started_at,
        "ended_at": job.ended_at,
    }


def _ids(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(row.record.id for row in rows)
