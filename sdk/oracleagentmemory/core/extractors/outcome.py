"""What one run of a job works with, and what has come of it so far."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oracleagentmemory.core.extractors.jobs import (
    ExtractionJob,
    JobProblem,
    JobResult,
    JobState,
    Proposal,
    explained,
)
from oracleagentmemory.core.extractors.journal import FencedJournal
from oracleagentmemory.core.extractors.keptanswers import KeptAnswers
from oracleagentmemory.core.threadsettings import ThreadSettings
from oracleagentmemory.errors import RetryableError

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Outcome:
    """What has come of a job so far; see :class:`JobResult`.

    Attributes:
        failure: What stopped a step that the job is for; the first such.
        warnings: What a caller who waits for the job should be warned of.
    """

    job: ExtractionJob
    memory_ids: list[str] = field(default_factory=list)
    relation_ids: list[str] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    problems: list[JobProblem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failure: Exception | None = None

    def note(self, step: str, reason: str, raw: str | None = None) -> None:
        """Note something that is lost."""
        self.problems.append(JobProblem(step, reason, raw))
        # Reasons may quote messages: they are in the result only.
        logger.warning("job %s lost something at %s", self.job, step)

    def note_failure(self, step: str, failure: Exception) -> None:
        """Note what a failure loses."""
        self.note(step, explained(failure))

    def fail(self, step: str, failure: Exception) -> None:
        """Note a failure of what the job is for."""
        self.note_failure(step, failure)
        self.failure = self.failure or failure

    def result(self, llm: KeptAnswers) -> JobResult:
        """Return it as the job's result."""
        # Metadata that is not inherited is worth a note; nothing that was said is lost by it.
        lost = any(problem.step != "metadata" for problem in self.problems)
        state: JobState = "partial" if lost else "succeeded"
        if self.failure is not None and not self.memory_ids:
            state = "failed"
        return JobResult(
            job_id=self.job.job_id,
            thread_id=self.job.thread_id,
            state=state,
            memory_ids=tuple(dict.fromkeys(self.memory_ids)),
            relation_ids=tuple(dict.fromkeys(self.relation_ids)),
            proposals=tuple(self.proposals),
            problems=tuple(self.problems),
            answers=tuple(llm.answers),
        )


@dataclass(frozen=True, slots=True)
class Run:
    """What every step of a run stands on."""

    store: OracleMemoryStore
    job: ExtractionJob
    llm: KeptAnswers
    journal: FencedJournal
    settings: ThreadSettings
    outcome: Outcome

    def note_failure(self, step: str, failure: Exception) -> None:
        """Note what a failure loses, unless another run of the job can still bring it.

        Raises:
            RetryableError: The failure itself, where the job may be run again.
        """
        if isinstance(failure, RetryableError) and self.journal.may_run_again:
            raise failure
        self.outcome.note_failure(step, failure)
