"""Workers: their hearts, their end, and what they make of failures around a job."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.db import InterfaceError
from django.utils import timezone

from memoryapp.models import Job, JobState, WorkerBeat
from memoryapp.services import workers
from memoryapp.services.workers import Worker
from oracleagentmemory.testing import ScriptedModelServer
from tests.app.jobs.steps import fresh

Say = Callable[..., Job]
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_worker_shows_that_it_lives_and_takes_its_beat_away() -> None:
    with workers.for_a_while() as worker:
        assert [beat.name for beat in workers.living(timezone.now())] == [worker.name]
        late = timezone.now() + timedelta(hours=1)
        assert workers.living(late) == []
    assert not WorkerBeat.objects.exists()


def test_a_worker_that_is_stopping_claims_no_more(say: Say) -> None:
    job = say("one")
    worker = Worker()
    worker.stop_claiming()
    assert worker.drain() == 0
    assert fresh(job).state == JobState.QUEUED


def test_without_a_model_a_job_that_was_queued_before_fails_and_says_why(
    models: ScriptedModelServer, say: Say, settings: Any
) -> None:
    job = say("I like the window")
    with mock.patch.object(workers, "llm", return_value=None):
        Worker().drain()
    assert fresh(job).state == JobState.FAILED
    assert "no model" in fresh(job).error


def test_a_heart_that_misses_a_beat_beats_on(settings: Any) -> None:
    settings.MEMORY_JOB_LEASE_S = 0.04
    beats = threading.Semaphore(0)

    def missing(worker: Worker) -> None:
        beats.release()
        raise InterfaceError("the connection was closed")

    with workers.for_a_while() as worker:
        worker.stop()
        worker._over.clear()
        with mock.patch.object(Worker, "beat", missing):
            heart = threading.Thread(target=worker._keep_beating)
            heart.start()
            assert all(beats.acquire(timeout=10) for _ in range(3))
        worker._over.set()
        heart.join(10)


def test_a_database_that_was_away_is_a_reason_to_try_again(say: Say) -> None:
    job = say("one")
    away = InterfaceError("the connection was closed")
    with mock.patch.object(workers.ExtractionRunner, "attempt", side_effect=away):
        Worker().drain()
    assert (fresh(job).state, fresh(job).put_back) == (JobState.QUEUED, 1)
    assert "the connection was closed" in fresh(job).error
