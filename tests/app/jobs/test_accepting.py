"""Jobs are written with their messages; who waits for them; which models a thread may name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from asgiref.sync import async_to_sync

from memoryapp import memory, scheduler
from memoryapp.models import Job, JobState
from memoryapp.services import audit, messages, threads
from oracleagentmemory.core.extractors import MemoryExtractionConfig, MemoryExtractionMode
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.errors import InvalidInputError, WaitTimeoutError
from oracleagentmemory.testing import ScriptedModelServer
from tests.app.jobs.conftest import BUILT, OPERATOR

Say = Callable[..., Job]


@pytest.mark.django_db
def test_a_message_makes_a_job_due_in_its_transaction(say: Say) -> None:
    job = say("I like the window")
    assert job.state == JobState.QUEUED
    assert (job.kind, job.thread_id, job.user_id, job.agent_id) == (
        "messages", "t-1", "ada", "travel",
    )  # fmt: skip
    assert job.requested_by == "command:test"

    def fail(*_: Any, **__: Any) -> None:
        assert Job.objects.count() == 2
        raise RuntimeError("rolled back")

    with (
        mock.patch.object(audit, "record", fail),
        pytest.raises(RuntimeError, match="rolled back"),
    ):
        messages.add(OPERATOR, "t-1", [{"role": "user", "content": "never said"}])
    assert list(Job.objects.all()) == [job]
    assert messages.count(OPERATOR, "t-1").value == 1


@pytest.mark.django_db
def test_a_thread_that_was_saved_to_learn_inline_learns_in_a_worker(
    models: ScriptedModelServer,
) -> None:
    inline = MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.INLINE)
    memory.client().create_thread(thread_id="t-1", user_id="ada", memory_extraction_config=inline)
    messages.add(OPERATOR, "t-1", [{"role": "user", "content": "I like the window"}])
    assert not models.requests
    assert [job.state for job in Job.objects.all()] == [JobState.QUEUED]


@pytest.mark.django_db
def test_a_thread_that_learns_opens_when_there_is_no_model_any_more(
    models: ScriptedModelServer, settings: Any
) -> None:
    threads.create(OPERATOR, thread_id="t-1", user_id="ada")
    settings.MEMORY_LLM = None
    for built in BUILT:
        built.cache_clear()
    messages.add(OPERATOR, "t-1", [{"role": "user", "content": "I like the window"}])
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_without_a_model_nothing_is_queued() -> None:
    assert memory.llm() is None
    threads.create(OPERATOR, thread_id="t-1", user_id="ada")
    messages.add(OPERATOR, "t-1", [{"role": "user", "content": "I like the window"}])
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_the_hint_is_sent_once_committed_and_a_broken_broker_fails_no_request(
    say: Say, django_capture_on_commit_callbacks: Any
) -> None:
    refused = OSError("no space left")
    with mock.patch.object(scheduler.current_app, "send_task", side_effect=refused) as sent:
        with django_capture_on_commit_callbacks(execute=True):
            job = say("I like the window")
            assert not sent.called
        assert sent.call_args.args == (scheduler.DRAIN_TASK,)
        assert not memory.scheduler().hint()
        assert sent.call_count == 1, "a broker that failed rests for some seconds"
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


@pytest.mark.django_db
def test_a_thread_may_name_no_model_but_the_configured_one(models: ScriptedModelServer) -> None:
    other = Llm("openai/other", api_base=models.api_base, api_key="none")
    client = memory.client()
    with pytest.raises(InvalidInputError, match=r"MEMORY_LLM names.*openai/scripted"):
        client.create_thread(thread_id="t-1", user_id="ada", llm=other)
    client.create_thread(thread_id="t-1", user_id="ada", llm=memory.llm())
    with pytest.raises(InvalidInputError, match="MEMORY_LLM"):
        client.get_thread("t-1", llm=other)
    with pytest.raises(InvalidInputError, match="MEMORY_LLM"):
        client.update_thread("t-1", llm=other)


@pytest.mark.django_db(transaction=True)
def test_waiting_is_for_the_jobs_that_this_client_had_accepted(say: Say) -> None:
    job = say("I like the window")
    client = memory.client()
    with pytest.raises(WaitTimeoutError, match=job.job_id):
        client.wait_for_memory_extraction(0.05)
    with pytest.raises(WaitTimeoutError, match=job.job_id):
        async_to_sync(client.wait_for_memory_extraction_async)(0.05)
    pending = memory.scheduler().pending()
    later = say("And the aisle")
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED)
    assert pending.wait(1.0)
    assert async_to_sync(pending.ended)(1.0)
    Job.objects.filter(pk=later.pk).update(accepted_by="another process")
    client.wait_for_memory_extraction(0.05)
