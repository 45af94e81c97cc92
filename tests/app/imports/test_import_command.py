"""``manage.py memory_import``: its words, its status, and what a SIGKILL leaves."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.app.imports.files import dialogue_lines, message, write
from tests.app.tables import nothing_changes

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("memory_import", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.django_db
def test_summary_says_what_was_added(tmp_path: Path) -> None:
    path = str(write(tmp_path, dialogue_lines(3)))
    assert run(path, "--format", "sgd") == (
        "file.jsonl: 3 lines read, 3 threads and 34 messages added.\n"
    )
    assert "3 lines were imported before" in run(path, "--format", "sgd")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["hello"], "line 1: not JSON"),
        ([message("t", "x"), {"content": "x"}], "line 2: "),
        ([message("t", "x" + chr(0))], "line 1: content holds a NUL"),
        ([message("t", "x\ud800")], "line 1: content holds a lone surrogate"),
        ([message("t" * 129, "x")], "line 1: thread_id has 129 bytes"),
    ],
)
def test_bad_file_ends_with_status_2_and_changes_nothing(
    tmp_path: Path, lines: list[Any], says: str
) -> None:
    path = str(write(tmp_path, lines))
    with nothing_changes(), pytest.raises(CommandError) as caught:
        run(path, "--format", "messages")
    assert caught.value.returncode == 2
    assert says in str(caught.value)
    assert "Nothing was imported" in str(caught.value)


@pytest.mark.django_db
def test_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.jsonl"):
        with nothing_changes(), pytest.raises(CommandError) as caught:
            run(str(path), "--format", "sgd")
        assert caught.value.returncode == 2


@pytest.mark.django_db
def test_unknown_format_is_refused(tmp_path: Path) -> None:
    with nothing_changes(), pytest.raises(CommandError):
        run(str(write(tmp_path, [])), "--format", "csv")


# --- killed in the middle


class Store:
    """A database of its own, filled by processes of their own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.file = folder / "memory.sqlite3"
        names = ("MEMORY_", "DJANGO_", "DATABASE_URL", "CELERY_")
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith(names)}
        self._environment["MEMORY_VAR_DIR"] = str(folder)

    def copy(self, folder: Path) -> Store:
        """Another store that holds the same."""
        shutil.copytree(self.file.parent, folder)
        return Store(folder)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a management command."""
        return subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT, env=self._environment, stdout=subprocess.DEVNULL,
        )  # fmt: skip

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Read, as another process would."""
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=20)) as db:
            return db.execute(statement).fetchall()

    def message_count(self) -> int:
        """How many messages are committed; 0 before the first tables."""
        try:
            return int(self.query("SELECT count(*) FROM message")[0][0])
        except sqlite3.OperationalError:
            return 0

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """All rows in their order, but for times and generated part and summary ids."""
        messages = self.query(
            "SELECT record_id, thread_id, user_id, agent_id, message_role, content, timestamp,"
            " metadata, status FROM message ORDER BY order_seq"
        )
        return {
            "message": [(*row[:5], _texts(row[5]), *row[6:]) for row in messages],
            "thread": self.query(
                "SELECT record_id, user_id, agent_id, metadata, runtime_config FROM thread"
                " ORDER BY created_at, rowid"
            ),
            "chunks": self.query(
                "SELECT source_record_type, source_id, chunk_text, user_id, thread_id, embedding"
                " FROM record_chunks WHERE source_record_type = 'message' ORDER BY chunk_id"
            ),
            "tokens": self.query("SELECT token_ids FROM x_chunk_token ORDER BY chunk_id"),
            "changes": self.query(
                "SELECT scope_key, record_kind, operation FROM x_change ORDER BY change_id"
            ),
            "audit": self.query(
                "SELECT actor, action, noun, record_id, detail FROM memoryapp_auditentry"
                " ORDER BY id"
            ),
        }


def _texts(content: str) -> Any:
    parts = json.loads(content)
    return [part["text"] for part in parts] if isinstance(parts, list) else parts


def test_killed_import_of_dialogues_run_again_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    path = write(tmp_path, dialogue_lines(110))
    assert_kills_leave_no_trace(tmp_path, path, "sgd", up_to=1000, kills=2)


def test_killed_import_of_messages_run_again_equals_an_uninterrupted_one(tmp_path: Path) -> None:
    lines = [message(f"t-{n % 9}", f"message number {n}") for n in range(1700)]
    path = write(tmp_path, lines)
    assert_kills_leave_no_trace(tmp_path, path, "messages", up_to=1200, kills=1)


@pytest.mark.long
def test_killed_import_of_all_dialogues_run_again_equals_an_uninterrupted_one(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, dialogue_lines(503))
    assert_kills_leave_no_trace(tmp_path, path, "sgd", up_to=6500, kills=8)


def assert_kills_leave_no_trace(
    folder: Path, path: Path, format_name: str, *, up_to: int, kills: int
) -> None:
    """Import once in peace and once with kills at random numbers of messages; compare all rows."""
    command = ("memory_import", str(path), "--format", format_name)
    whole = Store(folder / "whole")
    assert whole.start("migrate", "-v0").wait(120) == 0
    cut = whole.copy(folder / "cut")
    assert whole.start(*command).wait(300) == 0
    chance = random.Random(7)  # where to kill; a failure must be repeatable
    for target in sorted(chance.randrange(up_to) for _ in range(kills)):
        kill_at(cut, command, target, chance.uniform(0, 0.05))
    assert cut.message_count() < whole.message_count()
    assert cut.start(*command).wait(300) == 0
    expected, found = whole.rows(), cut.rows()
    for table, rows in expected.items():
        assert rows, table
        assert found[table] == rows, table


def kill_at(store: Store, command: tuple[str, ...], target: int, delay_s: float) -> None:
    """Kill an import soon after it has committed as many messages."""
    process = store.start(*command)
    try:
        while store.message_count() < target:
            if ends_within(process, 0.02):
                return
        ends_within(process, delay_s)
    finally:
        process.kill()
        process.wait()


def ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for the end of a process, but not longer."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True
