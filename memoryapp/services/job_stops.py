"""Deletes and the jobs that could still write what is deleted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from memoryapp.models import UNFINISHED, Job, JobState
from memoryapp.services.jobs import cancel_all, message_ids_of, queue_again
from oracleagentmemory.core.extractors.jobs import ExtractionJob

_LOOK_S = 0.05


def stop_of_thread(thread_id: str) -> list[str]:
    """Cancel the jobs of a thread that is deleted in the open transaction.

    Runs that are under way can write nothing more once it is committed. Of jobs that have ended
    nothing stays that quotes the thread: what models answered, and what could not be used of it.

    Returns:
        The jobs whose runs are under way, for `still_running`.
    """
    jobs = Job.objects.filter(thread_id=thread_id)
    jobs.exclude(state__in=UNFINISHED).update(result=None, error="")
    return _stop(jobs, "its thread was deleted")


def stop_of_message(thread_id: str, message_id: str) -> list[str]:
    """Cancel what a message that is deleted in the open transaction was read for.

    What a job was to learn from other messages, a new job learns: its model never sees this one.
    A job that nobody has begun stays, if it has other messages; it reads what there is then.
    """
    stopped = []
    for job in Job.objects.filter(thread_id=thread_id, state__in=UNFINISHED).order_by("id"):
        given = ExtractionJob.from_json(job.payload)
        read = set(message_ids_of(given))
        has_others = bool(read - {message_id})
        if message_id not in read or (not job.attempts and has_others):
            continue
        stopped += _stop(Job.objects.filter(pk=job.pk), "a message that it read was deleted")
        if has_others:
            queue_again(job, requested_by=job.requested_by)
    return stopped


def _stop(jobs: QuerySet[Job], why: str) -> list[str]:
    running = jobs.filter(state=JobState.RUNNING, lease_until__gte=timezone.now())
    job_ids = list(running.order_by("id").values_list("job_id", flat=True))
    cancel_all(jobs, why)
    return job_ids


def still_running(job_ids: Sequence[str]) -> list[str]:
    """Wait until the runs of cancelled jobs have noticed, and name those that have not in time.

    It is up to MEMORY_DELETE_WAIT_S seconds. Whatever they do after that, they store nothing.
    """
    left = list(job_ids)
    for pause_s in _pauses(settings.MEMORY_DELETE_WAIT_S if left else 0.0):
        rows = Job.objects.filter(job_id__in=left, state=JobState.CANCELLED).exclude(claimed_by="")
        left = list(rows.order_by("id").values_list("job_id", flat=True))
        if not left:
            break
        threading.Event().wait(pause_s)
    return left


def _pauses(longest_s: float) -> Iterator[float]:
    end = time.monotonic() + longest_s
    while (left_s := end - time.monotonic()) > 0:
        yield min(_LOOK_S, left_s)
