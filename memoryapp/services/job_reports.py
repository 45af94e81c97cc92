"""What the page of one job shows: what it was given, what it said, stored and lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.utils import timezone

from memoryapp.access import Access
from memoryapp.memory import inspector
from memoryapp.models import UNFINISHED, Job, JobState
from memoryapp.services import jobs, threads
from oracleagentmemory.core.extractors.jobs import ExtractionJob, JobProblem, JobResult
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import RelationRow, Row

#: Records of one kind that a page shows, and that an answer can hold.
SHOWN, MOST = 100, 500


@dataclass(frozen=True, slots=True)
class Given:
    """A message that a job reads; no row when it is gone or not the caller's to see."""

    message_id: str
    row: Row | None
    is_context: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """One job with all that is known of it, within the caller's sight.

    Attributes:
        given: None for a job that another release wrote.
        result: What came of it; None before its end, or when it cannot be read.
        is_withheld: Answers quote what the model was shown; a caller who may not see all of the
            thread sees none of them, nor what was lost and why.
        waits_for: Why a queued job does not run yet.
        message_count: Messages that it reads, of which `messages` are the first.
        shown: Records of each kind that were looked for, the first ones.
        tries: Jobs that do its work again.
    """

    job: Job
    given: ExtractionJob | None
    result: JobResult | None
    is_withheld: bool
    waits_for: str
    message_count: int = 0
    messages: Sequence[Given] = ()
    memories: Sequence[Row] = ()
    relations: Sequence[RelationRow] = ()
    tries: Sequence[Job] = ()
    shown: int = SHOWN

    @property
    def error(self) -> str:
        """Why it failed, or what its last run failed of."""
        return "" if self.is_withheld else self.job.error

    @property
    def problems(self) -> Sequence[JobProblem]:
        """What was lost."""
        return self.result.problems if self.result else ()

    @property
    def hidden_memories(self) -> int:
        """Memories that it stored and that are gone, or not the caller's to see."""
        stored = self.result.memory_ids if self.result else ()
        return len(stored[: self.shown]) - len(self.memories)

    @property
    def hidden_relations(self) -> int:
        """Relations that it stored and that are gone, or not the caller's to see."""
        return (
            len(self.result.relation_ids[: self.shown]) - len(self.relations) if self.result else 0
        )

    @property
    def may_be_cancelled(self) -> bool:
        """Whether it has not ended."""
        return not self.job.is_finished

    @property
    def may_be_retried(self) -> bool:
        """Whether it has ended and lost something."""
        return self.job.is_finished and self.job.state != JobState.SUCCEEDED


def get(access: Access, job_id: str, *, shown: int = SHOWN) -> JobReport:
    """Return what is known of one job, with at most ``shown`` records of a kind.

    Raises: NotFoundError.
    """
    job = jobs.get(access, job_id)
    given, result = _given(job), _result(job)
    is_withheld = _is_withheld(access, job)
    if result is not None and is_withheld:
        result = replace(result, answers=(), problems=())
    ids = _message_ids(given)
    return JobReport(
        job=job,
        given=given,
        result=result,
        is_withheld=is_withheld,
        waits_for=waits_for(job),
        message_count=len(ids),
        messages=_messages(access, dict(list(ids.items())[:shown])),
        memories=_memories(access, result.memory_ids[:shown] if result else ()),
        relations=_relations(access, result.relation_ids[:shown] if result else ()),
        tries=_tries(job),
        shown=shown,
    )


def sees_errors(access: Access) -> bool:
    """Whether lists show errors, which may quote what a model was shown."""
    return access.user_ids is None


def waits_for(job: Job) -> str:
    """Say why a job that is queued does not run; empty when it is only its turn that is to come."""
    if job.state != JobState.QUEUED:
        return ""
    if job.wait_reason:
        return f"{job.wait_reason}; it goes on when the limit allows"
    if Job.objects.filter(queue_key=job.queue_key, state__in=UNFINISHED, id__lt=job.pk).exists():
        return "an earlier job of the same thread or image has not ended"
    if job.not_before > timezone.now():
        return "its last run failed of something that may pass; it is tried again after a pause"
    return at_once()


def at_once() -> str:
    """Say that as many jobs run as may; empty when another one may."""
    most = settings.MEMORY_LLM_CONCURRENCY
    live = Job.objects.filter(state=JobState.RUNNING, lease_until__gte=timezone.now())
    if live.count() < most:
        return ""
    return f"{most:,} jobs run, as many as may at the same time (MEMORY_LLM_CONCURRENCY)"


def _tries(job: Job) -> list[Job]:
    again = Job.objects.filter(queue_key=job.queue_key, id__gt=job.pk, retry_of=job.job_id)
    return list(again.defer("payload", "result").order_by("id")[:SHOWN])


def _given(job: Job) -> ExtractionJob | None:
    try:
        return ExtractionJob.from_json(job.payload)
    except InvalidInputError:
        return None


def _result(job: Job) -> JobResult | None:
    try:
        return None if job.result is None else JobResult.from_json(job.result)
    except InvalidInputError:
        return None


def _is_withheld(access: Access, job: Job) -> bool:
    if access.user_ids is None or not job.thread_id:
        return False
    if inspector().record("thread", job.thread_id) is None:
        # Whose messages it held, nobody can tell any more.
        return True
    seen = threads.digest(access, job.thread_id)
    held = inspector().thread_digests([job.thread_id])[job.thread_id]
    whole = (held.message_count, held.memory_count)
    return (seen.message_count, seen.memory_count) != whole


def _message_ids(given: ExtractionJob | None) -> dict[str, bool]:
    """Return a job's messages in order, each with whether it is context alone."""
    if given is None:
        return {}
    learnt = [*given.message_ids, *(one for w in given.windows for one in w.message_ids)]
    found = dict.fromkeys(learnt, False)
    for window in given.windows:
        for message_id in window.earlier_ids:
            found.setdefault(message_id, True)
    return found


def _messages(access: Access, ids: dict[str, bool]) -> list[Given]:
    if not ids:
        return []
    page = inspector().page("message", ids=set(ids), user_ids=access.user_ids, limit=len(ids))
    rows = {row.record.id: row for row in page.rows}
    return [Given(one, rows.get(one), is_context) for one, is_context in ids.items()]


def _memories(access: Access, ids: Sequence[str]) -> list[Row]:
    if not ids:
        return []
    page = inspector().page("memory", ids=set(ids), user_ids=access.user_ids, limit=len(ids))
    rows = {row.record.id: row for row in page.rows}
    return [rows[one] for one in ids if one in rows]


def _relations(access: Access, ids: Sequence[str]) -> list[RelationRow]:
    if not ids:
        return []
    return inspector().relations(ids=list(ids), user_ids=access.user_ids, limit=len(ids)).rows
