"""Background work on threads of this process.

A thread exists only while there is work: it starts with a job, goes on with what waits, and ends.
So nothing has to be stopped, a client that is dropped goes away once its work has ended, and a
process that exits does not wait (what it leaves undone is logged).
"""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from concurrent import futures

from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.core.background import ALL_WORK, DELETE_WAIT_S, WorkScope
from oracleagentmemory.core.extractors.jobs import (
    ExtractionJob,
    JobResult,
    explained,
    failed_result,
)
from oracleagentmemory.core.extractors.memoryextractionconfig import (
    BackgroundExtractionQueueFullBehavior as QueueFull,
)
from oracleagentmemory.errors import (
    RetryableError,
    StateError,
    WaitTimeoutError,
)
from oracleagentmemory.storage.engine import WriteTransaction

logger = logging.getLogger(__name__)

WORKERS = 4
WAITING_PER_THREAD = 16
WAITING_IN_ALL = 128
#: Results that a scheduler keeps, the newest.
RESULTS_KEPT = 128

_schedulers: weakref.WeakSet[ThreadScheduler] = weakref.WeakSet()


class _Task:
    """A job, the model and the context to run it with, and its end."""

    def __init__(self, job: ExtractionJob, llm: ILlm | None) -> None:
        self.job = job
        self.llm = llm
        self.context = contextvars.copy_context()
        self.end: futures.Future[JobResult] = futures.Future()
        # Else a cancelled waiter would cancel the job's end for all others.
        self.end.set_running_or_notify_cancel()
        self.left_to_parent = False

    @property
    def has_ended(self) -> bool:
        """Whether nobody needs to wait for it in this process."""
        return self.left_to_parent or self.end.done()


