"""Who schedules the work that a client does in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.core.extractors.jobs import ExtractionJob
from oracleagentmemory.storage.engine import WriteTransaction

#: Seconds that a delete waits for the work on what it deletes.
DELETE_WAIT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkScope:
    """Which jobs are meant; ``None`` means any."""

    thread_id: str | None = None
    user_id: str | None = None
    agent_id: str | None = None

    def covers(self, job: ExtractionJob) -> bool:
        """Say whether a job is meant."""
        pairs = (
            (self.thread_id, job.thread_id),
            (self.user_id, job.user_id),
            (self.agent_id, job.agent_id),
        )
        return all(wanted is None or wanted == found for wanted, found in pairs)


ALL_WORK = WorkScope()


class PendingWork(Protocol):
    """The jobs that had been accepted and had not ended when it was asked for; never later ones."""

    def unfinished(self) -> list[str]:
        """Name those that have not ended yet; a job that failed has ended."""

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until all have ended, ``None`` without limit; say whether they have."""

    async def ended(self, timeout_s: float | None) -> bool:
        """Wait as `wait` does, on the running event loop and on no thread."""


class BackgroundScheduler(Protocol):
    """Takes jobs and sees that they are run, in order within a thread."""

    #: Seconds that a delete waits for the work on what it deletes.
    delete_wait_s: float

    def check_llm(self, llm: ILlm | None) -> None:
        """Raise ``InvalidInputError`` for a thread's own model that jobs could not be run with."""

    def accept(self, jobs: Sequence[ExtractionJob], transaction: WriteTransaction) -> None:
        """Record jobs in the transaction that stores their messages."""

    def start(self, jobs: Sequence[ExtractionJob], llm: ILlm | None) -> None:
        """Take accepted jobs on, once that transaction is committed.

        Args:
            llm: The model of the thread's handle, for a scheduler that runs jobs here.

        Raises:
            TimeoutError: If their settings say ``WAIT_THEN_RAISE`` and there was no place in time.
            RuntimeError: If it takes no more work.
        """

    def pending(self, scope: WorkScope = ALL_WORK) -> PendingWork:
        """Return the work that is accepted and has not ended."""
