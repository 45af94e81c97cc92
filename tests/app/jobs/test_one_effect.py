"""A job has one effect, however often it runs and whoever cancels it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from memoryapp.models import Job, JobNote, JobState
from memoryapp.services import claims, jobs
from memoryapp.services.job_notes import JobNotes
from memoryapp.services.workers import Worker
from oracleagentmemory.core.extractors.journal import FencedError
from oracleagentmemory.errors import ConflictError
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.app.jobs.conftest import EXTRACTION, LINKS, OPERATOR, SUMMARY, learns
from tests.app.jobs.steps import claim, fresh, lose, stored

Say = Callable[..., Job]
pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_that_lost_its_job_writes_nothing(models: ScriptedModelServer, say: Say) -> None:
    models.add(learns("window", "Ada likes the window", repeat=True))
    job = say("I like the window")
    late = claim("late")
    lose(job)
    assert Worker().drain() == 1
    settled, asked = fresh(job), len(models.requests)
    Worker().run(late)
    assert len(models.requests) == asked, "it asks no more either"
    assert stored() == ["Ada likes the window"]
    assert fresh(job).__dict__ | {"_state": 0} == settled.__dict__ | {"_state": 0}
    with pytest.raises(FencedError):
        JobNotes(late).remember("answer", 1)
    assert not JobNote.objects.exists()
    assert not claims.put_back(late, "late", retry_after_s=None)


@pytest.mark.parametrize("step", ["extraction", "memories", "links", "summary"])
def test_a_run_after_a_dead_one_goes_on_from_its_notes(
    models: ScriptedModelServer, say: Say, step: str
) -> None:
    """The model is not asked again what it has answered, and nothing is stored twice."""
    models.add(learns("aisle", "Ada likes the aisle"))
    say("I like the aisle")
    Worker().drain()
    before = len(models.requests)
    models.add(learns("window", "Ada likes the window"))
    models.add(ScriptedAnswer(when=LINKS, json={"source_resolutions": {}}, repeat=True))
    job = say("I like the window")

    class Killed(BaseException):
        pass

    kept = JobNotes.remember

    def remember(self: JobNotes, key: str, value: Any, transaction: object = None) -> None:
        kept(self, key, value, transaction)
        reached = {"extraction": "answer extraction", "links": "answer links",
                   "summary": "answer summary"}  # fmt: skip
        if step in reached and key.startswith(reached[step]):
            raise Killed

    def killed_in_writing(self: JobNotes, key: str, value: Any, transaction: object = None) -> None:
        kept(self, key, value, transaction)
        if key.startswith("stored"):
            raise Killed

    dies = killed_in_writing if step == "memories" else remember
    with mock.patch.object(JobNotes, "remember", dies), pytest.raises(Killed):
        Worker().drain()
    asked = len(models.requests) - before
    lose(job)
    Worker().drain()
    assert fresh(job).state == JobState.SUCCEEDED
    assert fresh(job).attempts == 2
    assert stored() == ["Ada likes the aisle", "Ada likes the window"]
    steps = [
        next((mark for mark in (EXTRACTION, LINKS, SUMMARY) if mark in str(one.body)), "other")
        for one in models.requests[before:]
    ]
    assert steps.count(EXTRACTION) == 1
    assert steps.count(LINKS) == 1
    assert asked < len(steps) or step == "summary"


def test_what_is_cancelled_before_its_run_is_never_run(
    models: ScriptedModelServer, say: Say
) -> None:
    job = say("I like the window")
    assert jobs.cancel(OPERATOR, job.job_id).state == JobState.CANCELLED
    assert Worker().drain() == 0
    assert not models.requests
    with pytest.raises(ConflictError, match="has ended"):
        jobs.cancel(OPERATOR, job.job_id)


def test_what_is_cancelled_under_way_writes_nothing(models: ScriptedModelServer, say: Say) -> None:
    job = say("I like the window")

    def cancelled(_: str) -> Any:
        jobs.cancel(OPERATOR, job.job_id)
        return {"thoughts": None, "memories": [{"text": "ghost", "record_type": "fact"}]}

    models.add(ScriptedAnswer(when=EXTRACTION, reply=cancelled))
    Worker().drain()
    assert fresh(job).state == JobState.CANCELLED
    assert fresh(job).claimed_by == "", "the run has noticed"
    assert stored() == []
    assert not JobNote.objects.exists()


def test_trying_again_is_a_new_job_that_stores_nothing_twice(
    models: ScriptedModelServer, say: Say
) -> None:
    models.add(learns("window", "Ada likes the window"))
    job = say("I like the window")
    Worker().drain()
    with pytest.raises(ConflictError, match="only what failed"):
        jobs.retry(OPERATOR, job.job_id)
    Job.objects.filter(pk=job.pk).update(state=JobState.PARTIAL)
    models.add(learns("window", "Ada likes the window", "Ada flies"))
    again = jobs.retry(OPERATOR, job.job_id)
    assert again.retry_of == job.job_id
    Worker().drain()
    assert fresh(again).state == JobState.SUCCEEDED
    assert stored() == ["Ada flies", "Ada likes the window"]
