"""Running a job: from messages to memories, links and a summary."""

from __future__ import annotations

import functools
import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oracleagentmemory._warn import warn_caller
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.message import ImageContent
from oracleagentmemory.apis.records import ImageRecord, MemoryRecord, MessageRecord
from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.core.extractors.inheritance import inherited_metadata
from oracleagentmemory.core.extractors.jobs import (
    ExtractionJob,
    JobProblem,
    JobResult,
    JobState,
    Proposal,
    Window,
    explained,
)
from oracleagentmemory.core.extractors.journal import NO_JOURNAL, JobJournal
from oracleagentmemory.core.extractors.keptanswers import KeptAnswers
from oracleagentmemory.core.extractors.linking import (
    Linked,
    Linking,
    LinkScope,
    find_candidates,
    shown_memory,
)
from oracleagentmemory.core.extractors.memoryextractionconfig import (
    MemoryExtractionImageContext as ImageContext,
)
from oracleagentmemory.core.extractors.memoryextractionconfig import (
    MemoryLinkExtractionMode as LinkMode,
)
from oracleagentmemory.core.extractors.normalise import normalised_text
from oracleagentmemory.core.extractors.parsing import (
    FoundMemory,
    ParsedExtraction,
    parse_extraction,
)
from oracleagentmemory.core.extractors.parsinglinks import LinkResolution
from oracleagentmemory.core.extractors.prompting import ExtractionPrompt, extraction_prompt
from oracleagentmemory.core.extractors.storing import MemoryWriter, NewMemory, Stored
from oracleagentmemory.core.images import describe_image
from oracleagentmemory.core.images.captions import CAPTION_PROMPT
from oracleagentmemory.core.searchresult import text_of
from oracleagentmemory.core.summaries.prompt import SHORTENING_PROMPT, SUMMARY_PROMPT
from oracleagentmemory.core.summaries.shortening import Shortening
from oracleagentmemory.core.summaries.threadsummaries import ThreadSummaries
from oracleagentmemory.core.threadsettings import EMPTY_LAYER, resolve_settings, saved_layer
from oracleagentmemory.errors import RetryableError, StateError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

