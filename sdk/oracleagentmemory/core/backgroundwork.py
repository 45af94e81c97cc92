"""The background work of a client, and what waits for it: callers, deletes and closing."""

from __future__ import annotations

import functools
import math
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from oracleagentmemory._threaded import threaded
from oracleagentmemory._warn import warn_caller
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.core.background import (
    ALL_WORK,
    BackgroundScheduler,
    PendingWork,
    WorkScope,
)
from oracleagentmemory.core.extractors.jobs import (
    ExtractionJob,
    JobResult,
    explained,
    failed_result,
)
from oracleagentmemory.core.extractors.memoryextractionconfig import MemoryExtractionMode
from oracleagentmemory.core.extractors.runner import ExtractionRunner
from oracleagentmemory.core.prepared import Writer
from oracleagentmemory.core.threadscheduler import (
    RESULTS_KEPT,
    ThreadScheduler,
    warn_unfinished,
)
from oracleagentmemory.core.threadsettings import ThreadSettings
from oracleagentmemory.errors import (
    InvalidInputError,
    RetryableError,
    StateError,
    WaitTimeoutError,
    WrongTypeError,
)
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

P = ParamSpec("P")


class BackgroundWork:
    """The background work of one client and its threads, or of one standalone thread.

    Args:
        scheduler: Takes the jobs; its caller closes it. Without one the client has threads of
            its own, which it closes itself.
    """

    def __init__(
        self, store: OracleMemoryStore, scheduler: BackgroundScheduler | None = None
    ) -> None:
        self._store = store
        self._own: ThreadScheduler | None = None
        if scheduler is None:
            scheduler = self._own = ThreadScheduler(self._run)
        self.scheduler = scheduler
        self._closed = False
        self._runner = ExtractionRunner(store)
        self._inline_results: deque[JobResult] = deque(maxlen=RESULTS_KEPT)

    def require_open(self) -> None:
        """Raise ``StateError`` once the client is closed."""
        if self._closed:
            raise StateError("this client is closed; open another one")

    # -- jobs ---------------------------------------------------------------------------------

    def accept(self, jobs: Sequence[ExtractionJob], transaction: WriteTransaction) -> None:
        """Let the scheduler record jobs in the transaction that stores their messages."""
        queued = [job for job in jobs if not job.is_inline]
        if queued:
            self.scheduler.accept(queued, transaction)

    def start(self, job: ExtractionJob, llm: ILlm | None) -> None:
        """Run a job here and now, or hand it to the scheduler, as its settings say.

        Raises:
            WaitTimeoutError: If there was no place in the queue in time.
            Exception: What the model of a job that is run here raises.
        """
        if not job.is_inline:
            self.scheduler.start([job], llm)
            return
        try:
            attempt = self._runner.attempt(job, llm)
        except Exception as failure:
            self._note(failed_result(job, "run", explained(failure)))
            raise
        self._note(attempt.result)
        if attempt.failure is not None:
            raise attempt.failure
        for warning in attempt.warnings:
            warn_caller(warning, RuntimeWarning)

    def refuse_in_transaction(
        self, settings: ThreadSettings, what: str = "extracting memories"
    ) -> None:
        """Raise ``StateError`` where jobs could not start: what they need is not committed yet.

        Args:
            what: What the jobs do.
        """
        inline = settings.extraction["extraction_mode"] is MemoryExtractionMode.INLINE
        if inline or self._own is not None:
            self._store.refuse_in_transaction(what)

    def results(self) -> list[JobResult]:
        """Return what came of the newest jobs that ran here, in the order of their ends."""
        return list(self._inline_results) if self._own is None else self._own.results()

    def _note(self, result: JobResult) -> None:
        if self._own is None:
            self._inline_results.append(result)
        else:
            self._own.note(result)

    def _run(self, job: ExtractionJob, llm: ILlm | None) -> JobResult:
        try:
            return self._runner.attempt(job, llm).result
        finally:
            # The job's thread may have opened a connection of the caller's framework.
            self._store._after_twin()

    # -- waiting ------------------------------------------------------------------------------

    def wait(self, timeout_s: float | None, scope: WorkScope = ALL_WORK) -> None:
        """Wait until the work accepted so far has ended.

        Raises:
            StateError: If the client is closed, or a write transaction is open on this thread.
            WaitTimeoutError: If it has not ended in time.
        """
        pending = self._awaited(timeout_s, scope)
        if pending is not None and not pending.wait(timeout_s):
            raise _timed_out(timeout_s, pending)

    async def ended(self, timeout_s: float | None, scope: WorkScope = ALL_WORK) -> None:
        """Wait as `wait` does, on the running event loop and on no thread."""
        pending = self._awaited(timeout_s, scope)
        if pending is not None and not await pending.ended(timeout_s):
            raise _timed_out(timeout_s, pending)

    def _awaited(self, timeout_s: float | None, scope: WorkScope) -> PendingWork | None:
        self.require_open()
        self._store.refuse_in_transaction("waiting for background work")
        pending = self.scheduler.pending(scope)
        if not pending.unfinished():
            return None
        check_timeout(timeout_s)
        return pending

    # -- closing ------------------------------------------------------------------------------

    def close(self, timeout_s: float | None) -> None:
        """Accept no more work, then wait for what was accepted; log what is unfinished then."""
        pending = self._stopped(timeout_s)
        if pending is not None and not pending.wait(timeout_s):
            warn_unfinished(pending.unfinished())

    async def closed(self, timeout_s: float | None) -> None:
        """Close as `close` does, waiting on the running event loop and on no thread."""
        pending = self._stopped(timeout_s)
        if pending is not None and not await pending.ended(timeout_s):
            warn_unfinished(pending.unfinished())

    def _stopped(self, timeout_s: float | None) -> PendingWork | None:
        _check_number(timeout_s)
        pending = None if self._own is None else self._own.pending()
        if pending is not None and pending.unfinished():
            self._store.refuse_in_transaction("waiting for background work")
        self._closed = True
        if self._own is None:
            return None
        self._own.stop()
        # Asked again: until now more could be accepted.
        return self._own.pending()

    # -- deleting -----------------------------------------------------------------------------

    def deletion(
        self,
        prepared: Prepared[int],
        scope: WorkScope,
        exists: Callable[[], bool] = lambda: True,
    ) -> Prepared[int]:
        """Return the same deletion, to be written only after the work that is pending now.

        Args:
            scope: The work that could still write what is deleted.
            exists: Whether there is anything to delete; asked only with work pending.
        """
        pending = self.scheduler.pending(scope)
        if not pending.unfinished() or not exists():
            return prepared

        def apply(transaction: WriteTransaction) -> int:
            _refuse_unfinished(pending)
            return prepared.apply(transaction)

        kept = {spec.name: getattr(prepared, spec.name) for spec in fields(Prepared)}
        return WaitingDeletion(**{**kept, "apply": apply}, pending=pending)

    def before_deletion(self, prepared: Prepared[int]) -> None:
        """Wait for the work that a deletion has to wait for.

        Raises:
            WaitTimeoutError: If it has not ended in time.
            RetryableError: If a write transaction is open on this thread.
        """
        pending = self._in_the_way(prepared)
        wait_s = self.scheduler.delete_wait_s
        if pending is not None and not pending.wait(wait_s):
            raise _not_deleted(wait_s, pending)

    async def ended_before_deletion(self, prepared: Prepared[int]) -> None:
        """Wait as `before_deletion` does, on the running event loop and on no thread."""
        pending = self._in_the_way(prepared)
        wait_s = self.scheduler.delete_wait_s
        if pending is not None and not await pending.ended(wait_s):
            raise _not_deleted(wait_s, pending)

    def is_busy(self) -> bool:
        """Say whether any work is pending."""
        return bool(self.scheduler.pending().unfinished())

    def _in_the_way(self, prepared: Prepared[int]) -> PendingWork | None:
        if not isinstance(prepared, WaitingDeletion):
            return None
        try:
            self._store.refuse_in_transaction("waiting for background work")
        except StateError:
            _refuse_unfinished(prepared.pending)
            return None
        return prepared.pending


