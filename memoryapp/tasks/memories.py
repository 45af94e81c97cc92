"""Background work on memories."""

from __future__ import annotations

from celery import shared_task

from memoryapp.access import Access
from memoryapp.services import retention


@shared_task(name="memoryapp.purge_expired")
def purge_expired() -> int:
    """Delete what has expired; running it twice deletes nothing twice."""
    return retention.purge(Access.of_command("purge_expired"))
