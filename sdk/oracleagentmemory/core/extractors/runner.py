"""Running a job: from messages to memories, links and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.message import ImageContent
from oracleagentmemory.apis.records import ImageRecord, MessageRecord
from oracleagentmemory.core.extractors.extracting import Extracting
from oracleagentmemory.core.extractors.jobs import ExtractionJob, JobResult, Window
from oracleagentmemory.core.extractors.journal import (
    NO_JOURNAL,
    FencedError,
    FencedJournal,
    JobJournal,
)
from oracleagentmemory.core.extractors.keptanswers import KeptAnswers
from oracleagentmemory.core.extractors.memoryextractionconfig import (
    MemoryExtractionImageContext as ImageContext,
)
from oracleagentmemory.core.extractors.outcome import Outcome, Run
from oracleagentmemory.core.images import describe_image
from oracleagentmemory.core.images.captions import CAPTION_PROMPT
from oracleagentmemory.core.summaries.answer import read_summary
from oracleagentmemory.core.summaries.prompt import SHORTENING_PROMPT, SUMMARY_PROMPT
from oracleagentmemory.core.summaries.threadsummaries import ThreadSummaries
from oracleagentmemory.core.threadsettings import EMPTY_LAYER, resolve_settings, saved_layer
from oracleagentmemory.errors import RetryableError, StateError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of one run of a job, whether it failed or not.

    Attributes:
        failure: What `ExtractionRunner.run` raises; what came before it is in the result.
        warnings: What a caller who waited for it should be warned of.
    """

    result: JobResult
    failure: Exception | None = None
    warnings: tuple[str, ...] = ()


class ExtractionRunner:
    """Runs jobs on a store. A job that runs again, with the journal it had, has no second effect.

    Args:
        store: Where messages are read and memories stored.
    """

    def __init__(self, store: OracleMemoryStore) -> None:
        self._store = store

    def run(
        self, job: ExtractionJob, llm: ILlm | None, journal: JobJournal = NO_JOURNAL
    ) -> JobResult:
        """Run a job and return what came of it.

        Memories are stored before links and summary, so that a failure of these loses none; it is
        in the result's problems. Nothing is stored for messages or a thread that are gone.

        Args:
            llm: The model that is asked; outside any write transaction.

        Raises:
            StateError: If there is no model, a write transaction is open on this thread, or the
                journal lets this run write no more.
            RetryableError: If the model or the store is busy: the job may be run again.
            Exception: What the model raises when it is asked to extract.
        """
        attempt = self.attempt(job, llm, journal)
        if attempt.failure is not None:
            raise attempt.failure
        return attempt.result

    def attempt(
        self, job: ExtractionJob, llm: ILlm | None, journal: JobJournal = NO_JOURNAL
    ) -> Attempt:
        """Run a job as `run` does, but give a failure back, with all that came before it.

        Raises:
            StateError: If there is no model, or a write transaction is open on this thread.
        """
        if llm is None:
            raise StateError("there is no model to extract with; give the thread or client an llm")
        self._store.refuse_in_transaction("extracting memories")
        noted = FencedJournal(journal)
        settings = resolve_settings(EMPTY_LAYER, saved_layer(job.settings, None), EMPTY_LAYER)
        outcome = Outcome(job)
        kept = KeptAnswers(llm, noted)
        try:
            _Steps(Run(self._store, job, kept, noted, settings, outcome)).take()
        except Exception as failure:  # noqa: BLE001 - given back with what was done before
            outcome.fail("run", failure)
        return Attempt(outcome.result(kept), outcome.failure, tuple(outcome.warnings))


