"""The SDK's scheduler for workers: jobs are rows, written with the messages that made them due.

The database is the queue. What goes to the broker is a hint that there is something to do, sent
once the rows are committed; one that is lost, torn or doubled changes nothing, since a worker
claims the rows themselves and looks for them without a hint, too.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from celery import current_app
from django.conf import settings
from django.db import connections
from django.db.transaction import on_commit
from django.utils import timezone

from oracleagentmemory.core.background import ALL_WORK, WorkScope
from oracleagentmemory.errors import InvalidInputError

if TYPE_CHECKING:
    from memoryapp.models import Job
    from oracleagentmemory.apis.llms.llm import ILlm
    from oracleagentmemory.core.extractors.jobs import ExtractionJob

logger = logging.getLogger(__name__)

DRAIN_TASK = "memoryapp.drain_jobs"
#: Seconds without hints after the broker failed: no request is to wait for it again and again.
BROKER_REST_S = 5.0
#: Seconds after which nobody acts on a hint any more.
HINT_LIFE_S = 30.0
_FIRST_LOOK_S, _LONGEST_LOOK_S = 0.02, 0.25

_requester: ContextVar[str] = ContextVar("memoryapp_job_requester", default="")


@contextmanager
def requested_by(actor: str) -> Iterator[None]:
    """Note on jobs that are accepted in this block whose request made them due."""
    token = _requester.set(actor)
    try:
        yield
    finally:
        _requester.reset(token)


P = ParamSpec("P")
T = TypeVar("T")


def _off_the_loop(read: Callable[P, T]) -> Callable[P, T]:
    """Return a read of the database that may be called where an event loop runs.

    Django refuses to use the loop's thread, so it is another one for that moment.
    """

    @functools.wraps(read)
    def elsewhere(*args: P.args, **kwargs: P.kwargs) -> T:
        def reading() -> T:
            try:
                return read(*args, **kwargs)
            finally:
                # Django does not know this thread, and would leave its connection open.
                connections.close_all()

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return read(*args, **kwargs)
        with ThreadPoolExecutor(1) as one:
            return one.submit(reading).result()

    return elsewhere


class PendingJobs:
    """The rows that had not ended at one moment; see the SDK's ``PendingWork``."""

    def __init__(self, job_ids: Sequence[str]) -> None:
        self._job_ids = list(job_ids)

    @_off_the_loop
    def unfinished(self) -> list[str]:
        """Name those that have not ended."""
        from memoryapp.models import UNFINISHED, Job

        if not self._job_ids:
            return []
        rows = Job.objects.filter(job_id__in=self._job_ids, state__in=UNFINISHED).order_by("id")
        found = list(rows.values_list("job_id", "kind", "queue_key"))
        self._job_ids = [job_id for job_id, _, _ in found]
        return [f"{job_id} ({kind}, {queue_key})" for job_id, kind, queue_key in found]

    def wait(self, timeout_s: float | None) -> bool:
        """Look again and again until all have ended; say whether they have."""
        never = threading.Event()
        for pause_s in _pauses(timeout_s):
            if not self.unfinished():
                return True
            never.wait(pause_s)
        return not self.unfinished()

    async def ended(self, timeout_s: float | None) -> bool:
        """Wait as `wait` does; only each look itself takes a thread."""
        for pause_s in _pauses(timeout_s):
            if not self.unfinished():
                return True
            await asyncio.sleep(pause_s)
        return not self.unfinished()


def _pauses(timeout_s: float | None) -> Iterator[float]:
    """Yield how long to pause before the next look, until the time is over."""
    end = None if timeout_s is None else time.monotonic() + timeout_s
    pause_s = _FIRST_LOOK_S
    while end is None or (left := end - time.monotonic()) > 0:
        yield pause_s if end is None else min(pause_s, left)
        pause_s = min(pause_s * 1.5, _LONGEST_LOOK_S)


class CeleryScheduler:
    """Records jobs as rows for workers. It is never full, so DROP and WAIT do not apply.

    Args:
        llm: The model that workers ask; it is the only one that a thread may name.
    """

    def __init__(self, llm: ILlm | None) -> None:
        self.delete_wait_s: float = settings.MEMORY_DELETE_WAIT_S
        self.name = str(uuid.uuid4())
        self._llm = llm
        self._rests_until = 0.0

    def check_llm(self, llm: ILlm | None) -> None:
        """Raise ``InvalidInputError`` for a model that a worker could not find by its name."""
        if llm is not None and llm is not self._llm:
            configured = settings.MEMORY_LLM or "none is set"
            raise InvalidInputError(
                "workers ask the model that MEMORY_LLM names and no other one, so llm= cannot be "
                f"given here ({configured})"
            )

    def accept(self, jobs: Sequence[ExtractionJob], transaction: object) -> None:
        """Write the rows in the transaction of their messages; it sends a hint once committed."""
        from memoryapp.models import Job

        now = timezone.now()
        rows = [self._row(job, Job(not_before=now, created_at=now)) for job in jobs]
        Job.objects.bulk_create(rows)
        self.hint_on_commit()

    def _row(self, job: ExtractionJob, row: Job) -> Job:
        row.job_id, row.kind, row.reason = job.job_id, job.kind, job.reason
        row.thread_id, row.user_id = job.thread_id or "", job.user_id or ""
        row.agent_id, row.queue_key = job.agent_id or "", job.queue_key
        row.requested_by, row.accepted_by = _requester.get(), self.name
        row.payload = job.to_json()
        return row

    def start(self, jobs: Sequence[ExtractionJob], llm: ILlm | None) -> None:
        """Do nothing: the rows are committed, and their hint is sent."""

    @_off_the_loop
    def pending(self, scope: WorkScope = ALL_WORK) -> PendingJobs:
        """Return the rows that this process had accepted and that have not ended."""
        from memoryapp.models import UNFINISHED, Job

        named = {
            "thread_id": scope.thread_id,
            "user_id": scope.user_id,
            "agent_id": scope.agent_id,
        }
        rows = Job.objects.filter(
            accepted_by=self.name,
            state__in=UNFINISHED,
            **{name: value for name, value in named.items() if value is not None},
        )
        return PendingJobs(list(rows.order_by("id").values_list("job_id", flat=True)))

    def hint_on_commit(self) -> None:
        """Tell the workers once the open transaction is committed, if there is one."""
        on_commit(self.hint, robust=True)

    def hint(self) -> bool:
        """Tell the workers that there is something to do; say whether the broker took it."""
        if time.monotonic() < self._rests_until:
            return False
        try:
            # A worker that was away finds a few hints; it looks for work without them, too.
            current_app.send_task(DRAIN_TASK, ignore_result=True, retry=False, expires=HINT_LIFE_S)
        except Exception as error:  # noqa: BLE001 - brokers promise no common class
            self._rests_until = time.monotonic() + BROKER_REST_S
            logger.warning("the broker took no hint, workers find the job later: %s", error)
            return False
        return True
