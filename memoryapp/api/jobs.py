"""``/api/v1/jobs``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ninja import Query, Router, Status

from memoryapp.api.answers import count_out
from memoryapp.api.job_answers import (
    JobPageOut,
    JobParameters,
    JobReportOut,
    job_out,
    queue_out,
    report_out,
)
from memoryapp.api.requests import ApiRequest, next_cursor, page_arguments, previous_cursor
from memoryapp.api.schemas import Body
from memoryapp.models import JobState
from memoryapp.services import job_reports, jobs
from memoryapp.services.jobs import JobFilters
from oracleagentmemory.errors import ConflictError, StateError

router = Router(tags=["jobs"])


@router.get("", response=JobPageOut, operation_id="list_jobs")
def list_jobs(request: ApiRequest, query: Query[JobParameters]) -> JobPageOut:
    """Return a page of jobs, newest first, and how long the queue is."""
    filters = JobFilters(
        state=None if query.state is None else JobState(query.state),
        kind=query.kind,
        user_id=query.user_id,
        agent_id=query.agent_id,
        thread_id=query.thread_id,
        model=query.model,
        since=query.since,
        until=query.until,
    )
    page = jobs.list_page(request.auth, filters, **page_arguments(query.cursor, query.limit))
    sees_errors = job_reports.sees_errors(request.auth)
    return JobPageOut(
        jobs=[job_out(job, sees_errors=sees_errors) for job in page.jobs],
        queue=queue_out(jobs.depth(request.auth)),
        count=count_out(page.count),
        next=next_cursor(page.older),
        previous=previous_cursor(page.newer),
    )


@router.get("/{id:job_id}", response=JobReportOut, operation_id="get_job")
def get_job(request: ApiRequest, job_id: str) -> JobReportOut:
    """Return one job: what it was given, what the model said, what was stored and lost."""
    return _report(request, job_id)


@router.post("/{id:job_id}/retry", response={201: JobReportOut}, operation_id="retry_job")
def retry_job(request: ApiRequest, job_id: str, body: Body) -> Status[JobReportOut]:
    """Queue the work of a job that failed or lost something again, and return the new job."""
    with _in_a_state_for_it():
        again = jobs.retry(request.auth, job_id, reason=body.reason)
    return Status(201, _report(request, again.job_id))


@router.post("/{id:job_id}/cancellation", response={201: JobReportOut}, operation_id="cancel_job")
def cancel_job(request: ApiRequest, job_id: str, body: Body) -> Status[JobReportOut]:
    """End a job that has not ended; a run that is under way can store nothing more."""
    with _in_a_state_for_it():
        jobs.cancel(request.auth, job_id, reason=body.reason)
    return Status(201, _report(request, job_id))


def _report(request: ApiRequest, job_id: str) -> JobReportOut:
    report = job_reports.get(request.auth, job_id, shown=job_reports.MOST)
    return report_out(report, sees_all=request.auth.user_ids is None)


@contextmanager
def _in_a_state_for_it() -> Iterator[None]:
    """Answer 409, not 412: the caller named no version, the job's state forbids it."""
    try:
        yield
    except ConflictError as error:
        raise StateError(str(error)) from error
