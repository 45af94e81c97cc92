"""Background work on jobs. A message of the broker is a hint; what there is to do the rows say."""

from __future__ import annotations

from celery import shared_task

from memoryapp.services import workers


@shared_task(name="memoryapp.drain_jobs")
def drain_jobs() -> int:
    """Run jobs until none may run."""
    return workers.drain()


@shared_task(name="memoryapp.sweep_jobs")
def sweep_jobs() -> int:
    """Find jobs that nobody told of, whose worker died, or whose limit is no longer reached."""
    return workers.sweep()
