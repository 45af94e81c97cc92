"""What a run of a job notes for the next one, in the database that holds the records."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.db.transaction import atomic

from memoryapp.models import Job, JobNote
from memoryapp.services.claims import Claim
from oracleagentmemory.core.extractors.journal import FencedError


class JobNotes:
    """The SDK's ``JobJournal`` of one run; notes go when the job is settled."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim

    @property
    def may_run_again(self) -> bool:
        """Whether a run that ends with ``RetryableError`` is followed by another."""
        return self._claim.job.put_back < settings.MEMORY_JOB_RETRIES

    def recall(self, key: str) -> Any:
        """Return what a run of the job noted under a key, None when none got that far."""
        notes = JobNote.objects.filter(job=self._claim.job.pk, key=key)
        return notes.values_list("value", flat=True).first()

    def remember(self, key: str, value: Any, transaction: object = None) -> None:
        """Note a value, in the open transaction if there is one.

        Raises: FencedError when this run may not write any more.
        """
        with atomic():
            self.fence()
            JobNote.objects.update_or_create(
                job_id=self._claim.job.pk, key=key, defaults={"value": value}
            )

    def fence(self, transaction: object = None) -> None:
        """Raise `FencedError` if this run may not write any more.

        On Oracle the row stays locked until the transaction ends, as SQLite's whole file does, so
        that nobody cancels the job or takes it over between the look and the write.
        """
        self._require(self._claim.rows.select_for_update())

    def check(self) -> None:
        """Raise `FencedError` if this run has lost its job by now; locks nothing."""
        self._require(self._claim.rows)

    def _require(self, rows: QuerySet[Job]) -> None:
        if not rows.values_list("pk").first():
            raise FencedError(f"job {self._claim.job.job_id} was cancelled or taken over")
