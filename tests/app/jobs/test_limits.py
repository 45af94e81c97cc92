"""Limits of tokens: what waits, what asks no more, and what workers do about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from memoryapp.models import Job, JobState, TokenUse
from memoryapp.services import claims, jobs, tokens
from memoryapp.services.workers import Worker
from oracleagentmemory.testing import ScriptedModelServer
from tests.app.jobs.conftest import OPERATOR, learns
from tests.app.jobs.steps import claim, fresh, stored

Say = Callable[..., Job]
pytestmark = pytest.mark.django_db(transaction=True)


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
