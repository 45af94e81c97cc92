"""A worker: it claims jobs, runs them, and shows that it lives."""

from __future__ import annotations

import logging
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.conf import settings
from django.db import Error as DatabaseFailure
from django.db import connections
from django.utils import timezone

from memoryapp.memory import llm, scheduler, store
from memoryapp.models import WorkerBeat
from memoryapp.services import claims, tokens
from memoryapp.services.claims import Claim
from memoryapp.services.job_notes import JobNotes
from oracleagentmemory.core.extractors.jobs import ExtractionJob, explained, failed_result
from oracleagentmemory.core.extractors.journal import FencedError
from oracleagentmemory.core.extractors.runner import ExtractionRunner
from oracleagentmemory.errors import InvalidInputError, RetryableError

logger = logging.getLogger(__name__)

#: Seconds that one drain goes on; a longer one would keep the worker's threads from other tasks.
LONGEST_DRAIN_S = 60.0
_LONGEST_BEAT_S = 10.0
_BEATS_KEPT = timedelta(days=1)


class Worker:
    """What one process does for jobs. Its heart beats from `start` to `stop`, on its own thread."""

    def __init__(self) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._claims: set[Claim] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._over = threading.Event()
        self.pid = os.getpid()
        self._heart: threading.Thread | None = None

    # -- the heart ----------------------------------------------------------------------------

    def start(self) -> None:
        """Beat once, and from now on."""
        self.beat()
        self._heart = threading.Thread(target=self._keep_beating, name="memory-heart", daemon=True)
        self._heart.start()

    def stop_claiming(self) -> None:
        """Let the jobs that run come to their end, and claim no other."""
        self._stopping.set()

    def stop(self) -> None:
        """Stop the heart, and take the beat away: this worker is not missed."""
        self._stopping.set()
        self._over.set()
        if self._heart is not None:
            self._heart.join(_LONGEST_BEAT_S)
        WorkerBeat.objects.filter(name=self.name).delete()

    def beat(self) -> None:
        """Renew the leases of the jobs that run here, and say that this worker lives."""
        with self._lock:
            running = list(self._claims)
        claims.renew(running)
        now = timezone.now()
        if not WorkerBeat.objects.filter(name=self.name).update(at=now):
            WorkerBeat.objects.filter(at__lt=now - _BEATS_KEPT).delete()
            WorkerBeat.objects.create(name=self.name, started_at=now, at=now)

    def _keep_beating(self) -> None:
        while not self._over.wait(beat_s()):
            try:
                self.beat()
            except Exception:
                # The next beat may come through; if none does, another worker takes the jobs.
                logger.exception("the heart of worker %s missed a beat", self.name)
            finally:
                # Django does not know this thread.
                connections.close_all()

    # -- jobs ---------------------------------------------------------------------------------

    def drain(self, *, longest_s: float = LONGEST_DRAIN_S) -> int:
        """Run jobs until none may run, or the time is over; return how many there were."""
        done, end = 0, time.monotonic() + longest_s
        while not self._stopping.is_set():
            if time.monotonic() > end:
                scheduler().hint()
                break
            claim = claims.claim_next(self.name)
            if claim is None:
                break
            self.run(claim)
            done += 1
        return done

    def run(self, claim: Claim) -> None:
        """Run a job that is claimed, and store how that ended."""
        with self._lock:
            self._claims.add(claim)
        try:
            _run(claim)
        except FencedError:
            claims.release(claim)
        finally:
            with self._lock:
                self._claims.discard(claim)


def _run(claim: Claim) -> None:
    model = llm()
    try:
        given = ExtractionJob.from_json(claim.job.payload)
    except InvalidInputError as error:
        # Another release wrote it. There is nothing to run, and nothing to wait for.
        _settle_failed(claim, ExtractionJob(job_id=claim.job.job_id, kind="messages"), error)
        return
    notes = JobNotes(claim)
    try:
        asked = None if model is None else tokens.AccountedLlm(model, claim.job, notes.check)
        attempt = ExtractionRunner(store()).attempt(given, asked, notes)
    except Exception as failure:  # noqa: BLE001 - a job comes to an end, whatever happens
        if not _is_put_back(claim, notes, failure):
            _settle_failed(claim, given, failure)
        return
    if isinstance(attempt.failure, FencedError):
        raise attempt.failure
    if attempt.failure is None or not _is_put_back(claim, notes, attempt.failure):
        claims.settle(claim, attempt.result)


def _is_put_back(claim: Claim, notes: JobNotes, failure: Exception) -> bool:
    """Put a job back after a failure that may pass, if it may be tried again."""
    may_pass = isinstance(failure, RetryableError | DatabaseFailure)
    if not may_pass or not notes.may_run_again:
        return False
    wait_s = getattr(failure, "retry_after", None)
    claims.put_back(claim, explained(failure), retry_after_s=wait_s)
    return True


def _settle_failed(claim: Claim, given: ExtractionJob, failure: Exception) -> None:
    logger.warning("job %s failed: %s", claim.job.job_id, type(failure).__name__)
    claims.settle(claim, failed_result(given, "run", explained(failure)))


# -- this process ---------------------------------------------------------------------------------

_here: Worker | None = None
_here_lock = threading.Lock()


def here() -> Worker:
    """The worker that this process is; made, and its heart started, at the first call."""
    global _here
    with _here_lock:
        # A forked child has no heart of its own yet.
        if _here is None or _here.pid != os.getpid():
            _here = Worker()
            _here.start()
        return _here


@contextmanager
def for_a_while() -> Iterator[Worker]:
    """Be a worker while the block runs: a command, or a test."""
    worker = Worker()
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def drain() -> int:
    """Run jobs until none may run; return how many there were. What a hint asks for."""
    return here().drain()


def sweep() -> int:
    """Let jobs go on that waited for a limit, then drain; needs no hint and sends none."""
    tokens.release_waiting()
    return here().drain()


def run_all() -> int:
    """Be a worker until no job may run any more; return how many there were."""
    tokens.release_waiting()
    with for_a_while() as worker:
        return worker.drain(longest_s=math.inf)


def count_claimable() -> int:
    """Return how many jobs :func:`sweep` would find to run now."""
    return claims.count_claimable(timezone.now())


def living(now: datetime) -> list[WorkerBeat]:
    """Return the workers whose hearts beat, newest beat first."""
    return list(WorkerBeat.objects.filter(at__gte=now - timedelta(seconds=3 * beat_s() + 5)))


def beat_s() -> float:
    """Seconds between two beats: several to a lease."""
    return min(settings.MEMORY_JOB_LEASE_S / 4, _LONGEST_BEAT_S)