logger = logging.getLogger(__name__)


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
            StateError: If there is no model, or a write transaction is open on this thread.
            RetryableError: If the model or the store is busy: the job may be run again.
            Exception: What the model raises when it is asked to extract.
        """
        if llm is None:
            raise StateError("there is no model to extract with; give the thread or client an llm")
        self._store.refuse_in_transaction("extracting memories")
        return _Run(self._store, job, KeptAnswers(llm, journal), journal).result()


class _Run:
    """One run of one job."""

    def __init__(
        self, store: OracleMemoryStore, job: ExtractionJob, llm: KeptAnswers, journal: JobJournal
    ) -> None:
        self._store = store
        self._job = job
        self._llm = llm
        self._journal = journal
        self._settings = resolve_settings(EMPTY_LAYER, saved_layer(job.settings, None), EMPTY_LAYER)
        self._problems: list[JobProblem] = []
        self._memory_ids: list[str] = []
        self._relation_ids: list[str] = []
        self._proposals: list[Proposal] = []

    def result(self) -> JobResult:
        """Run every step that the job asks for."""
        if self._job.kind == "image":
            self._describe(self._job.image_id)
        else:
            messages = self._store.messages(self._job.message_ids)
            self._describe_images(messages)
            for number, window in enumerate(self._job.windows):
                self._extract(number, window)
            if self._job.windows or not self._settings.extracts:
                self._refresh_summary()
        # Metadata that is not inherited is worth a note; nothing that was said is lost by it.
        lost = any(problem.step != "metadata" for problem in self._problems)
        state: JobState = "partial" if lost else "succeeded"
        return JobResult(
            job_id=self._job.job_id,
            state=state,
            memory_ids=tuple(dict.fromkeys(self._memory_ids)),
            relation_ids=tuple(dict.fromkeys(self._relation_ids)),
            proposals=tuple(self._proposals),
            problems=tuple(self._problems),
            answers=tuple(self._llm.answers),
        )

    # -- images -------------------------------------------------------------------------------

    def _describe_images(self, messages: Sequence[MessageRecord]) -> None:
        """Describe the images of messages that came without a description."""
        needed = self._image_context is ImageContext.CAPTION and bool(self._job.windows)
        for message in messages:
            for part in message.content if not isinstance(message.content, str) else ():
                if not isinstance(part, ImageContent) or part.description is not None:
                    continue
                try:
                    self._describe(part.id)
                except Exception as failure:
                    if needed or (isinstance(failure, RetryableError) and self._may_run_again):
                        raise
                    self._note_failure("caption", failure)

    def _describe(self, image_id: str | None) -> None:
        image = self._store.get("image", image_id or "", include_bytes=True)
        if not isinstance(image, ImageRecord) or image.bytes is None:
            return
        with self._llm.at("caption", CAPTION_PROMPT) as llm:
            limits = self._settings.image_limits
            text = describe_image(llm, image.bytes, image.mime_type, limits)
        self._write(self._store.prepare_update("image", image.id, index_text=text))

    @property
    def _image_context(self) -> ImageContext:
        return ImageContext(self._settings.extraction["memory_extraction_image_context"])

    # -- extraction ---------------------------------------------------------------------------

    def _extract(self, number: int, window: Window) -> None:
        """Ask what the messages of a window teach, store it, then link it."""
        with_bytes = self._image_context is ImageContext.IMAGE
        newest = self._store.messages(window.message_ids, include_image_bytes=with_bytes)
        if not newest:
            return
        prompt = self._prompt(window, newest, with_bytes=with_bytes)
        parsed = self._ask(prompt)
        found = self._new_memories(number, newest, parsed)
        writer = MemoryWriter(
            self._store,
            self._job,
            self._journal,
            model=self._llm.model,
            prompt_version=prompt.version,
        )
        stored = writer.store(f"stored {number}", found, [one.id for one in newest])
        self._memory_ids += stored.ids
        if stored.new:
            self._relate(stored, found, parsed, prompt)

    def _prompt(
        self, window: Window, newest: Sequence[MessageRecord], *, with_bytes: bool
    ) -> ExtractionPrompt:
        settings = self._settings.extraction
        text = "\n".join(text_of(message.content) for message in newest)
        past = find_candidates(self._store, text, self._scope)
        before = self._summaries.before(newest[0].seq_no)
        with self._llm.at("shortening", SHORTENING_PROMPT) as llm:
            prompt = extraction_prompt(
                newest=newest,
                earlier=self._store.messages(window.earlier_ids, include_image_bytes=with_bytes),
                summary="" if before is None else before.text,
                memories=[shown_memory(one) for one in past],
                with_links=self._link_mode is LinkMode.DURING_EXTRACTION,
                instructions=settings.get("memory_extraction_custom_instructions"),
                image_context=self._image_context,
                token_limit=settings["memory_extraction_token_limit"],
                shorten=Shortening(llm, self._settings).copy,
            )
        for left_out in prompt.left_out:
            self._note("extraction", f"memory_extraction_token_limit left out {left_out}")
        return prompt

    def _ask(self, prompt: ExtractionPrompt) -> ParsedExtraction:
        with self._llm.at("extraction", prompt.version) as llm:
            answer = llm.generate(prompt.messages, response_json_schema=dict(prompt.schema))
        parsed = parse_extraction(
            answer.text,
            candidates=len(prompt.candidates) if self._links_during else 0,
            cut=answer.finish_reason == "length",
        )
        for lost in parsed.lost:
            self._note("extraction", lost.reason, lost.raw)
        if parsed.warning is not None:
            warn_caller(parsed.warning, RuntimeWarning)
        return parsed

    def _new_memories(
        self, number: int, newest: Sequence[MessageRecord], parsed: ParsedExtraction
    ) -> list[NewMemory]:
        """Return what an answer found as memories of the thread; the answer names no scope."""
        wanted = self._settings.extraction["memory_extraction_inherit_message_metadata"]
        inherited = inherited_metadata([message.metadata for message in newest], wanted)
        if inherited.disagreeing and parsed.memories:
            keys = ", ".join(inherited.disagreeing)
            reason = f"messages differ in metadata, so memories do not inherit: {keys}"
            self._note("metadata", reason)
        return [
            NewMemory(
                memory_id=self._id(number, place),
                record_type=one.record_type,
                text=one.text,
                timestamp=one.timestamp,
                metadata=_metadata(inherited.metadata, one),
            )
            for place, one in enumerate(parsed.memories)
        ]

    def _id(self, *parts: int) -> str:
        """Return an id that this place of this job always gets."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._job.job_id} {parts}"))

    # -- links --------------------------------------------------------------------------------

    def _relate(
        self,
        stored: Stored,
        found: Sequence[NewMemory],
        parsed: ParsedExtraction,
        prompt: ExtractionPrompt,
    ) -> None:
        """Link the memories that are new; what fails loses none of them."""
        try:
            candidates = {
                one.memory_id: find_candidates(self._store, one.text, self._scope, stored.ids)
                for one in stored.new
            }
            self._link(stored, found, parsed, prompt, candidates)
            self._propose(stored, candidates)
        except RetryableError as failure:
            if self._may_run_again:
                raise
            self._note_failure("links", failure)
        except Exception as failure:  # noqa: BLE001 - the memories are stored, whatever a model raises
            self._note_failure("links", failure)

    def _link(
        self,
        stored: Stored,
        found: Sequence[NewMemory],
        parsed: ParsedExtraction,
        prompt: ExtractionPrompt,
        candidates: Mapping[str, Sequence[MemoryRecord]],
    ) -> None:
        linked = Linked()
        if self._link_mode is LinkMode.POST_EXTRACTION:
            linked = self._linking.resolve(stored.new, candidates, replace_texts=True)
        elif self._links_during:
            among = {one.memory_id: one for one in prompt.candidates}
            said = {
                one.memory_id: memory.links
                for one, memory in zip(found, parsed.memories, strict=True)
            }
            for source in stored.new:
                links = said[source.memory_id]
                named = tuple(
                    (prompt.candidates[place - 1].memory_id, kind) for place, kind in links
                )
                self._linking.store(source, LinkResolution(named), among, linked)
        self._relation_ids += linked.relation_ids
        self._problems += linked.problems

    def _propose(self, stored: Stored, candidates: Mapping[str, Sequence[MemoryRecord]]) -> None:
        """Leave to people what memories of other threads say in the same words."""
        for one in stored.new:
            for other in candidates[one.memory_id]:
                same = (other.record_type, normalised_text(other.content)) == one.likeness
                if same and other.thread_id != self._job.thread_id:
                    self._proposals.append(Proposal(one.memory_id, other.id))

    @functools.cached_property
    def _linking(self) -> Linking:
        settings = self._settings.extraction
        return Linking(
            self._store,
            self._llm,
            self._journal,
            name=self._job.job_id,
            token_limit=settings["memory_link_extraction_token_limit"],
            instructions=settings.get("memory_link_extraction_custom_instructions"),
        )

    @property
    def _link_mode(self) -> LinkMode:
        return LinkMode(self._settings.extraction["memory_link_extraction_mode"])

    @property
    def _links_during(self) -> bool:
        return self._link_mode is LinkMode.DURING_EXTRACTION

    @property
    def _scope(self) -> LinkScope:
        return LinkScope(user_id=self._job.user_id, agent_id=self._job.agent_id)

    # -- summary ------------------------------------------------------------------------------

    @functools.cached_property
    def _summaries(self) -> ThreadSummaries:
        thread_id = self._job.thread_id or ""
        return ThreadSummaries(self._store, thread_id, self._settings, self._llm)

    def _refresh_summary(self) -> None:
        """Renew the summary when it is due; a failure costs only that."""
        failed_before = len(self._llm.failures)
        with self._llm.at("summary", SUMMARY_PROMPT):
            self._summaries.refresh_when_due()
        for _, failure in self._llm.failures[failed_before:]:
            self._note_failure("summary", failure)

    # -- storing ------------------------------------------------------------------------------

    @property
    def _may_run_again(self) -> bool:
        return self._journal.may_run_again

    def _write(self, prepared: Prepared[Any]) -> None:
        """Apply a change, unless this run may not write any more."""

        def apply(transaction: WriteTransaction) -> None:
            self._journal.fence(transaction)
            prepared.apply(transaction)

        self._store.write(Prepared(apply))

    def _note(self, step: str, reason: str, raw: str | None = None) -> None:
        self._problems.append(JobProblem(step, reason, raw))
        logger.warning("job %s lost something at %s: %s", self._job, step, reason)

    def _note_failure(self, step: str, failure: Exception) -> None:
        self._note(step, explained(failure))


def _metadata(inherited: Mapping[str, Any], found: FoundMemory) -> dict[str, Any] | None:
    reserved = {RESERVED_KEY: found.reserved} if found.reserved else {}
    return {**inherited, **reserved} or None