class _Steps:
    """The steps of one run of one job."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._store = run.store
        self._job = run.job
        self._outcome = run.outcome
        thread_id = run.job.thread_id or ""
        shortening = run.llm.of_step("shortening", SHORTENING_PROMPT)
        self._summaries = ThreadSummaries(
            run.store,
            thread_id,
            run.settings,
            run.llm,
            shortening_llm=shortening,
            fence=run.journal.fence,
        )

    def take(self) -> None:
        """Take every step that the job asks for."""
        if self._job.kind == "image":
            self._describe(self._job.image_id)
            return
        self._describe_images()
        if self._outcome.failure is None:
            self._extract()
        if self._outcome.failure is None and (self._job.windows or not self._run.settings.extracts):
            self._refresh_summary()

    # -- images -------------------------------------------------------------------------------

    def _describe_images(self) -> None:
        """Describe the images that came without a description and may be needed."""
        context = self._run.settings.extraction["memory_extraction_image_context"]
        needed = ImageContext(context) is ImageContext.CAPTION and bool(self._job.windows)
        earlier = [one for window in self._job.windows for one in window.earlier_ids]
        seen = [*self._job.message_ids, *(earlier if needed else ())]
        for image in _undescribed(self._store.messages(list(dict.fromkeys(seen)))):
            try:
                self._describe(image.id)
            except FencedError:
                raise
            except Exception as failure:  # noqa: BLE001 - noted, or raised again
                if needed:
                    self._outcome.fail("caption", failure)
                    return
                self._run.note_failure("caption", failure)

    def _describe(self, image_id: str | None) -> None:
        image = self._store.get("image", image_id or "", include_bytes=True)
        if not isinstance(image, ImageRecord) or image.bytes is None:
            return
        with self._run.llm.at("caption", CAPTION_PROMPT) as llm:
            limits = self._run.settings.image_limits
            text = describe_image(llm, image.bytes, image.mime_type, limits)
        update = self._store.prepare_update("image", image.id, index_text=text)
        before = (image.content, image.bytes)

        def apply(transaction: WriteTransaction) -> None:
            now = self._store.get("image", image.id, include_bytes=True)
            # A description that somebody gave meanwhile is theirs, and this one tells of these
            # bytes only.
            if isinstance(now, ImageRecord) and (now.content, now.bytes) == before:
                update.apply(transaction)

        self._write(Prepared(apply))

    # -- extraction ---------------------------------------------------------------------------

    def _extract(self) -> None:
        """Run the extractions; one that fails costs itself, and the rest where all would fail."""
        extracting = Extracting(self._run, self._summaries)
        for number, window in enumerate(self._job.windows):
            try:
                extracting.extract(number, window)
            except FencedError:
                raise
            except Exception as failure:  # noqa: BLE001 - it is the job's failure
                self._outcome.fail("extraction", failure)
                if isinstance(failure, RetryableError):
                    self._leave_out(self._job.windows[number + 1 :])
                    return

    def _leave_out(self, windows: Sequence[Window]) -> None:
        """Note the extractions that are not tried, since the model is busy."""
        messages = sum(len(one.message_ids) for one in windows)
        if windows:
            reason = f"{len(windows)} more extractions, of {messages} messages, were not tried"
            self._outcome.note("extraction", reason)

    # -- summary ------------------------------------------------------------------------------

    def _refresh_summary(self) -> None:
        """Renew the summary when it is due; a failure costs only that."""
        llm = self._run.llm
        failed_before, answered_before = len(llm.failures), len(llm.answers)
        try:
            with llm.at("summary", SUMMARY_PROMPT):
                self._summaries.refresh_when_due()
        except FencedError:
            raise
        except Exception as failure:  # noqa: BLE001 - noted, or raised again
            self._run.note_failure("summary", failure)
        for step, swallowed in llm.failures[failed_before:]:
            self._run.note_failure(step, swallowed)
        for answer in llm.answers[answered_before:]:
            if answer.step == "summary" and read_summary(answer.raw) is None:
                self._outcome.note("summary", "the answer holds no summary", answer.raw[:1_000])

    # -- storing ------------------------------------------------------------------------------

    def _write(self, prepared: Prepared[Any]) -> None:
        """Apply a change, unless this run may not write any more."""

        def apply(transaction: WriteTransaction) -> None:
            self._run.journal.fence(transaction)
            prepared.apply(transaction)

        self._store.write(Prepared(apply))


def _undescribed(messages: Sequence[MessageRecord]) -> Iterator[ImageContent]:
    for message in messages:
        for part in () if isinstance(message.content, str) else message.content or ():
            if isinstance(part, ImageContent) and part.description is None:
                yield part
