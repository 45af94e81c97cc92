"""Jobs: list, read, cancel and retry what workers learn from messages."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from memoryapp.access import Access
from memoryapp.memory import inspector, scheduler
from memoryapp.models import UNFINISHED, Job, JobNote, JobState
from memoryapp.services import audit
from oracleagentmemory.core.extractors.jobs import ExtractionJob, JobResult
from oracleagentmemory.errors import ConflictError, NotFoundError
from oracleagentmemory.inspection import Count, Row
from oracleagentmemory.inspection.results import COUNT_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilters:
    """What a list shows; None means any."""

    state: JobState | None = None
    kind: str | None = None
    user_id: str | None = None
    agent_id: str | None = None
    thread_id: str | None = None
    model: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def narrow(self, jobs: QuerySet[Job]) -> QuerySet[Job]:
        """Return those of the jobs that are meant; ``until`` is not included."""
        equal = {
            "state": self.state,
            "kind": self.kind,
            "user_id": self.user_id,
            "agent_id": self.agent_id,
            "thread_id": self.thread_id,
            "model": self.model,
            "created_at__gte": self.since,
            "created_at__lt": self.until,
        }
        return jobs.filter(**{name: value for name, value in equal.items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPage:
    """One page, newest first, with the count of all matches."""

    jobs: list[Job]
    older: str | None
    newer: str | None
    count: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """How much waits and for how long.

    Attributes:
        oldest_s: Seconds since the oldest job that has not ended was accepted; None: there is none.
        limited: Those of the queued jobs that wait for a limit of tokens to let them go on.
    """

    queued: Count
    running: Count
    limited: Count
    oldest_s: float | None

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is going to change by itself."""
        return not self.queued.value and not self.running.value


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetail:
    """A job with what its run left.

    Attributes:
        given: The job as it was accepted: its messages, windows and settings.
        result: What came of it; None before its end.
        messages: Those of its messages that still are there and that the caller may see, by id.
    """

    job: Job
    given: ExtractionJob
    result: JobResult | None
    messages: Mapping[str, Row]


def list_page(
    access: Access,
    filters: JobFilters,
    *,
    before: str | None = None,
    after: str | None = None,
    limit: int = 50,
    count: Count | None = None,
) -> JobPage:
    """Return one page of the jobs in this caller's scope.

    Args:
        before: A page's ``older``; what else it may be counts as none.
        after: A page's ``newer``.
        count: How many match, where that is known already; see :func:`count_of`.
    """
    # What jobs were given and what models answered is long, and no list shows it.
    matching = filters.narrow(_visible(access)).defer("payload", "result")
    start, forward = _cursor(before), _cursor(after)
    if start is None and forward is not None:
        rows = list(matching.filter(id__gt=forward).order_by("id")[: limit + 1])
        more_newer, more_older = len(rows) > limit, True
        rows = rows[:limit][::-1]
    else:
        some = matching if start is None else matching.filter(id__lt=start)
        rows = list(some.order_by("-id")[: limit + 1])
        more_newer, more_older = start is not None, len(rows) > limit
        rows = rows[:limit]
    return JobPage(
        jobs=rows,
        older=str(rows[-1].pk) if rows and more_older else None,
        newer=str(rows[0].pk) if rows and more_newer else None,
        count=_count(matching) if count is None else count,
    )


def counts(
    access: Access, filters: JobFilters, *, queue: Depth | None = None
) -> dict[JobState, Count]:
    """Return how many jobs are in each state, whatever state is filtered for.

    Args:
        queue: What :func:`depth` has counted; it is not counted again where nothing is filtered.
    """
    filters = replace(filters, state=None)
    found = filters.narrow(_visible(access))
    known: dict[JobState, Count] = {}
    if queue is not None and filters == JobFilters():
        known = {JobState.QUEUED: queue.queued, JobState.RUNNING: queue.running}
    return {state: known.get(state) or _count(found.filter(state=state)) for state in JobState}


def count_of(filters: JobFilters, by_state: Mapping[JobState, Count]) -> Count:
    """Return how many jobs match, from what :func:`counts` returned for the same filters."""
    if filters.state is not None:
        return by_state[filters.state]
    is_over = any(count.capped for count in by_state.values())
    return Count.of(sum(count.value for count in by_state.values()) + is_over)


def depth(access: Access) -> Depth:
    """Return how long the queue is, in this caller's scope."""
    visible = _visible(access)
    # Each state by itself, or all that is queued would be sorted to find its first.
    by_age = [visible.filter(state=state).order_by("id") for state in UNFINISHED]
    first = [jobs.values_list("created_at", flat=True).first() for jobs in by_age]
    accepted_at = min((moment for moment in first if moment is not None), default=None)
    age = None if accepted_at is None else timezone.now() - accepted_at
    queued = visible.filter(state=JobState.QUEUED)
    return Depth(
        queued=_count(queued),
        running=_count(visible.filter(state=JobState.RUNNING)),
        limited=_count(queued.exclude(wait_reason="")),
        oldest_s=None if age is None else max(0.0, age.total_seconds()),
    )


