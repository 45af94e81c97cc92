"""Every change writes its audit entry in its own transaction, or does not happen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError
from django.test import Client
from django.urls import URLPattern

from memoryapp.models import AuditEntry, JobState
from memoryapp.services import (
    agents,
    audit,
    images,
    memories,
    messages,
    relations,
    threads,
    users,
)
from tests.app.jobs.rows import add_job
from tests.app.pages.conftest import OPERATOR, add_image, add_memory, add_thread
from tests.app.pages.test_frame import routes
from tests.app.tables import nothing_changes
from tests.sdk.images.pictures import picture

pytestmark = pytest.mark.django_db

Sent = Callable[[], dict[str, Any]]

#: For each page that changes something: the address and the form that does it.
CHANGES: dict[str, tuple[str, Sent]] = {
    "account": ("/account/", lambda: {"time_zone": "Asia/Tokyo"}),
    "account-password": (
        "/account/password/",
        lambda: {
            "old_password": "the old password 1",
            "new_password1": "the new password 2",
            "new_password2": "the new password 2",
        },
    ),
    "memory-new": ("/memories/new/", lambda: {"content": "x", "memory_type": "fact"}),
    "memory-edit": (
        "/memories/mem-1/edit/",
        lambda: {"content": "y", "fingerprint": memories.get(OPERATOR, "mem-1").fingerprint},
    ),
    "memory-status": ("/memories/mem-1/status/", lambda: {"status": "invalid"}),
    "memory-delete": ("/memories/mem-1/delete/", dict),
    "thread-new": ("/threads/new/", lambda: {"user_id": "ada"}),
    "thread-edit": (
        "/threads/t-1/edit/",
        lambda: {
            "metadata": '{"a": 1}',
            "fingerprint": threads.get(OPERATOR, "t-1").fingerprint,
        },
    ),
    "thread-delete": ("/threads/t-1/delete/", dict),
    "thread-summary": ("/threads/t-1/summary/", dict),
    "message-new": ("/threads/t-1/messages/", lambda: {"role": "user", "content": "x"}),
    "message-edit": (
        "/threads/t-1/messages/m-1/edit/",
        lambda: {
            "content": "y",
            "fingerprint": messages.get(OPERATOR, "t-1", "m-1").fingerprint,
        },
    ),
    "message-delete": ("/threads/t-1/messages/m-1/delete/", dict),
    "relation-new": (
        "/relations/new/",
        lambda: {"source_id": "mem-1", "relation_type": "supports", "target_id": "mem-2"},
    ),
    "relation-edit": (
        "/relations/r-1/edit/",
        lambda: {
            "relation_type": "supports",
            "fingerprint": relations.get(OPERATOR, "r-1").fingerprint,
        },
    ),
    "relation-delete": ("/relations/r-1/delete/", dict),
    "image-new": (
        "/images/new/",
        lambda: {"image": SimpleUploadedFile("a.png", picture("PNG")), "user_id": "ada"},
    ),
    "image-edit": (
        "/images/i-1/edit/",
        lambda: {
            "description": "y",
            "fingerprint": images.get(OPERATOR, "i-1").fingerprint,
        },
    ),
    "image-delete": ("/images/i-1/delete/", dict),
    "job-retry": ("/jobs/j-1/retry/", dict),
    "job-cancel": ("/jobs/j-2/cancel/", dict),
    "user-new": ("/users/new/", lambda: {"record_id": "cleo", "information": "x"}),
    "user-profile": ("/users/ada/profile/", lambda: {"information": "y"}),
    "agent-new": ("/agents/new/", lambda: {"record_id": "cook", "information": "x"}),
    "agent-profile": ("/agents/travel/profile/", lambda: {"information": "y"}),
}
#: Pages that take no form, and signing in and out, which change no record.
READS = {
    "overview", "livez", "readyz", "login", "logout", "search",
    "memory-list", "memory-detail", "thread-list", "thread-detail", "message-detail",
    "user-list", "user-detail", "agent-list", "agent-detail", "change-list", "change-outside",
    "relation-list", "relation-detail", "image-list", "image-detail", "image-bytes",
    "image-thumbnail", "job-list", "job-list-progress", "job-detail", "job-progress",
}  # fmt: skip
#: Pages whose effect is outside the database: an entry before it and one after (test_llm.py).
CALLS = {"llm-try"}


@pytest.fixture
def records(db: None) -> None:
    """What the changes above act on."""
    add_thread("t-1", ["hello", "hi"])
    add_memory("Ada likes the window seat", memory_id="mem-1")
    for number in (2, 3):
        add_memory("Ada likes the aisle seat", memory_id=f"mem-{number}")
    ends = {"source_id": "mem-2", "target_id": "mem-3"}
    add_image("i-1")
    relations.add(OPERATOR, **ends, relation_type="contradicts", relation_id="r-1")
    add_job("j-1", JobState.FAILED)
    add_job("j-2")
    users.add_profile(OPERATOR, "ada", "Flies often")
    agents.add_profile(OPERATOR, "travel", "Books trips")


def refuses_post(route: URLPattern, client: Client) -> bool:
    path = "/" + re.sub(r"<id:\w+>", "x", str(route.pattern))
    return client.post(path).status_code == 405


def test_every_page_is_known_as_one_that_changes_or_one_that_reads(
    client: Client, records: None
) -> None:
    names = {route.name for route in routes()}
    assert names == CHANGES.keys() | READS | CALLS
    reading = [r for r in routes() if r.name in READS - {"login", "logout"}]
    assert [r.name for r in reading if not refuses_post(r, client)] == []


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_writes_one_entry(
    make_client: Callable[..., Client], records: None, name: str
) -> None:
    client = make_client(password="the old password 1")
    before = AuditEntry.objects.count()
    url, sent = CHANGES[name]
    assert client.post(url, sent()).status_code == 302
    entry = AuditEntry.objects.latest("id")
    assert AuditEntry.objects.count() == before + 1
    assert entry.actor == "person:reviewer0"
    revisions = entry.revisions.count()
    assert revisions == (1 if name.split("-")[-1] in ("edit", "status", "delete", "profile") else 0)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_whose_entry_fails_does_not_happen(
    make_client: Callable[..., Client],
    records: None,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    client = make_client(password="the old password 1")
    url, sent = CHANGES[name]
    form = sent()

    def fail(*args: object, **kwargs: object) -> None:
        raise DatabaseError("disk full")

    monkeypatch.setattr(AuditEntry.objects, "create", fail)
    client.raise_request_exception = False
    with nothing_changes():
        assert client.post(url, form).status_code == 500


@pytest.mark.django_db(transaction=True)
def test_an_entry_outside_a_transaction_is_refused() -> None:
    with pytest.raises(RuntimeError, match="transaction of its change"):
        audit.record(OPERATOR, "add", "memory", "x")


def test_an_entry_is_never_changed(records: None) -> None:
    entry = AuditEntry.objects.latest("id")
    with pytest.raises(TypeError):
        entry.save()
    with pytest.raises(TypeError):
        entry.delete()
