"""The life of a job in one process: claimed, run, put back, taken over, settled, fenced."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest
from django.db import InterfaceError
from django.db.models import F
from django.utils import timezone

from memoryapp import memory
from memoryapp.models import Job, JobNote, JobState, TokenUse, WorkerBeat
from memoryapp.services import claims, jobs, tokens, workers
from memoryapp.services.job_notes import JobNotes
from memoryapp.services.workers import Worker
from oracleagentmemory.core.extractors.journal import FencedError
from oracleagentmemory.errors import ConflictError
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.app.jobs.conftest import EXTRACTION, LINKS, OPERATOR, SUMMARY, learns

Say = Callable[..., Job]
pytestmark = pytest.mark.django_db(transaction=True)


def stored() -> list[str]:
    return sorted(one.content or "" for one in memory.store().list_memories(limit=None))


def claim(name: str = "w") -> claims.Claim:
    found = claims.claim_next(name)
    assert found is not None
    return found


def lose(job: Job) -> None:
    """Let the lease of a job's worker be over."""
    Job.objects.filter(pk=job.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


def make_due(job: Job) -> None:
    """Let the pause of a job be over."""
    Job.objects.filter(pk=job.pk).update(not_before=timezone.now())


def fresh(job: Job) -> Job:
    return Job.objects.get(pk=job.pk)


def test_a_job_is_run_and_accounted_for(models: ScriptedModelServer, say: Say) -> None:
    models.add(learns("window", "Ada likes the window", usage=(100, 20)))
    job = say("I like the window")
    assert Worker().drain() == 1
    job = fresh(job)
    assert (job.state, job.attempts, job.error, job.claimed_by) == (JobState.SUCCEEDED, 1, "", "")
    assert job.ended_at is not None
    assert job.lease_until is None
    detail = jobs.detail(OPERATOR, job.job_id)
    assert detail.result is not None
    assert [one.content for one in memory.store().list_memories(limit=None)] == [
        "Ada likes the window"
    ]
    assert detail.result.answers[0].step == "extraction"
    assert list(detail.messages) == list(detail.given.message_ids)
    assert not JobNote.objects.exists(), "notes go when the job is settled"
    assert Worker().drain() == 0


def test_tokens_and_cost_are_counted_per_answer(models: ScriptedModelServer, say: Say) -> None:
    models.add(learns("window", "Ada likes the window", usage=(100, 20)))
    job = say("I like the window")
    Worker().drain()
    result = jobs.detail(OPERATOR, job.job_id).result
    assert result is not None
    assert (result.tokens.input_tokens > 100, len(result.answers)) == (True, 2)
    job = fresh(job)
    assert job.model == "openai/scripted"
    assert (job.input_tokens, job.output_tokens) == (
        result.tokens.input_tokens,
        result.tokens.output_tokens,
    )
    assert job.cost is None, "nobody knows the price of a scripted model"
    (use,) = TokenUse.objects.all()
    assert (use.user_id, use.input_tokens, use.day) == ("ada", job.input_tokens, tokens.today())


def test_a_price_is_that_of_the_models_table() -> None:
    from oracleagentmemory.apis.llms.llm import LlmUsage

    assert tokens.price("openai/gpt-4o-mini", LlmUsage(1000, 100)) == Decimal("0.00021")
    assert tokens.price("openai/scripted", LlmUsage(1000, 100)) is None


def test_jobs_of_a_thread_keep_their_order_and_threads_run_side_by_side(say: Say) -> None:
    first, second, other = say("one"), say("two"), say("three", thread_id="t-2")
    assert claim("a").job == first
    assert claim("b").job == other
    assert claims.claim_next("c") is None
    Job.objects.filter(pk=first.pk).update(state=JobState.FAILED)
    assert claim("c").job == second


def test_a_job_that_waits_for_its_next_try_holds_up_its_thread_only(say: Say) -> None:
    first, _, other = say("one"), say("two"), say("three", thread_id="t-2")
    claims.put_back(claim(), "busy", retry_after_s=None)
    assert fresh(first).state == JobState.QUEUED
    assert claim().job == other
    assert claims.claim_next("w") is None


def test_no_more_jobs_run_than_the_model_is_to_answer_at_once(settings: Any, say: Say) -> None:
    settings.MEMORY_LLM_CONCURRENCY = 2
    made = [say(f"text {n}", thread_id=f"t-{n}") for n in range(3)]
    claim("a"), claim("b")
    assert claims.claim_next("c") is None
    lose(made[0])
    assert claim("c").job == made[0], "one whose worker died does not count"


def test_of_two_workers_that_read_the_same_row_one_gets_it(say: Say) -> None:
    job = say("one")
    now = timezone.now()
    row = Job.objects.get(pk=job.pk)
    again = Job.objects.get(pk=job.pk)
    assert claims._claim(row, "a", now) is not None
    assert claims._claim(again, "b", now) is None
    assert fresh(job).claimed_by == "a"


# -- failures --------------------------------------------------------------------------------------


def test_a_busy_model_is_asked_again_after_what_it_asks_for(
    models: ScriptedModelServer, say: Say
) -> None:
    models.add(ScriptedAnswer(when=EXTRACTION, status=429, retry_after=90))
    models.add(learns("window", "Ada likes the window"))
    job = say("I like the window")
    before = timezone.now()
    Worker().drain()
    job = fresh(job)
    assert (job.state, job.attempts, job.put_back) == (JobState.QUEUED, 1, 1)
    assert job.not_before >= before + timedelta(seconds=90)
    assert "429" in job.error
    make_due(job)
    Worker().drain()
    assert fresh(job).state == JobState.SUCCEEDED
    assert stored() == ["Ada likes the window"]


def test_pauses_grow_and_differ(say: Say) -> None:
    job = say("one")
    pauses = []
    for n in range(4):
        Job.objects.filter(pk=job.pk).update(put_back=n, not_before=timezone.now())
        claims.put_back(claim(), "busy", retry_after_s=None)
        pauses.append((fresh(job).not_before - timezone.now()).total_seconds())
    for n, pause in enumerate(pauses):
        assert 0.4 * 2 * 2**n < pause <= 1.5 * 2 * 2**n


def test_a_job_fails_when_it_was_tried_often_enough(
    settings: Any, models: ScriptedModelServer, say: Say
) -> None:
    settings.MEMORY_JOB_RETRIES = 2
    models.add(ScriptedAnswer(when=EXTRACTION, status=503, repeat=True))
    job = say("I like the window")
    for _ in range(3):
        make_due(job)
        Worker().drain()
    job = fresh(job)
    assert (job.state, job.attempts, job.put_back) == (JobState.FAILED, 3, 2)
    assert "503" in job.error
    assert Worker().drain() == 0


def test_a_refusal_is_not_tried_again(models: ScriptedModelServer, say: Say) -> None:
    models.add(ScriptedAnswer(when=EXTRACTION, status=400, repeat=True))
    job = say("I like the window")
    Worker().drain()
    assert (fresh(job).state, fresh(job).attempts) == (JobState.FAILED, 1)


def test_an_answer_that_is_nonsense_makes_a_job_partial_or_failed_with_its_text(
    models: ScriptedModelServer, say: Say
) -> None:
    models.add(ScriptedAnswer(when=EXTRACTION, text="I'd rather not say."))
    job = say("I like the window")
    Worker().drain()
    result = jobs.detail(OPERATOR, job.job_id).result
    assert fresh(job).state in (JobState.PARTIAL, JobState.FAILED)
    assert result is not None
    assert result.answers[0].raw == "I'd rather not say."


def test_three_workers_that_die_fail_a_job(say: Say) -> None:
    job = say("one")
    for name in "abc":
        assert claim(name).job == job
        lose(job)
    assert claims.claim_next("d") is None
    job = fresh(job)
    assert (job.state, job.attempts) == (JobState.FAILED, 3)
    assert "3 workers in turn died" in job.error


def test_deaths_are_counted_apart_from_tries(say: Say) -> None:
    job = say("one")
    for _ in range(4):
        make_due(job)
        claims.put_back(claim(), "busy", retry_after_s=None)
    make_due(job)
    for name in "abc":
        assert claim(name).job == job
        lose(job)
    assert claims.claim_next("d") is None
    assert fresh(job).state == JobState.FAILED


def test_a_lease_is_renewed_but_not_beyond_the_time_limit(settings: Any, say: Say) -> None:
    settings.MEMORY_JOB_LEASE_S = 60.0
    settings.MEMORY_JOB_TIME_LIMIT_S = 30.0
    job = say("one")
    run = claim()
    lose(job)
    claims.renew([run])
    left = fresh(job).lease_until - timezone.now()
    assert timedelta(seconds=20) < left <= timedelta(seconds=30)
    over = claims.Claim(run.job, run.worker, run.number, ends_at=0.0)
    lose(job)
    claims.renew([over])
    assert fresh(job).lease_until < timezone.now()
    assert claim("another").job == job


# -- one effect ------------------------------------------------------------------------------------


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


# -- limits ----------------------------------------------------------------------------------------


def test_jobs_of_a_user_over_the_daily_limit_wait_and_say_so(settings: Any, say: Say) -> None:
    settings.MEMORY_LLM_USER_DAILY_TOKENS = 100
    TokenUse.objects.create(day=tokens.today(), user_id="ada", model="m", input_tokens=100)
    mine, more = say("one"), say("two")
    others = say("three", thread_id="t-2", user_id="bob")
    assert claim().job == others
    assert claims.claim_next("w") is None
    for job in (mine, more):
        assert "MEMORY_LLM_USER_DAILY_TOKENS" in fresh(job).wait_reason
        assert fresh(job).not_before.date() == tokens.today() + timedelta(days=1)
    assert jobs.depth(OPERATOR).limited.value == 2
    assert tokens.release_waiting() == 0
    settings.MEMORY_LLM_USER_DAILY_TOKENS = 101
    assert tokens.release_waiting() == 2
    assert claim().job == mine
    assert fresh(mine).wait_reason == ""


def test_all_jobs_wait_when_the_limit_of_all_is_reached(settings: Any, say: Say) -> None:
    settings.MEMORY_LLM_DAILY_TOKENS = 100
    TokenUse.objects.create(day=tokens.today(), user_id="eve", model="m", output_tokens=100)
    job = say("one")
    assert claims.claim_next("w") is None
    assert "MEMORY_LLM_DAILY_TOKENS" in fresh(job).wait_reason
    TokenUse.objects.update(day=F("day") - timedelta(days=1))
    assert tokens.release_waiting() == 1
    assert claim().job == job


def test_a_job_asks_no_more_when_its_tokens_are_used_up(
    settings: Any, models: ScriptedModelServer, say: Say
) -> None:
    settings.MEMORY_LLM_JOB_TOKENS = 100
    say("I like the aisle")
    models.add(learns("aisle", "Ada likes the aisle"))
    Worker().drain()
    models.add(learns("window", "Ada likes the window", usage=(90, 10)))
    job = say("I like the window")
    Worker().drain()
    assert fresh(job).state == JobState.PARTIAL
    assert "MEMORY_LLM_JOB_TOKENS" in fresh(job).error
    assert fresh(job).tokens == 100
    assert stored() == ["Ada likes the aisle", "Ada likes the window"]


# -- workers ---------------------------------------------------------------------------------------


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
