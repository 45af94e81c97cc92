"""The audit log: one entry a change, never altered."""

from __future__ import annotations

from typing import NoReturn

from django.db import models


class AuditEntry(models.Model):
    """Who did what to which record, by which credential, when and why."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.CharField(max_length=200)
    action = models.CharField(max_length=32)
    noun = models.CharField(max_length=32)
    record_id = models.CharField(max_length=128, blank=True, default="")
    user_id = models.CharField(max_length=128, blank=True, default="")
    reason = models.CharField(max_length=500, blank=True, default="")
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ("-id",)
        verbose_name_plural = "audit entries"
        indexes = (models.Index(fields=("noun", "record_id"), name="audit_record"),)

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.noun} {self.record_id}".rstrip()

    def save(self, *args: object, **kwargs: object) -> None:
        """Insert; a stored entry is never written again."""
        if self.pk is not None:
            raise TypeError("audit entries are append-only")
        super().save(*args, **kwargs)

    def delete(self, *args: object, **kwargs: object) -> NoReturn:
        """Refuse: the log would no longer say what happened."""
        raise TypeError("audit entries are append-only")
