"""What people change about their own account."""

from __future__ import annotations

from django import forms
from django.db import transaction

from memoryapp.access import Access
from memoryapp.services import audit


def save(access: Access, form: forms.BaseForm, username: str, *, fields: list[str]) -> None:
    """Store a checked form of the person's own account; the log names fields, never values."""
    with transaction.atomic():
        form.save()  # type: ignore[attr-defined]
        audit.record(access, "update", "person", username, detail={"fields": fields})
