"""The first account of an installation."""

from __future__ import annotations

import pytest

from memoryapp.access import Access, Role
from memoryapp.models import AuditEntry, Person
from memoryapp.services import people

pytestmark = pytest.mark.django_db
OPERATOR = Access.of_command("test")


def test_first_admin_may_do_everything_and_has_the_shown_password() -> None:
    person, password = people.create_first_admin(OPERATOR)
    assert person.get_username() == "admin"
    assert person.is_superuser
    assert person.role == Role.ADMIN
    assert person.check_password(password)
    assert people.find_admin() == person
    assert AuditEntry.objects.get().record_id == "admin"


def test_a_deactivated_admin_counts_as_none_and_keeps_its_name() -> None:
    Person.objects.create_user("admin", is_superuser=True, is_active=False)
    assert people.find_admin() is None
    person, _ = people.create_first_admin(OPERATOR)
    assert person.get_username() == "admin2"


def test_two_installations_do_not_share_a_password() -> None:
    _, first = people.create_first_admin(OPERATOR)
    _, second = people.create_first_admin(OPERATOR)
    assert first != second
