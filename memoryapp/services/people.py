"""Browser accounts."""

from __future__ import annotations

import secrets

from django.db import transaction

from memoryapp.access import Access, Role
from memoryapp.models import Person
from memoryapp.services import audit

FIRST_ADMIN = "admin"


def find_admin() -> Person | None:
    """The oldest account that may do everything; None on a new installation."""
    return Person.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()


def create_first_admin(access: Access) -> tuple[Person, str]:
    """Make the first account, and return it with the password that nobody can read again."""
    access.require_admin()
    password = secrets.token_urlsafe(12)
    with transaction.atomic():
        person = Person.objects.create_superuser(
            username=_free_name(), password=password, role=Role.ADMIN
        )
        audit.record(access, "create", "person", person.get_username(), reason="first start")
    return person, password


def is_last_admin(person: Person) -> bool:
    """Whether nobody else could enter the admin site and give rights."""
    able = Person.objects.filter(is_superuser=True, is_staff=True, is_active=True)
    return able.filter(pk=person.pk).exists() and not able.exclude(pk=person.pk).exists()


def note(access: Access, action: str, person: Person, *, fields: list[str]) -> None:
    """Log a change that the admin site has made in this transaction, with the rights it left."""
    access.require_admin()
    rights = {
        name: getattr(person, name)
        for name in ("role", "user_ids", "is_active", "is_staff", "is_superuser")
    }
    detail = {"fields": fields, "rights": rights}
    audit.record(access, action, "person", person.get_username(), detail=detail)


def _free_name() -> str:
    """``admin``, unless a deactivated or lesser account has that name."""
    taken = set(Person.objects.filter(username__startswith=FIRST_ADMIN).values_list("username"))
    number = 1
    name = FIRST_ADMIN
    while (name,) in taken:
        number += 1
        name = f"{FIRST_ADMIN}{number}"
    return name
