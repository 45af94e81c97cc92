"""Pages of jobs: the queue, one job, and whether the model answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from memoryapp.access import Role
from memoryapp.forms.jobs import JobFilterForm, JobReasonForm
from memoryapp.models import Job
from memoryapp.services import job_reports, jobs, llm, workers
from memoryapp.services.jobs import Depth
from memoryapp.views.page import PageRequest, form_page, posted
from oracleagentmemory.errors import ConflictError

SECTION = {"section": "job-list"}
#: Seconds between two looks: while something runs or may run at any time, and while all that is
#: queued waits for a limit.
POLL_S, SLOW_POLL_S = 2, 30
#: Fewer than other lists show: this one is drawn again every two seconds.
JOBS_PER_PAGE = 25


@require_safe
def job_list(request: PageRequest) -> HttpResponse:
    """The queue: one page of jobs by ``?state= kind= user= thread= model= since=``."""
    form = JobFilterForm(request.GET)
    context = {**SECTION, **_llm_context(request), "form": form}
    if form.is_refused:
        return render(request, "memoryapp/jobs/list.html", context, status=422)
    context |= _queue_context(request, form)
    return render(request, "memoryapp/jobs/list.html", context)


@require_safe
def job_list_progress(request: PageRequest) -> HttpResponse:
    """The part of the list that changes by itself, by the same parameters."""
    form = JobFilterForm(request.GET)
    context: dict[str, Any] = {"form": form}
    if not form.is_refused:
        context |= _queue_context(request, form)
    return render(request, "memoryapp/jobs/_queue.html", context)


def _queue_context(request: PageRequest, form: JobFilterForm) -> dict[str, Any]:
    filters, depth = form.filters(), jobs.depth(request.access)
    counts = jobs.counts(request.access, filters, queue=depth)
    waiting = depth.queued.value > depth.limited.value
    return {
        "page": jobs.list_page(
            request.access,
            filters,
            before=request.GET.get("before"),
            after=request.GET.get("after"),
            limit=JOBS_PER_PAGE,
            count=jobs.count_of(filters, counts),
        ),
        "counts": counts.items(),
        "depth": depth,
        "poll_s": _poll_s(depth),
        "at_once": job_reports.at_once() if waiting else "",
        "is_unattended": waiting and not workers.living(timezone.now()),
        "sees_errors": job_reports.sees_errors(request.access),
    }


def _poll_s(depth: Depth) -> int | None:
    if depth.is_at_rest:
        return None
    only_limited = not depth.running.value and depth.limited == depth.queued
    return SLOW_POLL_S if only_limited else POLL_S


def _llm_context(request: PageRequest) -> dict[str, Any]:
    is_admin = request.access.role is Role.ADMIN
    configured = llm.setup()
    tried = is_admin and configured.model is not None
    return {
        "llm": configured,
        "may_try": is_admin,
        "last_try": llm.last_try(request.access) if tried else None,
    }


@require_safe
def job_detail(request: PageRequest, job_id: str) -> HttpResponse:
    """One job: what it was given, asked, stored and lost."""
    context = {**SECTION, **_job_context(request, job_id)}
    return render(request, "memoryapp/jobs/detail.html", context)


@require_safe
def job_progress(request: PageRequest, job_id: str) -> HttpResponse:
    """The part of a job's page that changes by itself."""
    return render(request, "memoryapp/jobs/_report.html", _job_context(request, job_id))


def _job_context(request: PageRequest, job_id: str) -> dict[str, Any]:
    report = job_reports.get(request.access, job_id)
    slow = bool(report.job.wait_reason)
    poll_s = None if report.job.is_finished else SLOW_POLL_S if slow else POLL_S
    return {"report": report, "job": report.job, "poll_s": poll_s}


@require_http_methods(["GET", "HEAD", "POST"])
def job_retry(request: PageRequest, job_id: str) -> HttpResponse:
    """Ask, then queue the same work again, as a new job."""
    told = "Queued again, as this new job."
    return _confirmed(request, job_id, "memoryapp/jobs/retry.html", jobs.retry, told)


@require_http_methods(["GET", "HEAD", "POST"])
def job_cancel(request: PageRequest, job_id: str) -> HttpResponse:
    """Ask, then end a job that has not ended."""
    told = "Job cancelled."
    return _confirmed(request, job_id, "memoryapp/jobs/cancel.html", jobs.cancel, told)


def _confirmed(
    request: PageRequest, job_id: str, template: str, change: Callable[..., Job], told: str
) -> HttpResponse:
    """Ask for a reason, then change the job; 409 when it is no longer in a state for that."""
    request.access.require_write()
    context = {**SECTION, "job": jobs.get(request.access, job_id)}
    form = JobReasonForm(posted(request))
    if request.method != "POST" or not form.is_valid():
        return form_page(request, template, context, form)
    try:
        changed = change(request.access, job_id, reason=form.cleaned_data["reason"])
    except ConflictError as error:
        form.add_error(None, str(error))
        return render(request, template, {**context, "form": form}, status=409)
    messages.success(request, told)
    return redirect("job-detail", changed.job_id)


@require_POST
def llm_try(request: PageRequest) -> HttpResponse:
    """Ask the configured model for one word; the page of jobs says what came of it."""
    request.access.require_admin()
    if llm.setup().model is None:
        messages.error(request, "No LLM is configured: there is nothing to test.")
        return redirect("job-list")
    found = llm.try_out(request.access)
    if found.error:
        messages.error(request, "The model did not answer; the reason stands above.")
    else:
        messages.success(request, f"{found.model} answered in {found.latency_ms:,} ms.")
    return redirect("job-list")
