"""memory_jobs and memory_worker_check."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memoryapp.models import Job, JobState
from memoryapp.services import workers
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer

pytestmark = pytest.mark.django_db(transaction=True)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_memory_jobs_counts_and_runs(models: ScriptedModelServer, say: Callable[..., Job]) -> None:
    job = say("I like the window")
    say("and more")
    assert run("memory_jobs", "--dry-run").startswith("Would begin with 1 job.\n2 queued")
    assert not models.requests
    assert run("memory_jobs").startswith("Ran 2 jobs.\n0 queued (0 of them")
    assert Job.objects.get(pk=job.pk).state == JobState.SUCCEEDED


def check(expect: str) -> list[str]:
    out = StringIO()
    with pytest.raises(CommandError, match=expect):
        call_command("memory_worker_check", stdout=out)
    return out.getvalue().splitlines()


def test_worker_check_says_a_line_each(models: ScriptedModelServer, settings: Any) -> None:
    models.add(ScriptedAnswer(text="ready"), ScriptedAnswer(status=401, text="no", repeat=True))
    with workers.for_a_while():
        lines = run("memory_worker_check").splitlines()
    assert [line.split()[:2] for line in lines] == [
        [name, "ok"] for name in ("database", "broker", "LLM", "embedder", "worker")
    ]
    assert "openai/scripted answers ('ready')" in lines[2]
    settings.MEMORY_EMBEDDER = "nowhere:make"
    lines = check("not ready: LLM, embedder, worker")
    assert "BAD" in lines[2]
    assert "refuses the key" in lines[2]
    assert "nowhere:make cannot be loaded" in lines[3]
    assert "no heart beats" in lines[4]


def test_worker_check_asks_no_model_when_told_so(models: ScriptedModelServer) -> None:
    with workers.for_a_while():
        lines = run("memory_worker_check", "--no-models").splitlines()
    assert [line.split()[0] for line in lines] == ["database", "broker", "worker"]
    assert not models.requests


def test_worker_check_says_what_is_off_without_a_model() -> None:
    with workers.for_a_while():
        assert "MEMORY_LLM is not set" in run("memory_worker_check")
