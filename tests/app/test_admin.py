"""The Django admin of the app's own tables."""

from __future__ import annotations

import pytest
from django.test import Client

from memoryapp.access import Access, Role
from memoryapp.models import AuditEntry, Key, Person
from memoryapp.services import keys, memories

pytestmark = pytest.mark.django_db

LISTS = ("auditentry", "key", "person", "revision")


@pytest.fixture
def admin(db: None) -> Client:
    """A superuser."""
    client = Client()
    client.force_login(Person.objects.create_superuser("root", password="x"))
    return client


@pytest.fixture
def records(db: None) -> None:
    """One row of each table."""
    operator = Access.of_command("test")
    memory_id = memories.add(operator, content="Ada likes tea", user_id="ada")
    memories.set_status(operator, memory_id, "invalid", reason="<b>old</b>")
    keys.create(operator, name="agent", user_ids=["ada"])


@pytest.mark.parametrize("name", LISTS)
def test_lists_and_details_are_shown(admin: Client, records: None, name: str) -> None:
    url = f"/admin/memoryapp/{name}/"
    page = admin.get(url)
    assert page.status_code == 200
    assert admin.get(url, {"q": "ada"}).status_code == 200
    row = page.context["cl"].queryset.first()
    detail = admin.get(f"{url}{row.pk}/change/")
    assert detail.status_code == 200
    assert b"<b>old</b>" not in page.content + detail.content


@pytest.mark.parametrize("name", ["auditentry", "key", "revision"])
def test_what_tells_of_the_past_cannot_be_changed(admin: Client, records: None, name: str) -> None:
    url = f"/admin/memoryapp/{name}/"
    row = admin.get(url).context["cl"].queryset.first()
    assert admin.get(f"{url}add/").status_code == 403
    assert admin.post(f"{url}{row.pk}/change/", {}).status_code == 403
    assert admin.post(f"{url}{row.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_keys_hash_is_not_shown(admin: Client, records: None) -> None:
    key = Key.objects.get()
    page = admin.get(f"/admin/memoryapp/key/{key.pk}/change/")
    assert key.hash.encode() not in page.content


def test_a_person_gets_role_and_users(admin: Client) -> None:
    person = Person.objects.create_user("ann")
    url = f"/admin/memoryapp/person/{person.pk}/change/"
    form = admin.get(url).context["adminform"].form
    sent = {name: form[name].value() or "" for name in form.fields}
    sent = {name: value for name, value in sent.items() if value not in (None, "", False)}
    dates = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    sent |= dates | {"role": "reviewer", "user_ids": '["ada"]', "time_zone": "Asia/Tokyo"}
    assert admin.post(url, sent).status_code == 302
    person.refresh_from_db()
    assert (person.role, person.user_ids, person.time_zone) == (
        Role.REVIEWER,
        ["ada"],
        "Asia/Tokyo",
    )
    for wrong in ({"user_ids": '"ada"'}, {"user_ids": "[1]"}, {"time_zone": "Mars"}):
        assert admin.post(url, sent | wrong).status_code == 200
    person.refresh_from_db()
    assert person.user_ids == ["ada"]


def test_only_staff_may_enter(db: None) -> None:
    client = Client()
    client.force_login(Person.objects.create_user("ann", role=Role.ADMIN))
    assert client.get("/admin/").status_code == 302
    assert AuditEntry.objects.count() == 0
