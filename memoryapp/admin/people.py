"""People in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from memoryapp.models import Person

if TYPE_CHECKING:
    PersonAdminBase = UserAdmin[Person]
else:
    PersonAdminBase = UserAdmin


@admin.register(Person)
class PersonAdmin(PersonAdminBase):
    """Accounts with role, visible users, language and time zone."""

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
