"""Who runs which job: claiming, the lease, and the end of a run.

A run is one claim of a row: ``attempts`` is its number and ``claimed_by`` its worker. Every write
of a run asks for both (the fence), so of two runs of a job only the later one can write, whatever
the earlier one's worker believes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from memoryapp.models import UNFINISHED, Job, JobNote, JobState
from memoryapp.services import tokens
from oracleagentmemory.core.extractors.jobs import ExtractionJob, JobResult, failed_result

#: Workers that may die with a job before it fails.
MOST_CRASHES = 3
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 2.0, 600.0
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Claim:
    """One run of a job.

    Attributes:
        number: The job's ``attempts`` when it was claimed; what the run writes is fenced by it.
        ends_at: When it loses the job, on this process's monotonic clock, whatever its heartbeat.
    """

    job: Job
    worker: str
    number: int
    ends_at: float = field(compare=False)

    @property
    def rows(self) -> QuerySet[Job]:
        """The job's row while this run may write; none when it may not any more."""
        return Job.objects.filter(
            pk=self.job.pk, state=JobState.RUNNING, claimed_by=self.worker, attempts=self.number
        )


def claim_next(worker: str) -> Claim | None:
    """Claim the oldest job that may run now, or return None.

    It may when it is its turn in its thread, its pause is over, its worker died or it never had
    one, fewer than MEMORY_LLM_CONCURRENCY others run, and no limit of tokens is reached.
    """
    # A look without a lock first: workers that find nothing must not hold up writers.
    while _candidates(timezone.now()).exists():
        with transaction.atomic():
            now = timezone.now()
            live = Job.objects.filter(state=JobState.RUNNING, lease_until__gte=now)
            if live.count() >= settings.MEMORY_LLM_CONCURRENCY:
                return None
            some = list(_candidates(now)[:_LOOKED_AT])
            for job in some:
                if tokens.let_wait(job, now):
                    break
                if (claim := _claim(job, worker, now)) is not None:
                    return claim
    return None


def count_claimable(now: datetime) -> int:
    """Return how many jobs are first in their thread and may run now, limits left aside."""
    return _candidates(now).count()


def _candidates(now: datetime) -> QuerySet[Job]:
    """Return what could be claimed, oldest first."""
    before = Job.objects.filter(
        queue_key=OuterRef("queue_key"), state__in=UNFINISHED, id__lt=OuterRef("id")
    )
    due = Q(state=JobState.QUEUED, not_before__lte=now)
    lost = Q(state=JobState.RUNNING, lease_until__lt=now)
    return Job.objects.filter(due | lost).exclude(Exists(before)).order_by("id")


def _claim(job: Job, worker: str, now: datetime) -> Claim | None:
    """Claim a row as it was read; one that another worker has changed since is not claimed."""
    unchanged = Job.objects.filter(pk=job.pk, state=job.state, attempts=job.attempts)
    if job.attempts - job.put_back >= MOST_CRASHES:
        given = ExtractionJob.from_json(job.payload)
        reason = f"{MOST_CRASHES} workers in turn died, or lost it by its time limit"
        _end(unchanged, failed_result(given, "run", reason), reason)
        return None
    number = job.attempts + 1
    claimed = unchanged.update(
        state=JobState.RUNNING,
        attempts=number,
        claimed_by=worker,
        lease_until=now + _lease(),
        started_at=now,
        wait_reason="",
    )
    if not claimed:
        return None
    job.attempts = number
    return Claim(job, worker, number, time.monotonic() + settings.MEMORY_JOB_TIME_LIMIT_S)


def renew(claims: Sequence[Claim]) -> None:
    """Renew the leases of runs of this process, none beyond its time limit."""
    now, here = timezone.now(), time.monotonic()
    for claim in claims:
        left_s = claim.ends_at - here
        if left_s > 0:
            claim.rows.update(lease_until=now + min(_lease(), timedelta(seconds=left_s)))


def _lease() -> timedelta:
    return timedelta(seconds=settings.MEMORY_JOB_LEASE_S)


# -- the end of a run -----------------------------------------------------------------------------


def settle(claim: Claim, result: JobResult) -> bool:
    """Store what came of a run, and forget its notes; say whether it still had the job."""
    reasons = [problem.reason for problem in result.problems if problem.step != "metadata"]
    with transaction.atomic():
        settled = _end(claim.rows, result, "" if result.state == "succeeded" else reasons[0])
        if not settled:
            release(claim)
    return settled


def _end(rows: QuerySet[Job], result: JobResult, error: str) -> bool:
    pks = list(rows.select_for_update().values_list("pk", flat=True))
    JobNote.objects.filter(job__in=pks).delete()
    return bool(
        rows.update(
            state=JobState(result.state),
            result=result.to_json(),
            error=error,
            claimed_by="",
            wait_reason="",
            lease_until=None,
            ended_at=timezone.now(),
        )
    )


def put_back(claim: Claim, why: str, *, retry_after_s: float | None) -> bool:
    """Queue a job again after a failure that may pass; say whether the run still had it.

    The pause doubles each time and is never the same twice, so that jobs that failed together do
    not come back together; it is no shorter than the other side asked for.
    """
    pause_s = min(_FIRST_PAUSE_S * 2 ** min(claim.job.put_back, 20), _LONGEST_PAUSE_S)
    pause_s = max(pause_s * random.uniform(0.5, 1.5), retry_after_s or 0.0)  # noqa: S311
    back = claim.rows.update(
        state=JobState.QUEUED,
        put_back=F("put_back") + 1,
        not_before=timezone.now() + timedelta(seconds=pause_s),
        error=why,
        claimed_by="",
        lease_until=None,
    )
    if not back:
        release(claim)
    return bool(back)


def release(claim: Claim) -> None:
    """Let go of a job that was cancelled under way: nobody need wait for this run any more."""
    with transaction.atomic():
        ended = Job.objects.filter(
            pk=claim.job.pk,
            state=JobState.CANCELLED,
            claimed_by=claim.worker,
            attempts=claim.number,
        )
        if ended.update(claimed_by=""):
            JobNote.objects.filter(job=claim.job.pk).delete()
