"""The tasks that a worker knows, and the schedule that tells it to look."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.conf import settings as product

from memoryapp import scheduler
from memoryapp.celery import app
from memoryapp.models import Job, JobState, TokenUse
from memoryapp.services import claims, tokens, workers
from memoryapp.tasks.jobs import drain_jobs, sweep_jobs
from memoryapp.tasks.stores import check_store
from oracleagentmemory.testing import ScriptedModelServer

Say = Callable[..., Job]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def here() -> Any:
    """This process as a worker, whose heart does not beat."""
    worker = workers.Worker()
    with mock.patch.object(workers, "_here", worker):
        yield worker


def test_whatever_is_scheduled_or_hinted_at_is_a_task() -> None:
    app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in product.CELERY_BEAT_SCHEDULE.values()}
    assert scheduled >= {sweep_jobs.name, check_store.name}
    assert {scheduler.DRAIN_TASK, *scheduled} <= set(app.tasks)


def test_a_hint_drains_whatever_waits_and_a_second_one_finds_nothing(
    models: ScriptedModelServer, say: Say, here: workers.Worker
) -> None:
    made = [say("one"), say("two"), say("three", thread_id="t-2")]
    assert drain_jobs.apply().get() == 3
    assert drain_jobs.apply().get() == 0
    states = set(Job.objects.values_list("state", flat=True))
    assert states == {JobState.SUCCEEDED}
    assert len(made) == Job.objects.count()


def test_the_sweep_lets_go_on_what_waited_for_another_day(
    models: ScriptedModelServer, say: Say, here: workers.Worker, settings: Any
) -> None:
    settings.MEMORY_LLM_DAILY_TOKENS = 10
    use = TokenUse.objects.create(day=tokens.today(), model="m", input_tokens=10)
    job = say("one")
    assert sweep_jobs.apply().get() == 0
    assert Job.objects.get(pk=job.pk).wait_reason
    assert claims.claim_next("w") is None
    use.delete()
    assert sweep_jobs.apply().get() == 1


def test_the_nightly_check_logs_each_kind_of_fault(caplog: pytest.LogCaptureFixture) -> None:
    from memoryapp.memory import store
    from oracleagentmemory.apis.upkeep import CheckReport, Finding

    assert check_store.apply().get() == 0
    finding = Finding(
        code="orphan_chunks", meaning="chunks of nothing", count=2, examples=("a",), repairable=True
    )
    report = CheckReport(findings=(finding,))
    with (
        mock.patch.object(type(store()), "check", return_value=report),
        caplog.at_level(logging.ERROR),
    ):
        assert check_store.apply().get() == 1
    assert "the store has 2 orphan_chunks" in caplog.text
