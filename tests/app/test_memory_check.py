"""``manage.py memory_check``: finds, repairs with an audit entry, and says what is left."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from memoryapp.access import Access, Role
from memoryapp.memory import client, store
from memoryapp.models import AuditEntry
from memoryapp.services import audit, stores
from oracleagentmemory.apis.upkeep import CheckReport
from oracleagentmemory.errors import AccessDeniedError
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


def sql(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def memory(content: str = "likes tea", memory_id: str = "m\x1b[31m1") -> None:
    client().add_memory(content, user_id="ada", memory_id=memory_id)


def run(*options: str) -> tuple[str, str]:
    """Run the command; return its output and its complaint."""
    output, complaint = StringIO(), ""
    try:
        call_command("memory_check", *options, stdout=output)
    except CommandError as error:
        complaint = str(error)
    return output.getvalue(), complaint


def test_a_sound_store_is_said_to_be_sound() -> None:
    memory()
    with nothing_changes():
        assert run() == ("The store is sound.\n", "")
        assert run("--repair") == ("The store is sound.\n", "")


def test_a_check_reports_what_it_found_and_changes_nothing() -> None:
    memory()
    sql("DELETE FROM x_text")
    with nothing_changes():
        output, complaint = run()
    assert "1  missing_texts: chunks that keyword search does not know" in output
    assert r"memory m\x1b[31m1" in output, "control characters reach no terminal"
    assert "--repair" in complaint


def test_a_repair_is_logged_with_its_counts() -> None:
    memory()
    sql("DELETE FROM x_text", "UPDATE memory SET content = 'likes coffee'")
    output, complaint = run("--repair", "--reason", "after an import")
    assert "Repaired:" in output
    assert complaint == ""
    entry = AuditEntry.objects.get(action="repair")
    assert (entry.actor, entry.noun, entry.reason) == (
        "command:memory_check", "store", "after an import",
    )  # fmt: skip
    assert entry.detail == {"missing_texts": 1, "changed_outside": 1}
    assert run() == ("The store is sound.\n", "")


def test_json_names_what_was_found_repaired_and_left() -> None:
    memory()
    sql("DELETE FROM x_text", "UPDATE record_chunks SET embedding = x'00000000'")
    output, complaint = run("--json", "--repair")
    report: dict[str, Any] = json.loads(output)
    assert not report["ok"]
    assert {one["code"] for one in report["found"]} == {"missing_texts", "vector_sizes"}
    assert report["repaired"] == {"missing_texts": 1}
    assert [one["code"] for one in report["left"]] == ["vector_sizes"]
    assert "vector_sizes" in complaint


def test_a_failing_audit_entry_undoes_the_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    memory()
    sql("DELETE FROM x_text")

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no audit")

    monkeypatch.setattr(audit, "record", fail)
    access = Access.of_command("test")
    with nothing_changes(), pytest.raises(RuntimeError, match="no audit"):
        stores.repair(access, stores.check(access))


def test_only_an_admin_may_check_and_repair() -> None:
    reviewer = Access(actor="person:rae", role=Role.REVIEWER)
    with pytest.raises(AccessDeniedError):
        stores.check(reviewer)
    with pytest.raises(AccessDeniedError):
        stores.repair(reviewer, CheckReport(()))


@pytest.mark.django_db(transaction=True)
def test_dump_and_check_see_one_moment_outside_a_block_too() -> None:
    memory()
    with store().dump() as file:
        assert sum(b'"likes tea"' in line for line in file) >= 1
    assert store().check().ok
    assert not connection.in_atomic_block
    memory("likes rain", "m2")
    assert store().get("memory", "m2") is not None
