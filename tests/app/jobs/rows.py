"""Jobs as rows in any state, for tests of what shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from memoryapp.models import Job, JobState
from oracleagentmemory.apis.llms.llm import LlmUsage
from oracleagentmemory.core.extractors.jobs import (
    ExtractionJob,
    JobProblem,
    JobResult,
    ModelAnswer,
    Window,
)


def add_job(
    job_id: str,
    state: JobState = JobState.QUEUED,
    *,
    user_id: str = "ada",
    thread_id: str = "t-1",
    message_ids: Sequence[str] = (),
    earlier_ids: Sequence[str] = (),
    age_s: float = 0.0,
    **more: Any,
) -> Job:
    """Store one row; times and worker are as a job of that state has them."""
    given = ExtractionJob(
        job_id=job_id,
        kind=more.get("kind", "messages"),
        thread_id=thread_id or None,
        user_id=user_id or None,
        message_ids=tuple(message_ids),
        windows=(Window(tuple(message_ids), tuple(earlier_ids)),),
        image_id=more.pop("image_id", None),
        reason="add_messages",
    )
    accepted = timezone.now() - timedelta(seconds=age_s)
    fields: dict[str, Any] = {
        "kind": "messages",
        "reason": given.reason,
        "payload": given.to_json(),
        "not_before": accepted,
    }
    if state is JobState.RUNNING:
        fields |= {
            "started_at": accepted,
            "claimed_by": "host:1:abc",
            "lease_until": timezone.now() + timedelta(seconds=60),
            "attempts": 1,
        }
    elif state is not JobState.QUEUED:
        fields |= {"started_at": accepted, "ended_at": timezone.now(), "attempts": 1}
    return Job.objects.create(
        job_id=job_id,
        state=state,
        user_id=user_id,
        thread_id=thread_id,
        queue_key=given.queue_key,
        created_at=accepted,
        **fields | more,
    )


def result_of(
    job_id: str,
    *,
    raw: str = '{"memories": []}',
    problems: Sequence[JobProblem] = (),
    memory_ids: Sequence[str] = (),
    relation_ids: Sequence[str] = (),
    thread_id: str | None = "t-1",
) -> dict[str, Any]:
    """What a run with one answer left, as the row keeps it."""
    state: Any = "partial" if problems else "succeeded"
    answer = ModelAnswer("extraction", "extract-1", "openai/scripted", raw, LlmUsage(120, 45))
    return JobResult(
        job_id=job_id,
        state=state,
        thread_id=thread_id,
        memory_ids=tuple(memory_ids),
        relation_ids=tuple(relation_ids),
        problems=tuple(problems),
        answers=(answer,),
    ).to_json()
