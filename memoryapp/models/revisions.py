"""What a record was before and after each update and delete."""

from __future__ import annotations

from django.db import models

from memoryapp.models.audit import AuditEntry


class Revision(models.Model):
    """The state of one record around one change; ``after`` is null when it was deleted."""

    kind = models.CharField(max_length=32)
    record_id = models.CharField(max_length=128)
    before = models.JSONField()
    after = models.JSONField(null=True)
    audit_entry = models.ForeignKey(AuditEntry, on_delete=models.PROTECT, related_name="revisions")

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=("kind", "record_id"), name="revision_record"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.record_id}"
