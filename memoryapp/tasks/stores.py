"""Background work on the store."""

from __future__ import annotations

import logging

from celery import shared_task

from memoryapp.access import Access
from memoryapp.services import stores

logger = logging.getLogger(__name__)


@shared_task(name="memoryapp.check_store")
def check_store() -> int:
    """Compare what stands beside the records with them; log and count the kinds of faults."""
    report = stores.check(Access.of_command("check_store"))
    for finding in report.findings:
        logger.error("the store has %d %s: %s", finding.count, finding.code, finding.meaning)
    return len(report.findings)
