"""The audit log in the admin."""

from __future__ import annotations

from django.contrib import admin

from memoryapp.admin.read_only import ReadOnlyAdmin
from memoryapp.models import AuditEntry


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Who did what."""

    list_display = ("at", "actor", "action", "noun", "record_id", "user_id", "reason")
    list_filter = ("action", "noun")
    search_fields = ("actor", "record_id", "user_id", "reason")
    date_hierarchy = "at"
    # A count over a log that only grows would slow every page of it.
    show_full_result_count = False
