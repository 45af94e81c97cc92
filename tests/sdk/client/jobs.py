"""Jobs, and a runner that stops each where the test wants it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oracleagentmemory.apis import ILlm
from oracleagentmemory.core.extractors.jobs import ExtractionJob, JobResult
from oracleagentmemory.core.threadscheduler import ThreadScheduler

#: Far more than anything here takes; a wait that reaches it has failed.
LONG_S = 20.0


def make_job(
    job_id: str,
    thread_id: str | None = "t1",
    behavior: str = "DROP",
    put_s: float = 0.01,
    **more: Any,
) -> ExtractionJob:
    """A job of a thread, with what it does when the queue is full."""
    settings = {
        "memory_extraction_config": {
            "background_extraction_queue_full_behavior": behavior,
            "background_extraction_queue_put_timeout_seconds": put_s,
        }
    }
    return ExtractionJob(
        job_id=job_id, kind="messages", thread_id=thread_id, settings=settings, **more
    )


def make_jobs(*ids: str, **more: Any) -> list[ExtractionJob]:
    """Several jobs of one thread."""
    return [make_job(one, **more) for one in ids]


class GatedRunner:
    """Runs jobs that wait at a gate of their own; notes who began, on which thread, in order."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.threads: list[str] = []
        self.llms: list[ILlm | None] = []
        self.fails: dict[str, BaseException] = {}
        self._open: set[str] = set()
        self._all_open = False
        self._changed = threading.Condition()

    def __call__(self, job: ExtractionJob, llm: ILlm | None) -> JobResult:
        """Wait at the gate, then fail or succeed as told."""
        with self._changed:
            self.begun.append(job.job_id)
            self.threads.append(threading.current_thread().name)
            self.llms.append(llm)
            self._changed.notify_all()
            assert self._changed.wait_for(
                lambda: self._all_open or job.job_id in self._open, LONG_S
            )
        if job.job_id in self.fails:
            raise self.fails[job.job_id]
        return JobResult(job_id=job.job_id, state="succeeded")

    def let(self, *job_ids: str) -> None:
        """Let these jobs through; all jobs, when none is named."""
        with self._changed:
            self._open |= set(job_ids)
            self._all_open = self._all_open or not job_ids
            self._changed.notify_all()

    def wait_until_begun(self, count: int) -> None:
        """Wait until so many jobs have begun."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.begun) >= count, LONG_S), self.begun


@contextmanager
def gated(**options: Any) -> Iterator[tuple[ThreadScheduler, GatedRunner]]:
    """A scheduler over a gated runner, drained at the end."""
    runner = GatedRunner()
    scheduler = ThreadScheduler(runner, **options)
    try:
        yield scheduler, runner
    finally:
        runner.let()
        assert scheduler.pending().wait(LONG_S)
