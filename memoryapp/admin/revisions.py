"""Revisions in the admin."""

from __future__ import annotations

from django.contrib import admin

from memoryapp.admin.read_only import ReadOnlyAdmin
from memoryapp.models import Revision


@admin.register(Revision)
class RevisionAdmin(ReadOnlyAdmin):
    """Before and after."""

    list_display = ("audit_entry", "kind", "record_id")
    list_filter = ("kind",)
    list_select_related = ("audit_entry",)
    search_fields = ("record_id",)
    show_full_result_count = False
