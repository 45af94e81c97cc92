"""Deletes end the jobs of what is gone; a late run leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from memoryapp import memory
from memoryapp.models import Job, JobNote, JobState
from memoryapp.services import claims, messages, threads
from memoryapp.services.workers import Worker
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.app.api.conftest import Api, make_api  # noqa: F401 - a fixture
from tests.app.jobs.conftest import EXTRACTION, OPERATOR, learns

Say = Callable[..., Job]
pytestmark = pytest.mark.django_db(transaction=True)
GHOST = {"thoughts": None, "memories": [{"text": "ghost", "record_type": "fact"}]}


def stored() -> list[str]:
    return sorted(one.content or "" for one in memory.store().list_memories(limit=None))


def fresh(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def test_deleting_a_thread_cancels_what_waits(models: ScriptedModelServer, say: Say) -> None:
    mine, other = say("one"), say("two", thread_id="t-2")
    assert threads.delete(OPERATOR, "t-1") == []
    assert (fresh(mine).state, fresh(other).state) == (JobState.CANCELLED, JobState.QUEUED)
    assert "its thread was deleted" in fresh(mine).error
    Worker().drain()
    assert len([one for one in models.requests if EXTRACTION in str(one.body)]) == 1


def test_deleting_a_thread_under_way_leaves_nothing_behind(
    models: ScriptedModelServer, say: Say, settings: Any
) -> None:
    settings.MEMORY_DELETE_WAIT_S = 0.05
    job = say("I like the window")
    running: list[list[str]] = []

    def deleted(_: str) -> Any:
        running.append(threads.delete(OPERATOR, "t-1"))
        return GHOST

    models.add(ScriptedAnswer(when=EXTRACTION, reply=deleted))
    Worker().drain()
    assert running == [[job.job_id]], "the delete did not wait for the model"
    assert fresh(job).state == JobState.CANCELLED
    assert fresh(job).claimed_by == ""
    assert stored() == []


def test_nothing_that_quotes_a_deleted_thread_stays_in_its_jobs(
    models: ScriptedModelServer,
    say: Say,
    make_api: Callable[..., Api],  # noqa: F811
) -> None:
    models.add(learns("4111", "the card is 4111"))
    models.add(ScriptedAnswer(when="4222", status=503, text="4222", repeat=True))
    ended = say("my card is 4111")
    Worker().drain()
    waiting = say("my card is 4222")
    Worker().drain()
    assert "4111" in str(fresh(ended).result)
    assert JobNote.objects.filter(job=waiting).count() == 0
    JobNote.objects.create(job=waiting, key="answer extraction 0", value="4222")
    threads.delete(OPERATOR, "t-1")
    kept = f"{list(Job.objects.values())} {list(JobNote.objects.values())}"
    assert "4111" not in kept
    assert "4222" not in kept
    api = make_api()
    for job in (ended, waiting):
        assert api.get(f"/jobs/{job.job_id}").status_code == 200


def test_a_delete_waits_for_a_run_that_notices_in_time(say: Say, settings: Any) -> None:
    settings.MEMORY_DELETE_WAIT_S = 20.0
    say("I like the window")
    run = claims.claim_next("w")
    assert run is not None

    def notice() -> None:
        try:
            claims.release(run)
        finally:
            connections.close_all()

    late = threading.Timer(0.2, notice)
    late.start()
    assert threads.delete(OPERATOR, "t-1") == []
    late.join()


def test_the_api_answers_202_with_the_jobs_that_still_run(
    say: Say,
    make_api: Callable[..., Api],  # noqa: F811
    settings: Any,
) -> None:
    settings.MEMORY_DELETE_WAIT_S = 0.05
    api = make_api()
    job = say("I like the window")
    claims.claim_next("w")
    answer = api.delete("/threads/t-1")
    assert (answer.status_code, answer.json()) == (202, {"job_ids": [job.job_id]})
    assert api.get("/threads/t-1").status_code == 404
    say("I like the window", thread_id="t-2")
    assert api.delete("/threads/t-2").status_code == 204


def test_what_is_learnt_from_other_messages_survives_the_deletion_of_one(
    models: ScriptedModelServer, settings: Any
) -> None:
    settings.MEMORY_DELETE_WAIT_S = 0.05
    threads.create(OPERATOR, thread_id="t-1", user_id="ada")
    texts = ("I like the window", "my card is 4111")
    given = [{"role": "user", "content": text} for text in texts]
    _, secret = messages.add(OPERATOR, "t-1", given)
    (job,) = Job.objects.all()

    def deleted(_: str) -> Any:
        assert messages.delete(OPERATOR, "t-1", secret) == [job.job_id]
        return GHOST

    models.add(ScriptedAnswer(when=EXTRACTION, reply=deleted))
    models.add(learns("window", "Ada likes the window"))
    Worker().drain()
    assert fresh(job).state == JobState.CANCELLED
    again = Job.objects.get(retry_of=job.job_id)
    assert again.state == JobState.SUCCEEDED
    assert stored() == ["Ada likes the window"]
    assert "4111" not in str(models.requests[-1].body)


def test_a_job_nobody_has_begun_stays_unless_its_only_message_goes(
    models: ScriptedModelServer,
) -> None:
    threads.create(OPERATOR, thread_id="t-1", user_id="ada")
    first, second = messages.add(
        OPERATOR, "t-1", [{"role": "user", "content": text} for text in ("one", "two")]
    )
    (job,) = Job.objects.all()
    messages.delete(OPERATOR, "t-1", first)
    assert fresh(job).state == JobState.QUEUED
    (third,) = messages.add(OPERATOR, "t-1", [{"role": "user", "content": "three"}])
    messages.delete(OPERATOR, "t-1", third)
    Worker().drain()
    assert fresh(job).state == JobState.SUCCEEDED
    asked = [str(one.body) for one in models.requests if EXTRACTION in str(one.body)]
    assert len(asked) in (1, 2)
    assert all("three" not in one for one in asked)
    assert second in str(fresh(job).payload)
