"""The life of a job in one process: claimed, run, put back, taken over, settled."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from memoryapp import memory
from memoryapp.models import Job, JobNote, JobState, TokenUse
from memoryapp.services import claims, jobs, tokens
from memoryapp.services.workers import Worker
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.app.jobs.conftest import EXTRACTION, OPERATOR, learns
from tests.app.jobs.steps import claim, fresh, lose, make_due, stored

Say = Callable[..., Job]
pytestmark = pytest.mark.django_db(transaction=True)


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
