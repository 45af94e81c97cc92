"""What every page has: sign-in, headers, error pages, the person's settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern, get_resolver
from django.urls.resolvers import RoutePattern

from memoryapp.access import Role
from memoryapp.models import AuditEntry, Person
from tests.app.pages.conftest import text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db

OPEN = {"login", "livez", "readyz"}


def routes() -> list[URLPattern]:
    """Our own pages, without the API and the admin."""
    patterns = get_resolver().url_patterns
    return [
        p for p in patterns if isinstance(p, URLPattern) and isinstance(p.pattern, RoutePattern)
    ]


def address(route: URLPattern) -> str:
    return "/" + re.sub(r"<id:\w+>", "x", str(route.pattern))


@pytest.mark.parametrize("route", routes(), ids=lambda route: route.name)
def test_every_page_asks_a_stranger_to_sign_in(anonymous: Client, route: URLPattern) -> None:
    for method in (anonymous.get, anonymous.post):
        response = method(address(route))
        if route.name in OPEN:
            assert response.status_code in (200, 405)
        else:
            assert response.status_code == 302
            assert response.url.startswith("/login/")


@pytest.mark.parametrize("url", ["/", "/memories/", "/nowhere/", "/login/", "/memories/gone/"])
def test_pages_are_kept_out_of_caches_and_run_only_our_scripts(client: Client, url: str) -> None:
    response = client.get(url)
    assert response.headers["Cache-Control"] == "private, no-store"
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert response.headers["X-Frame-Options"] == "DENY"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_signing_in_leads_to_the_page_that_was_asked_for(anonymous: Client, db: None) -> None:
    Person.objects.create_user("ann", password="a long enough one", role=Role.READER)
    sent = {"username": "ann", "password": "a long enough one", "next": "/memories/?user=ada"}
    assert anonymous.post("/login/", sent).url == "/memories/?user=ada"
    assert anonymous.get("/memories/").status_code == 200


def test_a_foreign_next_is_not_followed(anonymous: Client) -> None:
    Person.objects.create_user("ann", password="a long enough one")
    sent = {"username": "ann", "password": "a long enough one", "next": "https://evil.example/"}
    assert anonymous.post("/login/", sent).url == "/"


def test_a_wrong_password_is_said_without_telling_which_part_is_wrong(anonymous: Client) -> None:
    Person.objects.create_user("ann", password="a long enough one")
    pages = [
        text_of(anonymous.post("/login/", {"username": name, "password": "no"}))
        for name in ("ann", "nobody")
    ]
    assert "Please enter a correct username and password" in pages[0]
    assert pages[0].replace("ann", "").count('role="alert"') == pages[1].count('role="alert"')


def test_too_many_wrong_passwords_lock_that_name_and_no_other(
    anonymous: Client, settings: Any
) -> None:
    settings.AXES_ENABLED = True
    for name in ("ann", "ben"):
        Person.objects.create_user(name, password="a long enough one")
    for _ in range(settings.AXES_FAILURE_LIMIT):
        response = anonymous.post("/login/", {"username": "ann", "password": "no"})
    assert response.status_code == 429
    assert "Locked for a while" in text_of(response)
    right = {"password": "a long enough one"}
    assert anonymous.post("/login/", {"username": "ann", **right}).status_code == 429
    assert anonymous.post("/login/", {"username": "ben", **right}).status_code == 302


def test_signing_out_takes_a_form(client: Client) -> None:
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").url == "/login/"
    assert client.get("/").url == "/login/?next=/"


def test_an_unknown_page_is_a_page(client: Client, anonymous: Client) -> None:
    for caller in (client, anonymous):
        response = caller.get("/nowhere/")
        assert response.status_code == 404
        assert "There is nothing at this address" in text_of(response)
        assert 'id="shell"' in text_of(response)


def test_a_form_without_its_token_is_refused_with_a_page(db: None) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(Person.objects.create_user("ann", role=Role.REVIEWER))
    with nothing_changes():
        response = strict.post("/memories/new/", {"content": "x", "memory_type": "fact"})
    assert response.status_code == 403
    assert "This page was too old" in text_of(response)


def test_a_failure_is_a_page_that_tells_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise LookupError("secret of the database")

    monkeypatch.setattr("memoryapp.services.memories.list_page", fail)
    client.raise_request_exception = False
    response = client.get("/memories/")
    assert response.status_code == 500
    assert "The server failed" in text_of(response)
    assert "secret" not in text_of(response)


def test_a_person_chooses_their_zone_and_it_is_logged(client: Client) -> None:
    assert client.post("/account/", {"time_zone": "Asia/Tokyo"}).url == "/account/"
    assert "Asia/Tokyo</dd>" in text_of(client.get("/account/"))
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.noun, entry.record_id) == ("update", "person", "reviewer0")
    assert entry.detail == {"fields": ["time_zone", "shortcuts"]}
    assert 'data-keys="off"' in text_of(client.get("/"))
    with nothing_changes():
        assert client.post("/account/", {"time_zone": "Mars/Olympus"}).status_code == 422


def test_nobody_raises_their_own_rights(client: Client) -> None:
    client.post("/account/", {"role": "admin", "is_superuser": "on", "user_ids": "null"})
    person = Person.objects.get()
    assert (person.role, person.is_superuser) == (Role.REVIEWER, False)


def test_a_new_password_needs_the_old_one_and_is_logged_without_it(
    make_client: Callable[..., Client],
) -> None:
    client = make_client(password="the old password 1")
    sent = {"new_password1": "the new password 2", "new_password2": "the new password 2"}
    with nothing_changes():
        wrong = client.post("/account/password/", {**sent, "old_password": "no"})
    assert wrong.status_code == 422
    right = {**sent, "old_password": "the old password 1"}
    assert client.post("/account/password/", right).url == "/account/"
    assert client.get("/").status_code == 200
    assert Person.objects.get().check_password("the new password 2")
    assert AuditEntry.objects.get().detail == {"fields": ["password"]}


def test_a_deactivated_person_is_out_at_once(client: Client) -> None:
    Person.objects.update(is_active=False)
    assert client.get("/").status_code == 302


def test_a_persons_stored_zone_that_no_longer_exists_is_the_servers(
    make_client: Callable[..., Client],
) -> None:
    assert make_client(time_zone="Old/Name").get("/").status_code == 200


def test_every_form_that_changes_something_carries_a_token() -> None:
    forms = [
        (file.name, form)
        for file in Path(settings.BASE_DIR, "templates").rglob("*.html")
        for form in re.findall(r"<form[^>]*method=\"post\".*?</form>", file.read_text(), re.DOTALL)
    ]
    assert len(forms) > 10
    assert [name for name, form in forms if "{% csrf_token %}" not in form] == []


def test_a_form_larger_than_the_server_accepts_is_a_page(client: Client, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    with nothing_changes():
        response = client.post("/memories/new/", {"content": "x" * 2000})
    assert response.status_code == 400
    assert "larger than it accepts" in text_of(response)


_FORM = "application/x-www-form-urlencoded"
_PARTS = "multipart/form-data; boundary=x"


@pytest.mark.parametrize("form", [_FORM, _PARTS])
@pytest.mark.parametrize("charset", ["latin-1", "rot13", "utf-16"])
def test_a_form_in_another_encoding_is_refused_to_anybody(form: str, charset: str) -> None:
    stranger = Client(enforce_csrf_checks=True)
    body = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n'
    answer = stranger.generic("POST", "/login/", body, f"{form}; charset={charset}")
    assert answer.status_code == 400
    assert "The request cannot be read" in answer.content.decode()
    assert "Content-Security-Policy" in answer.headers


@pytest.mark.parametrize("form", [_FORM, _PARTS])
@pytest.mark.parametrize("charset", ["utf8", "UTF-8"])
def test_a_form_may_say_that_it_is_utf_8(anonymous: Client, form: str, charset: str) -> None:
    parts = b'--x\r\nContent-Disposition: form-data; name="username"\r\n\r\n\xc3\xa9ve\r\n--x--\r\n'
    body = b"username=%C3%A9ve" if form == _FORM else parts
    answer = anonymous.generic("POST", "/login/", body, f"{form}; charset={charset}")
    assert answer.status_code == 200
    assert 'value="éve"' in answer.content.decode()
