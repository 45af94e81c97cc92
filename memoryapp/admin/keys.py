"""API keys in the admin: seen and described, made and revoked by ``memory_key``."""

from __future__ import annotations

from django.contrib import admin

from memoryapp.admin.read_only import ReadOnlyAdmin
from memoryapp.models import Key


@admin.register(Key)
class KeyAdmin(ReadOnlyAdmin):
    """Keys without their hash."""

    list_display = ("name", "prefix", "role", "agent_id", "created_at", "last_used_at")
    list_filter = ("role",)
    search_fields = ("name", "prefix")
    exclude = ("hash",)
