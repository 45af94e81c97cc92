"""Every command that changes something says so in the audit log; the others change nothing."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from django.core.management import call_command, get_commands
from django.db import connection

from memoryapp.memory import client
from memoryapp.models import AuditEntry, Person
from oracleagentmemory.apis.ttl import TimeToLiveAnchor
from oracleagentmemory.core import SQLiteMemoryStore

pytestmark = pytest.mark.django_db


def run(*arguments: object) -> None:
    call_command(*map(str, arguments), stdout=StringIO(), stderr=StringIO())


def purge(folder: Path) -> None:
    client().add_memory(
        "gone",
        user_id="ada",
        timestamp="2020-01-01T00:00:00Z",
        ttl_days=1,
        ttl_anchor=TimeToLiveAnchor.TIMESTAMP,
    )
    run("memory_purge")


def import_one(folder: Path) -> None:
    file = folder / "messages.jsonl"
    file.write_text(
        '{"thread_id": "t", "user_id": "u", "agent_id": "a", "role": "r", "content": "x"}\n'
    )
    run("memory_import", file, "--format", "messages")


def repair(folder: Path) -> None:
    client().add_memory("likes tea", user_id="ada")
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM x_text")
    run("memory_check", "--repair")


def extend(folder: Path) -> None:
    # On SQLite a store that is open has all its tables: let one be reported as made.
    with patch.object(SQLiteMemoryStore, "_make_extras", return_value=["table x_source"]):
        run("memory_store_extend")


def change_password(folder: Path) -> None:
    Person.objects.create_user("ann", password="the old password 1")
    with patch("getpass.getpass", return_value="the new password 2"):
        run("changepassword", "ann")
    assert Person.objects.get(username="ann").check_password("the new password 2")


#: What each command does that must be logged, and what the newest entry then says.
CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "changepassword": (change_password, "command:changepassword"),
    "memory_check": (repair, "command:memory_check"),
    "memory_demo": (lambda _: run("memory_demo"), "command:memory_demo"),
    "memory_import": (import_one, "command:memory_import"),
    "memory_key": (lambda _: run("memory_key", "create", "test"), "command:memory_key"),
    "memory_purge": (purge, "command:memory_purge"),
    "memory_reembed": (lambda _: run("memory_reembed"), "command:memory_reembed"),
    "memory_store_extend": (extend, "command:memory_store_extend"),
}
#: The two that start the product: tests/process runs them, and memory_prepare calls the others.
STARTS = {"memory_prepare", "memory_run"}


#: Touch no memory: a model for others, and a look at what a worker needs.
TOUCHES_NOTHING = {"memory_llm_script", "memory_worker_check"}
#: What its jobs store they are answerable for themselves: tests/app/jobs.
RUNS_JOBS = {"memory_jobs"}


def test_every_command_is_known() -> None:
    own = {name for name, app in get_commands().items() if app == "memoryapp"}
    assert own == CHANGES.keys() | STARTS | TOUCHES_NOTHING | RUNS_JOBS


@pytest.mark.parametrize("name", CHANGES)
def test_a_command_that_changes_something_is_the_actor_of_an_entry(
    name: str, tmp_path: Path
) -> None:
    change, actor = CHANGES[name]
    change(tmp_path)
    assert AuditEntry.objects.latest("id").actor == actor