class PendingTasks:
    """The tasks that were pending at one moment; see `PendingWork`."""

    def __init__(self, tasks: Sequence[_Task]) -> None:
        self._tasks = tasks

    def unfinished(self) -> list[str]:
        """Name the jobs that have not ended yet."""
        return [str(task.job) for task in self._tasks if not task.has_ended]

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until all have ended; say whether they have."""
        late = futures.wait(self._ends(), _within_bounds(timeout_s)).not_done
        return not late

    async def ended(self, timeout_s: float | None) -> bool:
        """Wait as `wait` does, on the running event loop and on no thread."""
        ends = [asyncio.wrap_future(end) for end in self._ends()]
        if not ends:
            return True
        try:
            return not (await asyncio.wait(ends, timeout=_within_bounds(timeout_s)))[1]
        finally:
            # They must not report to a loop that is closed by then.
            for end in ends:
                end.cancel()

    def _ends(self) -> list[futures.Future[JobResult]]:
        return [task.end for task in self._tasks if not task.has_ended]


class ThreadScheduler:
    """Runs jobs on a few threads: in order within a thread of messages, else side by side.

    A thread of messages has one job running and at most 16 waiting; 128 wait in all. What happens
    to a job for which there is no place, its settings say. Thread-safe; a forked child begins with
    no work.

    Args:
        run: Runs one job with the model that came with it and says what came of it. Whatever it
            raises makes the job a failed one and does not stop the others.
        workers: Jobs that run at the same time.
        delete_wait_s: Seconds that a delete waits for the work on what it deletes.
    """

    def __init__(
        self,
        run: Callable[[ExtractionJob, ILlm | None], JobResult],
        *,
        workers: int = WORKERS,
        waiting_per_thread: int = WAITING_PER_THREAD,
        waiting_in_all: int = WAITING_IN_ALL,
        delete_wait_s: float = DELETE_WAIT_S,
    ) -> None:
        self.delete_wait_s = delete_wait_s
        self._run = run
        self._workers = workers
        self._per_thread = waiting_per_thread
        self._in_all = waiting_in_all
        self._stopped = False
        self._results: deque[JobResult] = deque(maxlen=RESULTS_KEPT)
        self._empty()
        _schedulers.add(self)

    def _empty(self) -> None:
        self._changed = threading.Condition()
        self._free = set(range(self._workers))
        self._running: dict[str, _Task] = {}
        self._waiting: dict[str, deque[_Task]] = {}
        #: Keys with waiting tasks and no running one, the longest waiting first.
        self._ready: deque[str] = deque()
        #: Callers that wait for a place, by key: first come, first served keeps jobs in order.
        self._lines: dict[str, deque[_Task]] = {}

    def check_llm(self, llm: ILlm | None) -> None:
        """Accept any model: it stays beside its jobs."""

    def accept(self, jobs: Sequence[ExtractionJob], transaction: WriteTransaction) -> None:
        """Do nothing: jobs on threads end with the process, there is nothing to record."""

    def start(self, jobs: Sequence[ExtractionJob], llm: ILlm | None) -> None:
        """Run jobs, now or when it is their turn.

        Raises:
            WaitTimeoutError: If there was no place in time and their settings say
                ``WAIT_THEN_RAISE``; the jobs that found one run.
            StateError: If the scheduler is stopped.
            RetryableError: If the system gives no thread.
        """
        began = time.monotonic()
        refused = []
        for job in jobs:
            waits = job.queue_full_behavior is not QueueFull.DROP
            left_s = job.queue_put_timeout_s - (time.monotonic() - began) if waits else 0.0
            if not self._put(_Task(job, llm), left_s):
                refused.append(job)
        self._refuse(refused)

    def pending(self, scope: WorkScope = ALL_WORK) -> PendingTasks:
        """Return the work that is accepted and has not ended."""
        with self._changed:
            waiting = [task for tasks in self._waiting.values() for task in tasks]
            tasks = [*self._running.values(), *waiting]
        return PendingTasks([task for task in tasks if scope.covers(task.job)])

    def results(self) -> list[JobResult]:
        """Return what came of the newest 128 jobs, in the order of their ends; refused ones too."""
        with self._changed:
            return list(self._results)

    def note(self, result: JobResult) -> None:
        """Keep what came of a job that ran elsewhere, in a call, among the others."""
        with self._changed:
            self._results.append(result)

    def stop(self) -> None:
        """Take no more jobs; those accepted still run."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def close(self, timeout_s: float | None = 300.0) -> None:
        """Take no more jobs and wait for those accepted; log which are unfinished by then."""
        self.stop()
        pending = self.pending()
        if not pending.wait(timeout_s):
            warn_unfinished(pending.unfinished())

    # -- taking jobs --------------------------------------------------------------------------

    def _put(self, task: _Task, patience_s: float) -> bool:
        """Wait for a place and take it; say whether there was one in time."""
        key = task.job.queue_key
        with self._changed:
            line = self._lines.setdefault(key, deque())
            line.append(task)
            try:
                self._changed.wait_for(
                    lambda: self._stopped or (line[0] is task and self._has_place(key)),
                    _within_bounds(patience_s),
                )
                if self._stopped:
                    raise StateError(
                        f"background work has been stopped; the job {task.job} is not run"
                    )
                found = line[0] is task and self._has_place(key)
                if found:
                    self._take(task, key)
                return found
            finally:
                line.remove(task)
                if not line:
                    del self._lines[key]
                self._changed.notify_all()

    def _has_place(self, key: str) -> bool:
        if self._can_run(key):
            return True
        of_thread = len(self._waiting.get(key, ()))
        in_all = sum(map(len, self._waiting.values()))
        return of_thread < self._per_thread and in_all < self._in_all

    def _can_run(self, key: str) -> bool:
        return bool(self._free) and key not in self._running and key not in self._waiting

    def _take(self, task: _Task, key: str) -> None:
        if self._can_run(key) and self._hire(task, key):
            return
        if key not in self._waiting and key not in self._running:
            self._ready.append(key)
        self._waiting.setdefault(key, deque()).append(task)

    def _hire(self, task: _Task, key: str) -> bool:
        """Start a thread for a task; ``False`` when another one will see to it."""
        number = min(self._free)
        name = f"oracleagentmemory-background-work-{number}"
        try:
            threading.Thread(target=self._work, args=(task, number), name=name, daemon=True).start()
        except RuntimeError as exc:
            if self._running:
                return False
            raise RetryableError("no thread could be started for background work") from exc
        self._free.remove(number)
        self._running[key] = task
        return True

    def _refuse(self, jobs: Sequence[ExtractionJob]) -> None:
        if not jobs:
            return
        for job in jobs:
            logger.warning("the background queue is full: job %s is dropped", job)
        with self._changed:
            self._results += [failed_result(job, "queue", "the queue was full") for job in jobs]
        if jobs[0].queue_full_behavior is QueueFull.WAIT_THEN_RAISE:
            raise WaitTimeoutError(
                f"the background queue had no place within {jobs[0].queue_put_timeout_s:g} s for "
                f"{', '.join(map(str, jobs))}; what it works on is stored"
            )

    # -- running them -------------------------------------------------------------------------

    def _work(self, task: _Task | None, number: int) -> None:
        while task is not None:
            began = time.monotonic()
            result = self._result_of(task)
            _log_end(task.job, result, time.monotonic() - began)
            ended, task = task, self._next(task, result, number)
            ended.end.set_result(result)

    def _result_of(self, task: _Task) -> JobResult:
        try:
            return task.context.run(self._run, task.job, task.llm)
        except BaseException as exc:  # noqa: BLE001 - an exit, too, ends only the job
            return failed_result(task.job, "run", explained(exc))

    def _next(self, task: _Task, result: JobResult, number: int) -> _Task | None:
        """Note a task's end and return the next one to run, ``None`` to let the thread go."""
        with self._changed:
            self._results.append(result)
            key = task.job.queue_key
            self._running.pop(key, None)
            if key in self._waiting:
                self._ready.append(key)
            self._changed.notify_all()
            if not self._ready:
                self._free.add(number)
                return None
            key = self._ready.popleft()
            following = self._waiting[key].popleft()
            if not self._waiting[key]:
                del self._waiting[key]
            self._running[key] = following
            return following

    def _leave_to_parent(self) -> None:
        # No lock: a thread that holds it does not exist in the child.
        waiting = [task for tasks in self._waiting.values() for task in tasks]
        for task in [*self._running.values(), *waiting]:
            task.left_to_parent = True
        self._empty()


def warn_unfinished(jobs: Sequence[str]) -> None:
    """Log jobs that have not ended in time."""
    logger.warning("background work is unfinished: %s", ", ".join(jobs))


def _log_end(job: ExtractionJob, result: JobResult, seconds: float) -> None:
    steps = ", ".join(dict.fromkeys(problem.step for problem in result.problems))
    level = logging.DEBUG if result.state == "succeeded" else logging.WARNING
    # Reasons may quote messages: they are in the result only.
    logger.log(
        level,
        "background job %s %s in %.0f ms%s",
        job,
        result.state,
        seconds * 1000,
        f"; lost in: {steps}" if steps else "",
    )


def _within_bounds(timeout_s: float | None) -> float | None:
    """Return a timeout that the system's waits accept."""
    return None if timeout_s is None else min(timeout_s, threading.TIMEOUT_MAX)


def _forked() -> None:
    for scheduler in list(_schedulers):
        scheduler._leave_to_parent()


@atexit.register
def _exiting() -> None:
    for scheduler in list(_schedulers):
        jobs = scheduler.pending().unfinished()
        if jobs:
            warn_unfinished(jobs)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
