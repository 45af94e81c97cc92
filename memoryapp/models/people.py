"""Browser accounts."""

from __future__ import annotations

import functools
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models

from memoryapp.access import Role
from memoryapp.models.fields import check_user_ids


@functools.cache
def time_zones() -> tuple[str, ...]:
    """Every zone of the zone database, in order; kept, for reading it walks a folder."""
    return tuple(sorted(available_timezones()))


def check_time_zone(value: str) -> None:
    """Refuse a name that the zone database does not know."""
    if value not in time_zones():
        raise ValidationError("%(value)s is not a known time zone.", params={"value": value})


def languages() -> list[tuple[str, str]]:
    """The languages of the pages; a function, so that the list is no matter of migrations."""
    return list(settings.LANGUAGES)


class Person(AbstractUser):
    """An account that signs in with a browser."""

    ROLES = ((Role.READER, "Reader"), (Role.REVIEWER, "Reviewer"), (Role.ADMIN, "Admin"))

    role = models.CharField(max_length=16, choices=ROLES, default=Role.READER)
    user_ids = models.JSONField(
        "visible user ids",
        null=True,
        blank=True,
        default=None,
        validators=[check_user_ids],
        help_text="A JSON list of user ids this person may see. Empty: all of them.",
    )
    language = models.CharField(max_length=16, choices=languages, blank=True, default="")
    time_zone = models.CharField(
        max_length=64,
        blank=True,
        default="",
        validators=[check_time_zone],
        help_text="Such as Europe/Berlin. Empty: the server's zone.",
    )
    shortcuts = models.BooleanField(
        "keyboard shortcuts", default=True, help_text="Single keys such as / and j, k on lists."
    )

    class Meta(AbstractUser.Meta):
        verbose_name = "person"
        verbose_name_plural = "people"

    def __str__(self) -> str:
        return self.get_username()
