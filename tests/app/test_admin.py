"""The Django admin of the app's own tables."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import Permission
from django.db import DatabaseError
from django.test import Client, RequestFactory

from memoryapp.access import Access, Role
from memoryapp.models import AuditEntry, Key, Person
from memoryapp.services import keys, memories
from tests.app.tables import nothing_changes

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


def form_of(admin: Client, person: Person) -> tuple[str, dict[str, object]]:
    """The address of a person's form and what it sends when nothing is changed."""
    url = f"/admin/memoryapp/person/{person.pk}/change/"
    form = admin.get(url).context["adminform"].form
    sent = {name: form[name].value() or "" for name in form.fields}
    sent = {name: value for name, value in sent.items() if value not in (None, "", False)}
    return url, sent | {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}


def test_a_person_gets_role_and_users(admin: Client) -> None:
    person = Person.objects.create_user("ann")
    url, sent = form_of(admin, person)
    sent |= {"role": "reviewer", "user_ids": '["ada"]', "time_zone": "Asia/Tokyo"}
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


def test_changes_of_people_are_logged_with_the_rights_they_leave(admin: Client) -> None:
    new = {"username": "ann", "password1": "a long enough one", "usable_password": "true"}
    new |= {"password2": new["password1"], "role": "reviewer", "user_ids": '["ada"]'}
    assert admin.post("/admin/memoryapp/person/add/", new).status_code == 302
    person = Person.objects.get(username="ann")
    url, sent = form_of(admin, person)
    assert admin.post(url, sent | {"role": "reader"}).status_code == 302
    password = {"password1": "another long one", "password2": "another long one"}
    assert admin.post(url.replace("change/", "password/"), password).status_code == 302
    entries = AuditEntry.objects.order_by("id")
    assert [(e.actor, e.action, e.noun, e.record_id) for e in entries] == [
        ("person:root", "create", "person", "ann"),
        ("person:root", "update", "person", "ann"),
        ("person:root", "update", "person", "ann"),
    ]
    assert entries[0].detail["rights"]["user_ids"] == ["ada"]
    assert "Role" in entries[1].detail["fields"]
    assert entries[1].detail["rights"]["role"] == "reader"
    assert "another long one" not in str(entries[2].detail)


@pytest.mark.parametrize("page", ["add", "change", "password"])
def test_a_change_of_a_person_whose_entry_fails_does_not_happen(
    admin: Client, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    person = Person.objects.create_user("ann", password="the old password 1")
    url, sent = form_of(admin, person)
    passwords = {"password1": "a long enough one", "password2": "a long enough one"}
    given: dict[str, tuple[str, dict[str, object]]] = {
        "add": (
            "/admin/memoryapp/person/add/",
            {"username": "ben", "role": "reader", "usable_password": "true", **passwords},
        ),
        "change": (url, sent | {"role": "admin"}),
        "password": (url.replace("change/", "password/"), dict(passwords)),
    }

    def fail(*args: object, **kwargs: object) -> None:
        raise DatabaseError("disk full")

    monkeypatch.setattr(AuditEntry.objects, "create", fail)
    admin.raise_request_exception = False
    with nothing_changes():
        assert admin.post(*given[page]).status_code == 500


def test_staff_who_may_edit_people_cannot_make_themselves_more(admin: Client) -> None:
    person = Person.objects.create_user("ann", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(content_type__model="person"))
    url, sent = form_of(admin, person)
    staff = Client()
    staff.force_login(person)
    with nothing_changes():
        assert staff.get("/admin/").status_code == 200
        assert staff.get("/admin/memoryapp/person/").status_code == 403
        assert staff.post(url, sent | {"is_superuser": "on"}).status_code == 403


@pytest.mark.parametrize("right", ["is_active", "is_staff", "is_superuser"])
def test_the_last_admin_stays_one(admin: Client, right: str) -> None:
    root = Person.objects.get(username="root")
    url, sent = form_of(admin, root)
    del sent[right]
    with nothing_changes():
        refused = admin.post(url, sent)
    assert "the last account that may use the admin site" in refused.content.decode()
    Person.objects.create_superuser("second", password="x")
    assert admin.post(url, sent).status_code == 302


def test_nobody_is_deleted(admin: Client) -> None:
    person = Person.objects.create_user("ann")
    url = "/admin/memoryapp/person/"
    chosen = {"action": "delete_selected", "_selected_action": str(person.pk), "post": "yes"}
    assert admin.post(f"{url}{person.pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin.post(url, chosen).status_code in (200, 302, 403)
    assert Person.objects.filter(pk=person.pk).exists()


def test_the_admin_site_changes_nothing_but_people(admin: Client) -> None:
    request = RequestFactory().get("/admin/")
    request.user = Person.objects.get(username="root")
    changeable = {
        model.__name__
        for model, page in site._registry.items()
        if page.has_add_permission(request)
        or page.has_change_permission(request)
        or page.has_delete_permission(request)
    }
    assert changeable == {"Person"}


@pytest.mark.parametrize("name", ["accessattempt", "accesslog"])
def test_attempts_to_sign_in_are_shown_without_what_was_typed(
    admin: Client, settings: Any, name: str
) -> None:
    settings.AXES_ENABLED = True
    Person.objects.create_user("ann", password="the right one")
    stranger = Client()
    for password in ("a wrong one", "the right one"):
        stranger.post("/login/", {"username": "ann", "password": password})
    url = f"/admin/axes/{name}/"
    page = admin.get(url)
    for row in page.context["cl"].queryset:
        detail = admin.get(f"{url}{row.pk}/change/").content.decode()
        assert "wrong one" not in detail
    assert page.status_code == 200