def get(access: Access, job_id: str) -> Job:
    """Return one job. Raises: NotFoundError."""
    job = _visible(access).filter(job_id=job_id).first()
    if job is None:
        raise NotFoundError(f"job {job_id!r} not found")
    return job


def detail(access: Access, job_id: str) -> JobDetail:
    """Return one job with its messages, answers and result. Raises: NotFoundError."""
    job = get(access, job_id)
    given = ExtractionJob.from_json(job.payload)
    ids = set(message_ids_of(given))
    rows: list[Row] = []
    if ids:
        page = inspector().page("message", ids=ids, user_ids=access.user_ids, limit=len(ids))
        rows = page.rows
    return JobDetail(
        job=job,
        given=given,
        result=None if job.result is None else JobResult.from_json(job.result),
        messages={row.record.id: row for row in rows},
    )


def known(access: Access, job_ids: Iterable[str]) -> frozenset[str]:
    """Return those of the ids that name jobs in this caller's scope: they have a page."""
    ids = set(job_ids)
    if not ids:
        return frozenset()
    found = _visible(access).filter(job_id__in=ids)
    return frozenset(found.values_list("job_id", flat=True))


def cancel(access: Access, job_id: str, *, reason: str = "") -> Job:
    """End a job that has not ended; a run that is under way can write nothing more.

    Raises: ConflictError when it has ended.
    """
    job = _writable(access, job_id)
    with transaction.atomic():
        if not cancel_all(Job.objects.filter(pk=job.pk), f"cancelled by {access.actor}"):
            raise ConflictError(f"job {job_id!r} has ended; there is nothing to cancel")
        audit.record(access, "cancel", "job", job_id, user_id=job.user_id, reason=reason)
    job.refresh_from_db()
    return job


def retry(access: Access, job_id: str, *, reason: str = "") -> Job:
    """Queue the same work again, as a new job; what is learnt a second time is not stored twice.

    Raises: ConflictError when the job has not ended or has lost nothing.
    """
    job = _writable(access, job_id)
    if not job.is_finished or job.state == JobState.SUCCEEDED:
        raise ConflictError(f"job {job_id!r} is {job.state}: only what failed can be tried again")
    with transaction.atomic():
        again = queue_again(job, requested_by=access.actor)
        audit.record(
            access,
            "retry",
            "job",
            job_id,
            user_id=job.user_id,
            reason=reason,
            detail={"new_job_id": again.job_id},
        )
    return again


def queue_again(job: Job, *, requested_by: str = "") -> Job:
    """Queue a job's work as a new one. Its answers would be others, so its ids must be, too."""
    new_id = str(uuid.uuid4())
    with transaction.atomic():
        again = Job.objects.create(
            job_id=new_id,
            kind=job.kind,
            thread_id=job.thread_id,
            user_id=job.user_id,
            agent_id=job.agent_id,
            queue_key=job.queue_key,
            reason=job.reason,
            requested_by=requested_by,
            accepted_by=scheduler().name,
            retry_of=job.job_id,
            payload={**job.payload, "job_id": new_id},
            not_before=timezone.now(),
            created_at=timezone.now(),
        )
        scheduler().hint_on_commit()
    return again


def cancel_all(jobs: QuerySet[Job], why: str) -> list[str]:
    """Cancel those that have not ended, and return their ids. Call it in a transaction.

    What their models answered goes at once: no run may note anything more.
    """
    unfinished = jobs.filter(state__in=UNFINISHED)
    ids = list(unfinished.order_by("id").values_list("job_id", flat=True))
    if ids:
        unfinished.update(
            state=JobState.CANCELLED,
            error=why,
            wait_reason="",
            lease_until=None,
            ended_at=timezone.now(),
        )
        JobNote.objects.filter(job__job_id__in=ids).delete()
    return ids


def message_ids_of(job: ExtractionJob) -> Iterable[str]:
    """Yield the messages that a job reads, some of them more than once."""
    yield from job.message_ids
    for window in job.windows:
        yield from window.earlier_ids
        yield from window.message_ids


def _writable(access: Access, job_id: str) -> Job:
    access.require_write()
    job = get(access, job_id)
    access.require_scope(job.user_id or None, job.agent_id or None)
    return job


def _visible(access: Access) -> QuerySet[Job]:
    if access.user_ids is None:
        return Job.objects.all()
    return Job.objects.filter(user_id__in=access.user_ids - {""})


def _count(jobs: QuerySet[Job]) -> Count:
    return Count.of(jobs.order_by()[: COUNT_LIMIT + 1].count())


def _cursor(value: str | None) -> int | None:
    # Digits of other scripts are digits to Python, and no number of more than 18 is one of ours.
    if value and value.isascii() and value.isdigit() and len(value) <= 18:
        return int(value)
    return None
