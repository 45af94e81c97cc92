"""Every operation of the API that changes something writes one audit entry, or does nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import DatabaseError

from memoryapp.api.v1 import api as v1
from memoryapp.models import AuditEntry, JobState
from tests.app.api.conftest import Api, base64_of
from tests.app.jobs.rows import add_job
from tests.app.tables import nothing_changes
from tests.sdk.images.pictures import picture

pytestmark = pytest.mark.django_db

#: For each operation that changes something: its request, and whether it leaves a revision.
CHANGES: dict[str, tuple[str, str, object, bool]] = {
    "create_thread": ("POST", "/threads", {"user_id": "ada"}, False),
    "update_thread": ("PATCH", "/threads/t-1", {"metadata": {"a": 1}}, True),
    "delete_thread": ("DELETE", "/threads/t-1", None, True),
    "refresh_summary": ("POST", "/threads/t-1/summary", {}, False),
    "add_messages": (
        "POST",
        "/threads/t-1/messages",
        {"messages": [{"role": "user", "content": "x"}]},
        False,
    ),
    "update_message": ("PATCH", "/threads/t-1/messages/m-1", {"content": "y"}, True),
    "delete_message": ("DELETE", "/threads/t-1/messages/m-1", None, True),
    "add_memory": ("POST", "/memories", {"content": "x", "user_id": "ada"}, False),
    "update_memory": ("PATCH", "/memories/mem-1", {"content": "y"}, True),
    "delete_memory": ("DELETE", "/memories/mem-1", None, True),
    "add_relation": (
        "POST",
        "/relations",
        {"source_record_id": "mem-1", "target_record_id": "mem-2", "relation_type": "likes"},
        False,
    ),
    "update_relation": ("PATCH", "/relations/r-1", {"metadata": {"a": 1}}, True),
    "delete_relation": ("DELETE", "/relations/r-1", None, True),
    "add_image": (
        "POST",
        "/images",
        {"bytes": base64_of(picture("PNG")), "user_id": "ada"},
        False,
    ),
    "update_image": ("PATCH", "/images/i-1", {"description": "y"}, True),
    "delete_image": ("DELETE", "/images/i-1", None, True),
    "retry_job": ("POST", "/jobs/j-1/retry", {}, False),
    "cancel_job": ("POST", "/jobs/j-2/cancellation", {}, False),
}
#: Operations that take a body, and read.
READS = {"search_records"}


@pytest.fixture
def jobs(db: None) -> None:
    """One that failed, and one that waits."""
    add_job("j-1", JobState.FAILED)
    add_job("j-2")


def operations_that_may_change() -> Iterator[str]:
    for methods in v1.get_openapi_schema()["paths"].values():
        for method, operation in methods.items():
            if method != "get":
                yield operation["operationId"]


def test_every_operation_is_known_as_one_that_changes_or_one_that_reads() -> None:
    assert set(operations_that_may_change()) == CHANGES.keys() | READS


@pytest.mark.usefixtures("thread", "relation", "image", "jobs")
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_writes_one_entry_with_its_key_and_reason(api: Api, name: str) -> None:
    method, path, body, leaves_revision = CHANGES[name]
    before = AuditEntry.objects.count()
    if isinstance(body, dict):
        answer = api.call(method, path, {**body, "reason": "because"})
    else:
        answer = api.call(method, path, query={"reason": "because"})
    assert answer.status_code < 300
    entry = AuditEntry.objects.latest("id")
    assert AuditEntry.objects.count() == before + 1
    assert entry.actor.startswith("key:mk_")
    assert entry.reason == "because"
    assert entry.revisions.exists() == leaves_revision


@pytest.mark.usefixtures("thread", "relation", "image", "jobs")
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_whose_entry_fails_does_not_happen(
    api: Api, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DatabaseError("disk full")

    monkeypatch.setattr(AuditEntry.objects, "create", fail)
    method, path, body, _ = CHANGES[name]
    with nothing_changes():
        assert api.call(method, path, body).status_code >= 500
