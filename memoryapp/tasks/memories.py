"""Background work on memories."""

from __future__ import annotations

import logging

from celery import shared_task

from memoryapp.access import Access
from memoryapp.services import retention
from oracleagentmemory.errors import RetryableError

logger = logging.getLogger(__name__)


@shared_task(name="memoryapp.purge_expired")
def purge_expired() -> int:
    """Delete what has expired; running it twice deletes nothing twice."""
    try:
        return retention.purge(Access.of_command("purge_expired"))
    except RetryableError as error:
        # Another writer, or a re-embedding of hours: the next beat comes soon enough.
        logger.info("expired records stay until the next time: %s", error)
        return 0
