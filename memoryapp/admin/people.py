"""People in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import UserAdmin
from django.db import transaction
from django.http import HttpRequest, HttpResponse

from memoryapp.forms.people import PersonForm
from memoryapp.models import Person
from memoryapp.services import people

if TYPE_CHECKING:
    PersonAdminBase = UserAdmin[Person]
else:
    PersonAdminBase = UserAdmin


@admin.register(Person)
class PersonAdmin(PersonAdminBase):
    """Accounts with role, visible users, language and time zone.

    For superusers only: whoever edits people could make themselves one. Nobody is deleted, only
    made inactive: the audit log names people, and a name must not become somebody else's.
    """

    form = PersonForm
    list_display = ("username", "role", "is_active", "is_staff", "last_login")
    list_filter = ("role", "is_active", "is_staff")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("What this person may see and do", {"fields": ("role", "user_ids")}),
        ("Name", {"fields": ("first_name", "last_name", "email")}),
        ("Pages", {"fields": ("language", "time_zone", "shortcuts")}),
        ("Admin site", {"fields": ("is_active", "is_staff", "is_superuser", "user_permissions")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "usable_password", "password1", "password2")}),
        ("What this person may see and do", {"fields": ("role", "user_ids")}),
    )

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Say whether people are listed at all."""
        return _is_superuser(request)

    def has_view_permission(self, request: HttpRequest, obj: Person | None = None) -> bool:
        """Say whether people are shown."""
        return _is_superuser(request)

    def has_add_permission(self, request: HttpRequest, obj: Person | None = None) -> bool:
        """Say whether people may be added."""
        return _is_superuser(request)

    def has_change_permission(self, request: HttpRequest, obj: Person | None = None) -> bool:
        """Say whether people may be changed."""
        return _is_superuser(request)

    def has_delete_permission(self, request: HttpRequest, obj: Person | None = None) -> bool:
        """Nobody may delete."""
        return False

    def log_addition(self, request: HttpRequest, obj: Person, message: Any) -> LogEntry:
        """Write the audit entry beside Django's own."""
        people.note(request.access, "create", obj, fields=[])  # type: ignore[attr-defined]
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Person, message: Any) -> LogEntry:
        """Write the audit entry beside Django's own."""
        fields = [name for part in message for name in part.get("changed", {}).get("fields", [])]
        people.note(request.access, "update", obj, fields=fields)  # type: ignore[attr-defined]
        return super().log_change(request, obj, message)

    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        """Set a password; Django writes it and its log apart."""
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)


def _is_superuser(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)
