"""Expired records are deleted with one audit entry, or counted and left."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memoryapp.access import Access, Role
from memoryapp.memory import client, store
from memoryapp.models import AuditEntry
from memoryapp.services import audit, retention
from memoryapp.tasks.memories import purge_expired
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.errors import AccessDeniedError
from tests.app.tables import contents, nothing_changes

pytestmark = pytest.mark.django_db
OPERATOR = Access.of_command("test")


@pytest.fixture
def _two_expired_memories() -> None:
    for number in range(2):
        client().add_memory(
            "gone",
            user_id="ada",
            memory_id=f"old-{number}",
            timestamp="2020-01-01T00:00:00Z",
            ttl_days=1,
            ttl_anchor=TimeToLiveAnchor.TIMESTAMP,
        )
    client().add_memory("kept", user_id="ada", memory_id="new")


def stored_ids() -> str:
    return str(contents()["memory"])


@pytest.mark.usefixtures("_two_expired_memories")
def test_purge_deletes_what_has_expired_with_one_audit_entry() -> None:
    assert retention.purge(OPERATOR, reason="tidy") == 2
    assert "old-" not in stored_ids()
    assert "new" in stored_ids()
    entry = AuditEntry.objects.get(action="purge")
    assert (entry.actor, entry.reason, entry.detail) == ("command:test", "tidy", {"count": 2})


@pytest.mark.usefixtures("_two_expired_memories")
def test_dry_run_counts_and_changes_nothing() -> None:
    output = StringIO()
    with nothing_changes():
        call_command("memory_purge", "--dry-run", stdout=output)
    assert output.getvalue() == "Would delete 2 expired records.\n"


@pytest.mark.usefixtures("_two_expired_memories")
def test_command_and_task_delete_and_say_how_many() -> None:
    output = StringIO()
    call_command("memory_purge", stdout=output)
    assert output.getvalue() == "Deleted 2 expired records.\n"
    assert purge_expired() == 0


@pytest.mark.usefixtures("_two_expired_memories")
def test_each_batch_has_its_own_entry_and_a_failing_one_keeps_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("oracleagentmemory.storage.store.deleting.PURGE_BATCH", 1)
    seen: list[int] = []

    def stop(count: int) -> None:
        seen.append(count)
        if len(seen) == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retention.purge(OPERATOR, progress=stop)
    assert retention.count_expired(OPERATOR) == 1
    assert retention.purge(OPERATOR, progress=stop) == 1
    entries = AuditEntry.objects.filter(action="purge")
    assert [entry.detail for entry in entries] == [{"count": 1}] * 2


@pytest.mark.usefixtures("_two_expired_memories")
def test_a_store_that_is_being_re_embedded_is_purged_later() -> None:
    prepared = store().prepare_reembed()
    with nothing_changes():
        assert purge_expired() == 0
        with pytest.raises(CommandError, match=r"manage\.py memory_reembed"):
            call_command("memory_purge")
    store().write(prepared)
    assert purge_expired() == 2


def test_nothing_expired_writes_no_audit_entry() -> None:
    with nothing_changes():
        assert retention.purge(OPERATOR) == 0


@pytest.mark.usefixtures("_two_expired_memories")
def test_failing_audit_entry_undoes_the_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no audit")

    monkeypatch.setattr(audit, "record", fail)
    with nothing_changes(), pytest.raises(RuntimeError, match="no audit"):
        retention.purge(OPERATOR)


def test_only_an_admin_may_purge() -> None:
    reviewer = Access(actor="person:rae", role=Role.REVIEWER)
    with pytest.raises(AccessDeniedError):
        retention.purge(reviewer)