@dataclass(frozen=True, kw_only=True)
class WaitingDeletion(Prepared[int]):
    """A deletion that raises ``RetryableError`` when it is written before `pending` has ended."""

    pending: PendingWork


class Deleter(Writer, Protocol):
    """Something whose deletes wait for background work."""

    _work: BackgroundWork


S = TypeVar("S", bound=Deleter)
_DeletionOf = Callable[Concatenate[S, P], Prepared[int]]


def deleted(prepare: _DeletionOf[S, P]) -> Callable[Concatenate[S, P], int]:
    """Return the method ``delete_x`` of a ``prepare_delete_x``: prepare, wait, write."""

    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> int:
        # By name, so that a subclass's override is honoured.
        twin: Callable[P, Prepared[int]] = getattr(self, prepare.__name__)
        prepared = twin(*args, **kwargs)
        self._work.before_deletion(prepared)
        return self.write(prepared)

    return _named(method, prepare, "")


def deleted_async(
    prepare: _DeletionOf[S, P],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, int]]:
    """Return the async twin of such a method, which waits on no pool thread.

    Only for work that is accepted between its own wait and the method's would the method's wait.
    """
    prepare_on_pool = threaded(prepare)
    delete_on_pool = threaded(deleted(prepare))

    async def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> int:
        if self._work.is_busy():
            prepared = await prepare_on_pool(self, *args, **kwargs)
            await self._work.ended_before_deletion(prepared)
        return await delete_on_pool(self, *args, **kwargs)

    return _named(twin, prepare, "_async")


F = TypeVar("F", bound=Callable[..., Any])


def _named(method: F, prepare: Callable[..., Any], suffix: str) -> F:
    functools.update_wrapper(method, prepare)
    method.__name__ = prepare.__name__.removeprefix("prepare_") + suffix
    method.__qualname__ = prepare.__qualname__.replace("prepare_", "") + suffix
    return method


def check_timeout(timeout_s: float | None) -> None:
    """Raise unless a timeout is ``None`` or above 0 seconds."""
    _check_number(timeout_s)
    if timeout_s is not None and not timeout_s > 0:
        raise InvalidInputError("timeout must be above 0 seconds, or None to wait without limit")


def _check_number(timeout_s: float | None) -> None:
    if not isinstance(timeout_s, int | float | None):
        raise WrongTypeError(f"timeout must be a number of seconds, not {type(timeout_s).__name__}")
    if timeout_s is not None and math.isnan(timeout_s):
        raise InvalidInputError("timeout must be above 0 seconds, or None to wait without limit")


def _timed_out(timeout_s: float | None, pending: PendingWork) -> WaitTimeoutError:
    return WaitTimeoutError(
        f"background work did not end within {timeout_s:g} s: {', '.join(pending.unfinished())}"
    )


def _not_deleted(wait_s: float, pending: PendingWork) -> WaitTimeoutError:
    jobs = ", ".join(pending.unfinished())
    return WaitTimeoutError(
        f"background work did not end within {wait_s:g} s, so nothing was deleted: {jobs}"
    )


def _refuse_unfinished(pending: PendingWork) -> None:
    jobs = pending.unfinished()
    if jobs:
        raise RetryableError(
            f"background work on it has not ended, so nothing was deleted: {', '.join(jobs)}"
        )
