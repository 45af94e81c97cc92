"""Attempts to sign in, in the admin: axes would let them be deleted, and the traces with them."""

from __future__ import annotations

# Both register pages of their own when they are imported, and some are replaced here.
import axes.admin  # noqa: F401
import django.contrib.auth.admin  # noqa: F401
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib import admin
from django.contrib.auth.models import Group

from memoryapp.admin.read_only import ReadOnlyAdmin

# A group gives nobody anything here: rights are the person's role and users.
admin.site.unregister((AccessAttempt, AccessFailureLog, AccessLog, Group))


@admin.register(AccessAttempt)
class AccessAttemptAdmin(ReadOnlyAdmin):
    """Who is close to being locked out, or is; ``axes_reset_username`` lets them in at once."""

    list_display = ("attempt_time", "username", "ip_address", "failures_since_start")
    search_fields = ("username", "ip_address")
    exclude = ("get_data", "post_data")


@admin.register(AccessLog)
class AccessLogAdmin(ReadOnlyAdmin):
    """Who signed in and out, when and from where."""

    list_display = ("attempt_time", "logout_time", "username", "ip_address")
    search_fields = ("username", "ip_address")
    date_hierarchy = "attempt_time"
