"""Every operation that changes something writes one audit entry with it, or changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError

from memoryapp.api.v1 import api as ninja_api
from memoryapp.models import AuditEntry
from tests.app.api.conftest import Api
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db

MESSAGE = "/threads/t-1/messages/m-1"
#: For each operation that changes something: how to call it, and how many revisions it leaves.
CHANGES: dict[str, tuple[str, str, Any, int]] = {
    "create_thread": ("POST", "/threads", {"user_id": "ada"}, 0),
    "update_thread": ("PATCH", "/threads/t-1", {"metadata": {"n": 1}}, 1),
    "delete_thread": ("DELETE", "/threads/t-1", None, 1),
    "add_messages": (
        "POST",
        "/threads/t-1/messages",
        {"messages": [{"role": "user", "content": "x"}] * 3},
        0,
    ),
    "update_message": ("PATCH", MESSAGE, {"content": "y"}, 1),
    "delete_message": ("DELETE", MESSAGE, None, 1),
    "add_memory": ("POST", "/memories", {"content": "x", "user_id": "ada"}, 0),
    "update_memory": ("PATCH", "/memories/mem-1", {"content": "y"}, 1),
    "delete_memory": ("DELETE", "/memories/mem-1", None, 1),
}
READS = {
    "list_threads", "get_thread", "list_messages", "get_message", "list_memories", "get_memory",
    "search_records", "find_records",
}  # fmt: skip


def test_every_operation_is_known_as_one_that_changes_or_one_that_reads() -> None:
    paths = ninja_api.get_openapi_schema()["paths"]
    names = {operation["operationId"] for path in paths.values() for operation in path.values()}
    assert names == CHANGES.keys() | READS


@pytest.mark.usefixtures("thread", "memory")
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_writes_one_entry_that_names_the_key(api: Api, name: str) -> None:
    method, path, body, revisions = CHANGES[name]
    before = AuditEntry.objects.count()
    assert api.call(method, path, body).status_code in (200, 201, 204)
    entry = AuditEntry.objects.latest("id")
    assert AuditEntry.objects.count() == before + 1
    assert entry.actor.startswith("key:mk_")
    assert entry.revisions.count() == revisions


@pytest.mark.usefixtures("thread", "memory")
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_whose_entry_fails_does_not_happen(
    api: Api, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DatabaseError("disk full")

    method, path, body, _ = CHANGES[name]
    monkeypatch.setattr(AuditEntry.objects, "create", fail)
    with nothing_changes():
        assert api.call(method, path, body).status_code == 500


@pytest.mark.usefixtures("thread", "memory")
def test_reading_writes_no_entry(api: Api) -> None:
    with nothing_changes():
        for path in ("/threads", "/threads/t-1", "/threads/t-1/messages", MESSAGE, "/memories"):
            assert api.get(path).status_code == 200
        assert api.get("/memories/mem-1").status_code == 200
        assert api.get("/search", {"q": "window"}).status_code == 200
        assert api.post("/search", {"query": "window"}).status_code == 200
