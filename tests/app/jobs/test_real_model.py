"""A real model: `MEMORY_TEST_LLM_URL=http://localhost:11434/v1 pytest tests/app/jobs`.

`MEMORY_TEST_LLM_MODEL` names it, `openai/gpt-4o-mini` by default; `MEMORY_TEST_LLM_KEY` is its key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from memoryapp import memory
from memoryapp.models import Job, JobState
from memoryapp.services import jobs, messages, threads
from memoryapp.services.workers import Worker
from tests.app.jobs.conftest import BUILT, OPERATOR

URL = os.environ.get("MEMORY_TEST_LLM_URL")
pytestmark = [
    pytest.mark.skipif(not URL, reason="MEMORY_TEST_LLM_URL names no OpenAI-compatible server"),
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def _real(settings: Any) -> Iterator[None]:
    settings.MEMORY_LLM = os.environ.get("MEMORY_TEST_LLM_MODEL", "openai/gpt-4o-mini")
    settings.MEMORY_LLM_API_BASE = URL
    settings.MEMORY_LLM_API_KEY = SecretStr(os.environ.get("MEMORY_TEST_LLM_KEY", "none"))
    for built in BUILT:
        built.cache_clear()
    yield
    for built in BUILT:
        built.cache_clear()


@pytest.mark.usefixtures("_real")
def test_a_real_model_teaches_something() -> None:
    threads.create(OPERATOR, thread_id="t-1", user_id="ada")
    said = "My name is Ada, I live in Lisbon, and I only ever drink tea without milk."
    messages.add(OPERATOR, "t-1", [{"role": "user", "content": said}])
    assert Worker().drain() == 1
    (job,) = Job.objects.all()
    detail = jobs.detail(OPERATOR, job.job_id)
    assert job.state in (JobState.SUCCEEDED, JobState.PARTIAL), detail.result
    found = " ".join(one.content or "" for one in memory.store().list_memories(limit=None))
    assert "Lisbon" in found
    assert job.tokens > 0
