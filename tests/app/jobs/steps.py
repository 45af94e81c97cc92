"""What tests do to jobs, and look at."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from memoryapp import memory
from memoryapp.models import Job
from memoryapp.services import claims


def stored() -> list[str]:
    return sorted(one.content or "" for one in memory.store().list_memories(limit=None))


def claim(name: str = "w") -> claims.Claim:
    found = claims.claim_next(name)
    assert found is not None
    return found


def lose(job: Job) -> None:
    """Let the lease of a job's worker be over."""
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def make_due(job: Job) -> None:
    """Let the pause of a job be over."""
    Job.objects.filter(pk=job.pk).update(not_before=timezone.now())


def fresh(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)
