"""One extraction: what the messages of a window teach, stored and then linked."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from oracleagentmemory.apis.records import MemoryRecord, MessageRecord
from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.core.extractors.inheritance import inherited_metadata
from oracleagentmemory.core.extractors.jobs import JobProblem, ModelAnswer, Proposal, Window
from oracleagentmemory.core.extractors.journal import FencedError
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
from oracleagentmemory.core.extractors.outcome import Run
from oracleagentmemory.core.extractors.parsing import (
    FoundMemory,
    ParsedExtraction,
    parse_extraction,
)
from oracleagentmemory.core.extractors.parsinglinks import LinkResolution
from oracleagentmemory.core.extractors.prompting import (
    ExtractionPrompt,
    ShownMemory,
    extraction_prompt,
)
from oracleagentmemory.core.extractors.storing import MemoryWriter, NewMemory, Stored
from oracleagentmemory.core.searchresult import text_of
from oracleagentmemory.core.summaries.prompt import SHORTENING_PROMPT
from oracleagentmemory.core.summaries.shortening import Shortening
from oracleagentmemory.core.summaries.threadsummaries import ThreadSummaries


@dataclass(frozen=True, slots=True)
class _Asked:
    """An answer, and the new messages and past memories that its prompt showed, in order."""

    answer: ModelAnswer
    message_ids: tuple[str, ...]
    candidates: tuple[ShownMemory, ...]


class Extracting:
    """Runs the extractions of a job."""

    def __init__(self, run: Run, summaries: ThreadSummaries) -> None:
        self._run = run
        self._store = run.store
        self._job = run.job
        self._outcome = run.outcome
        self._summaries = summaries
        self._settings = run.settings.extraction
        self._image_context = ImageContext(self._settings["memory_extraction_image_context"])
        self._link_mode = LinkMode(self._settings["memory_link_extraction_mode"])
        self._scope = LinkScope(user_id=run.job.user_id, agent_id=run.job.agent_id)
        self._linking = Linking(
            run.store,
            run.llm,
            run.journal,
            name=run.job.job_id,
            token_limit=self._settings["memory_link_extraction_token_limit"],
            instructions=self._settings.get("memory_link_extraction_custom_instructions"),
        )

    def extract(self, number: int, window: Window) -> None:
        """Ask what the messages of a window teach, store it, then link it.

        Args:
            number: The window's place in the job.
        """
        with_bytes = self._image_context is ImageContext.IMAGE
        newest = self._store.messages(window.message_ids, include_image_bytes=with_bytes)
        asked = self._asked(number, window, newest, with_bytes=with_bytes)
        if asked is None:
            return
        parsed = self._read(asked)
        # What did not fit into the prompt has taught nothing.
        shown = set(asked.message_ids)
        told = [one for one in newest if one.id in shown]
        found = self._new_memories(number, told, parsed)
        writer = MemoryWriter(
            self._store,
            self._job,
            self._run.journal,
            model=asked.answer.model,
            prompt_version=asked.answer.prompt_version,
        )
        stored = writer.store(f"stored {number}", found, [one.id for one in told])
        if stored.gone and found:
            self._outcome.note("extraction", "nothing is stored: what it came from is gone")
        self._outcome.memory_ids += stored.ids
        if stored.new:
            self._relate(number, stored, found, parsed, asked.candidates)

    # -- asking -------------------------------------------------------------------------------

    def _asked(
        self, number: int, window: Window, newest: Sequence[MessageRecord], *, with_bytes: bool
    ) -> _Asked | None:
        """Return the answer for a window: the one that an earlier run of the job stored by.

        That run's prompt may have been another one, with other memories that are like the
        messages, so what it showed and lost is kept beside the answer. ``None`` where all
        messages are gone and no run has asked about them.
        """
        key = str(number)
        kept = self._run.llm.kept("extraction", key)
        if kept is not None:
            answer, beside = kept.answer, kept.beside
            for problem in map(JobProblem.from_json, beside["problems"]):
                self._outcome.note(problem.step, problem.reason, problem.raw)
        elif not newest:
            return None
        else:
            noted_before = len(self._outcome.problems)
            prompt = self._prompt(window, newest, with_bytes=with_bytes)
            for one in prompt.left_out:
                self._outcome.note("extraction", f"memory_extraction_token_limit left out {one}")
            beside = {
                "candidates": [asdict(one) for one in prompt.candidates],
                "message_ids": list(prompt.message_ids),
                "problems": [one.to_json() for one in self._outcome.problems[noted_before:]],
            }
            with self._run.llm.at("extraction", prompt.version, key=key, beside=beside) as llm:
                llm.generate(prompt.messages, response_json_schema=dict(prompt.schema))
            answer = self._run.llm.answers[-1]
        shown = tuple(ShownMemory(**one) for one in beside["candidates"])
        return _Asked(answer, tuple(beside["message_ids"]), shown)

    def _prompt(
        self, window: Window, newest: Sequence[MessageRecord], *, with_bytes: bool
    ) -> ExtractionPrompt:
        text = "\n".join(text_of(message.content) for message in newest)
        past = find_candidates(self._store, text, self._scope)
        before = self._summaries.before(newest[0].seq_no)
        earlier = self._store.messages(window.earlier_ids, include_image_bytes=with_bytes)
        failed_before = len(self._run.llm.failures)
        shortening_llm = self._run.llm.of_step("shortening", SHORTENING_PROMPT)
        prompt = extraction_prompt(
            newest=newest,
            earlier=earlier,
            summary="" if before is None else before.text,
            memories=[shown_memory(one) for one in past],
            with_links=self._links_during,
            instructions=self._instructions(),
            image_context=self._image_context,
            token_limit=self._settings["memory_extraction_token_limit"],
            shorten=Shortening(shortening_llm, self._run.settings).copy,
        )
        # The copy is cut then, so the model does not see the whole message.
        for step, swallowed in self._run.llm.failures[failed_before:]:
            self._run.note_failure(step, swallowed)
        return prompt

    def _instructions(self) -> str | None:
        """Return the caller's instructions; those for links, too, where links are asked for."""
        names = ["memory_extraction_custom_instructions"]
        if self._links_during:
            names.append("memory_link_extraction_custom_instructions")
        given = [text for name in names if (text := self._settings.get(name))]
        return "\n\n".join(given) or None

    def _read(self, asked: _Asked) -> ParsedExtraction:
        parsed = parse_extraction(
            asked.answer.raw,
            candidates=len(asked.candidates) if self._links_during else 0,
            cut=asked.answer.finish_reason == "length",
        )
        for lost in parsed.lost:
            self._outcome.note("extraction", lost.reason, lost.raw)
        if parsed.warning is not None:
            self._outcome.warnings.append(parsed.warning)
        return parsed

    def _new_memories(
        self, number: int, newest: Sequence[MessageRecord], parsed: ParsedExtraction
    ) -> list[NewMemory]:
        """Return what an answer found as memories of the thread; the answer names no scope."""
        wanted = self._settings["memory_extraction_inherit_message_metadata"]
        inherited = inherited_metadata([message.metadata for message in newest], wanted)
        if inherited.disagreeing and parsed.memories:
            keys = ", ".join(inherited.disagreeing)
            reason = f"messages differ in metadata, so memories do not inherit: {keys}"
            self._outcome.note("metadata", reason)
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
        number: int,
        stored: Stored,
        found: Sequence[NewMemory],
        parsed: ParsedExtraction,
        shown: Sequence[ShownMemory],
    ) -> None:
        """Link the memories that are new; what fails loses none of them."""
        linked = Linked()
        try:
            candidates = self._candidates(number, stored)
            if self._link_mode is LinkMode.POST_EXTRACTION:
                self._linking.resolve(stored.new, candidates, linked, replace_texts=True)
            elif self._links_during:
                self._link_as_said(stored, found, parsed, shown, linked)
        except FencedError:
            raise
        except Exception as failure:  # noqa: BLE001 - noted, or raised again
            self._run.note_failure("links", failure)
        finally:
            self._outcome.relation_ids += linked.relation_ids
            for problem in linked.problems:
                self._outcome.note(problem.step, problem.reason, problem.raw)

    def _link_as_said(
        self,
        stored: Stored,
        found: Sequence[NewMemory],
        parsed: ParsedExtraction,
        shown: Sequence[ShownMemory],
        linked: Linked,
    ) -> None:
        """Store the links that came with the memories, to the numbers that the prompt showed."""
        among = {one.memory_id: one for one in shown}
        said = {
            one.memory_id: memory.links for one, memory in zip(found, parsed.memories, strict=True)
        }
        for source in stored.new:
            links = tuple(
                (shown[place - 1].memory_id, kind) for place, kind in said[source.memory_id]
            )
            self._linking.store(source, LinkResolution(links), among, linked)

    def _candidates(self, number: int, stored: Stored) -> dict[str, list[ShownMemory]]:
        """Return what each new memory may be linked to.

        It is what an earlier run of the job found: the links that it has stored since may have
        ended some of that.
        """
        key = f"candidates {number}"
        noted = self._run.journal.recall(key)
        if noted is None:
            found = {
                one.memory_id: find_candidates(self._store, one.text, self._scope, stored.ids)
                for one in stored.new
            }
            noted = {
                "shown": {
                    memory_id: [asdict(shown_memory(one)) for one in ones]
                    for memory_id, ones in found.items()
                },
                "proposals": [one.to_json() for one in self._proposed(stored, found)],
            }
            self._run.journal.remember(key, noted)
        self._outcome.proposals += map(Proposal.from_json, noted["proposals"])
        return {
            memory_id: [ShownMemory(**one) for one in ones]
            for memory_id, ones in noted["shown"].items()
        }

    def _proposed(
        self, stored: Stored, candidates: Mapping[str, Sequence[MemoryRecord]]
    ) -> Iterator[Proposal]:
        """Yield what is left to people: memories of other threads that say the same."""
        for one in stored.new:
            for other in candidates[one.memory_id]:
                same = (other.record_type, normalised_text(other.content or "")) == one.likeness
                if same and other.thread_id != self._job.thread_id:
                    yield Proposal(one.memory_id, other.id)

    @property
    def _links_during(self) -> bool:
        return self._link_mode is LinkMode.DURING_EXTRACTION


def _metadata(inherited: Mapping[str, Any], found: FoundMemory) -> dict[str, Any] | None:
    reserved = {RESERVED_KEY: found.reserved} if found.reserved else {}
    return {**inherited, **reserved} or None
