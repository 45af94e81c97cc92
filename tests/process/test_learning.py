"""Two workers learn from dialogues that come through the API, whatever becomes of the broker."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from oracleagentmemory.testing import ScriptedModelServer
from tests.process.learning import Installation, install, learnt_inline, redis
from tests.process.test_worker import leave_torn_files
from tests.sdk.extraction.dialogues import Dialogue, read_dialogues, script

#: Nobody dies here, and on a busy machine a heart may miss a beat.
CALM = {"MEMORY_JOB_LEASE_S": "60"}


@pytest.fixture
def models() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer(script()) as server:
        yield server


def post(installation: Installation, dialogues: Sequence[Dialogue], *, at_once: int = 25) -> None:
    """Add every message, some dialogues at once, a call of each in turn."""
    for start in range(0, len(dialogues), at_once):
        some = dialogues[start : start + at_once]
        for one in some:
            installation.open_thread(one)
        for turn in itertools.zip_longest(*(one.calls() for one in some)):
            for one, messages in zip(some, turn, strict=True):
                if messages is not None:
                    installation.say(one, messages)


def calls_of(dialogues: Sequence[Dialogue]) -> int:
    return sum(len(list(one.calls())) for one in dialogues)


def check_learnt(installation: Installation, tmp_path: Path, dialogues: Sequence[Dialogue]) -> None:
    """Every job has succeeded, and the store holds what the script teaches."""
    assert installation.states() == {"succeeded": calls_of(dialogues)}
    assert installation.rows("SELECT count(*) FROM memoryapp_jobnote") == [(0,)]
    learnt = installation.learnt()
    assert learnt == learnt_inline(tmp_path, installation.models, dialogues)
    assert len(learnt) > len(dialogues)


def double_hints(messages: Path) -> None:
    """Let each hint be there twice."""
    hints = [file for file in messages.iterdir() if file.name[1] != "_"]
    assert hints
    for file in hints:
        number, _, rest = file.name.partition("_")
        shutil.copy(file, file.with_name(f"{int(number) + 1}_{rest}"))


def test_two_workers_learn_what_the_script_teaches(
    models: ScriptedModelServer, tmp_path: Path
) -> None:
    dialogues = read_dialogues(2)
    with install(tmp_path / "files", models, **CALM) as installation:
        broker = tmp_path / "files" / "broker"
        leave_torn_files(broker)
        post(installation, dialogues[:1])
        double_hints(broker / "messages")
        for _ in range(2):
            installation.start_worker()
        post(installation, dialogues[1:])
        installation.wait_for_jobs()
        check_learnt(installation, tmp_path, dialogues)
        assert len(list((broker / "taken").glob("*.bad"))) == 4
        attempts = installation.rows("SELECT DISTINCT attempts FROM memoryapp_job")
        assert attempts == [(1,)], "each job was run once"
        assert [worker.end() for worker in installation.workers] == [0, 0]
        assert installation.rows("SELECT count(*) FROM memoryapp_workerbeat") == [(0,)]


@pytest.mark.long
def test_two_workers_learn_all_503_dialogues(models: ScriptedModelServer, tmp_path: Path) -> None:
    dialogues = read_dialogues(503)
    assert len(dialogues) == 503
    with (
        redis(tmp_path) as broker,
        install(tmp_path / "redis", models, CELERY_BROKER_URL=broker.url, **CALM) as installation,
    ):
        for _ in range(2):
            installation.start_worker()
        post(installation, dialogues)
        installation.wait_for_jobs(within_s=1_800)
        check_learnt(installation, tmp_path, dialogues)


@pytest.mark.long
def test_requests_succeed_while_the_broker_is_down_and_the_sweep_catches_up(
    models: ScriptedModelServer, tmp_path: Path
) -> None:
    dialogues = read_dialogues(3)
    with (
        redis(tmp_path) as broker,
        install(tmp_path / "redis", models, CELERY_BROKER_URL=broker.url, **CALM) as installation,
    ):
        installation.start_worker()
        post(installation, dialogues[:1])
        installation.wait_for_jobs()
        known = installation.states()
        broker.hang()
        post(installation, dialogues[1:2])
        broker.stop()
        post(installation, dialogues[2:])
        assert installation.states() == known | {"queued": calls_of(dialogues[1:])}
        broker.start()
        installation.wait_for_jobs()
        check_learnt(installation, tmp_path, dialogues)
