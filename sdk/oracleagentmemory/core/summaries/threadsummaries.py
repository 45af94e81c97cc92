"""The summary of a thread: reused while it covers the newest message, else made and saved anew."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from oracleagentmemory._warn import warn_caller
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.records import MessageRecord, RecordStatus, ThreadSummaryRecord
from oracleagentmemory.core.summaries.answer import SUMMARY_SCHEMA, normal_topics, read_summary
from oracleagentmemory.core.summaries.prompt import SUMMARY_PROMPT, summary_prompt
from oracleagentmemory.core.summaries.shortening import Shortening
from oracleagentmemory.core.summaries.transcript import TRANSCRIPT_MESSAGES, transcript
from oracleagentmemory.core.threadsettings import ThreadSettings
from oracleagentmemory.errors import RetryableError
from oracleagentmemory.storage.store.summaries import (
    TRANSCRIPT,
    SummaryDraft,
    seen_summaries,
    summary_strategy,
)

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore
    from oracleagentmemory.storage.engine import WriteTransaction
    from oracleagentmemory.storage.writes import Prepared

logger = logging.getLogger(__name__)

#: How often a summary is made anew when another one is saved meanwhile.
ATTEMPTS = 3
#: A message of a prompt takes at least so many characters, its tags alone.
_LEAST_MESSAGE = 80


@dataclass(frozen=True, slots=True)
class SummaryText:
    """A summary as it is read.

    Attributes:
        topics: ``None`` when there is no model that could name them.
    """

    text: str
    topics: list[str] | None = None


class ThreadSummaries:
    """The summaries of one thread.

    A model is asked outside transactions only: where a call would have to, it raises StateError
    when a write transaction of this thread is open. Reading what is saved works everywhere.

    Args:
        llm: Makes the summaries; ``None``: they are transcripts.
        shortening_llm: Shortens over-long messages for its prompts, by default ``llm``.
        fence: Called in each transaction that saves a summary; whatever it raises keeps it out.
    """

    def __init__(
        self,
        store: OracleMemoryStore,
        thread_id: str,
        settings: ThreadSettings,
        llm: ILlm | None,
        shortening_llm: ILlm | None = None,
        fence: Callable[[WriteTransaction], None] = lambda transaction: None,
    ) -> None:
        self._store = store
        self._thread_id = thread_id
        self._settings = settings
        self._llm = llm
        self._shortening_llm = shortening_llm
        self._fence = fence

    def whole(self) -> SummaryText:
        """Return the summary of all messages: the saved one, or a new one, which is saved.

        A transcript that stands in for a failed model is not saved, and neither is anything
        inside a caller's transaction.

        Raises:
            StateError: If a model would be asked inside a write transaction.
        """
        return self._current() or self._transcript(0)

    def but_last(self, count: int) -> SummaryText:
        """Return a summary of all messages but the newest ``count``; saved ones stay as they are.

        Raises:
            StateError: If a model would be asked inside a write transaction.
        """
        end = self._end(count)
        if end is None:
            return SummaryText("")
        return self._of_model(end) or self._transcript(count)

    def for_card(self, except_last: int, fallback_count: int) -> SummaryText:
        """Return the summary of a context card.

        It is the saved one or one of the model; where that fails or there is none, a saved one
        that covers less, else the transcript of the newest messages.

        Args:
            except_last: Newest messages to leave out.
            fallback_count: Messages of the transcript.
        """
        end = self._end(except_last)
        if end is None:
            return SummaryText("")
        found = self._of_model(end) if except_last else self._current(transcripts=False)
        if found is None and (saved := self._saved_until(end)) is not None:
            found = _read(saved)
        if found is not None:
            return found
        messages = self._store.list_thread_messages(
            self._thread_id, last_n=fallback_count, range_end_seq_no=end + 1
        )
        return SummaryText(transcript(messages), self._no_topics)

    def prepare_new(self) -> Prepared[bool] | None:
        """Make a summary of all messages anew; ``None`` where there is nothing to save.

        The change gives whether it was saved: not when another one was meanwhile.

        Raises:
            StateError: If a model would be asked inside a write transaction.
        """
        end = self._end(0)
        draft = None if end is None else self._draft(end, self._saved(None))
        if draft is None or not draft.text:
            return None
        return self._store.prepare_save_summary(self._thread_id, draft)

    # -- for extraction -------------------------------------------------------------------------

    def refresh_when_due(self) -> bool:
        """Make and save the summary when enough messages have come; say whether that was done.

        Enough is ``context_summary_update_frequency`` messages since the newest summary; 0 or
        less means one. Nothing is done without a model or with the summary switched off.

        Raises:
            StateError: If a model would be asked inside a write transaction.
        """
        extraction = self._settings.extraction
        end = self._end(0)
        if self._llm is None or end is None or not extraction["enable_context_summary"]:
            return False
        saved = self._saved_until(end)
        covered = 0 if saved is None else saved._covered_through_seq_no
        due = max(1, extraction["context_summary_update_frequency"])
        newer = self._store.list_thread_messages(
            self._thread_id, last_n=due, range_start_seq_no=covered + 1
        )
        return len(newer) >= due and self._current() is not None

    def before(self, seq_no: int) -> SummaryText | None:
        """Return the newest saved summary that covers only messages before ``seq_no``.

        Asks no model; ``None`` when there is none.
        """
        saved = self._saved_until(seq_no - 1)
        return None if saved is None else _read(saved)

    # -- saved summaries ----------------------------------------------------------------------

    def _saved(self, limit: int | None) -> list[ThreadSummaryRecord]:
        """Return the newest saved summaries, the newest first."""
        found = self._store.list("thread_summary", limit=limit, thread_id=self._thread_id)
        return cast("list[ThreadSummaryRecord]", found[::-1])

    def _saved_until(
        self, seq_no: int, saved: Sequence[ThreadSummaryRecord] | None = None
    ) -> ThreadSummaryRecord | None:
        """Return the summary by a model that covers most without passing a message."""
        reaching = [
            one
            for one in (self._saved(None) if saved is None else saved)
            if one._covered_through_seq_no <= seq_no and self._counts(one, transcripts=False)
        ]
        reaching.sort(key=lambda one: one._covered_through_seq_no, reverse=True)
        return next(filter(self._store.summary_holds, reaching), None)

    def _covering(
        self, saved: Sequence[ThreadSummaryRecord], end: int, *, transcripts: bool
    ) -> SummaryText | None:
        reaching = (
            one
            for one in saved
            if one._covered_through_seq_no >= end and self._counts(one, transcripts=transcripts)
        )
        holding = next(filter(self._store.summary_holds, reaching), None)
        return None if holding is None else _read(holding)

    def _counts(self, saved: ThreadSummaryRecord, *, transcripts: bool) -> bool:
        content = saved.content if isinstance(saved.content, Mapping) else {}
        if saved.status is not RecordStatus.VALID or not content.get("text"):
            return False
        # A transcript only stands in while there is no model.
        allowed = transcripts and self._llm is None
        return allowed or summary_strategy(saved) != TRANSCRIPT

    # -- new summaries ------------------------------------------------------------------------

    def _current(self, *, transcripts: bool = True) -> SummaryText | None:
        """Return the summary of all messages, ``None`` when only a transcript is left to give."""
        made: SummaryText | None = None
        for _ in range(ATTEMPTS):
            end = self._end(0)
            if end is None:
                return SummaryText("")
            newest = self._covering(self._saved(1), end, transcripts=transcripts)
            if newest is not None:
                return newest
            saved = self._saved(None)
            current = self._covering(saved, end, transcripts=transcripts)
            if current is not None:
                return current
            if self._llm is None and not transcripts:
                return None
            draft = self._draft(end, saved)
            if draft is None:
                return None
            made = SummaryText(draft.text, list(draft.topics) if self._llm else None)
            if self._try_to_save(draft):
                return made
        return made

    def _try_to_save(self, draft: SummaryDraft) -> bool:
        """Save a summary; true also where none may be saved, so that the caller goes on."""
        if not draft.text or self._store.in_callers_transaction:
            return True
        prepared = self._store.prepare_save_summary(self._thread_id, draft)

        def apply(transaction: WriteTransaction) -> bool:
            self._fence(transaction)
            return prepared.apply(transaction)

        try:
            return self._store.write(replace(prepared, apply=apply))
        except RetryableError as busy:
            logger.info("the summary of a thread was not saved: %s", busy)
            return True

    def _of_model(self, end: int) -> SummaryText | None:
        """Return a new summary of the messages up to ``end``; ``None`` without a model."""
        if self._llm is None:
            return None
        draft = self._draft(end, self._saved(None))
        return None if draft is None else SummaryText(draft.text, list(draft.topics))

    def _draft(self, end: int, saved: Sequence[ThreadSummaryRecord]) -> SummaryDraft | None:
        """Make a summary of the messages up to ``end``; ``None`` when the model fails."""
        if self._llm is not None:
            return self._ask(self._llm, end, saved)
        messages = self._first_messages(end)
        return SummaryDraft(
            text=transcript(messages),
            topics=(),
            parameters={"strategy": TRANSCRIPT},
            messages=messages,
            covers=end,
            seen=seen_summaries(saved),
        )

    def _ask(
        self, llm: ILlm, end: int, saved: Sequence[ThreadSummaryRecord]
    ) -> SummaryDraft | None:
        self._store.refuse_in_transaction("summing up a thread by a model")
        base = self._saved_until(end - 1, saved)
        limit = self._settings.context_card_token_limit
        messages = self._store.list_thread_messages(
            self._thread_id,
            last_n=None if limit <= 0 else 1 + limit * 4 // _LEAST_MESSAGE,
            range_start_seq_no=0 if base is None else base._covered_through_seq_no + 1,
            range_end_seq_no=end + 1,
        )
        if not messages:
            return None
        previous = None if base is None else _read(base)
        asked = summary_prompt(
            None if previous is None else (previous.text, previous.topics or ()),
            messages,
            shorten=Shortening(self._shortening_llm or llm, self._settings).copy,
            max_tokens=limit,
        )
        if asked is None:
            logger.warning("context_card_token_limit=%d has no room for a message", limit)
            return None
        prompt, told = asked
        answer = self._answer(llm, prompt)
        if answer is None:
            return None
        return SummaryDraft(
            text=answer[0],
            topics=answer[1],
            parameters=self._parameters(),
            messages=told,
            covers=end,
            seen=seen_summaries(saved),
        )

    def _answer(self, llm: ILlm, prompt: Any) -> tuple[str, list[str]] | None:
        try:
            answer = llm.generate(prompt, response_json_schema=SUMMARY_SCHEMA)
        except Exception as failure:  # noqa: BLE001 - a card must come out whatever a model raises
            logger.warning("a model failed to sum a thread up: %s", type(failure).__name__)
            return None
        read = read_summary(answer.text)
        if read is None:
            warn_caller(
                "the model's summary of a thread is empty; its transcript is used instead",
                RuntimeWarning,
            )
        return read

    def _parameters(self) -> dict[str, Any]:
        name, _, version = SUMMARY_PROMPT.rpartition("-")
        return {
            "strategy": "llm",
            "prompt_id": name,
            "prompt_version": version,
            "input_token_limit": self._settings.context_card_token_limit,
        }

    # -- messages -----------------------------------------------------------------------------

    def _end(self, except_last: int) -> int | None:
        """Return the ``seq_no`` of the newest message but ``except_last``; ``None``: none is."""
        place = 0
        if not except_last:
            messages = self._store.list_thread_messages(self._thread_id, last_n=1)
        else:
            place = self._store.count_thread_messages(self._thread_id) - except_last - 1
            messages = self._store.thread_window(self._thread_id, place, place + 1)
        return messages[0].seq_no if messages and place >= 0 else None

    def _first_messages(self, end: int) -> list[MessageRecord]:
        window = self._store.thread_window(self._thread_id, 0, TRANSCRIPT_MESSAGES)
        return [message for message in window if message.seq_no <= end]

    def _transcript(self, except_last: int) -> SummaryText:
        end = self._end(except_last)
        if end is None:
            return SummaryText("")
        return SummaryText(transcript(self._first_messages(end)), self._no_topics)

    @property
    def _no_topics(self) -> list[str] | None:
        return None if self._llm is None else []


def _read(saved: ThreadSummaryRecord) -> SummaryText:
    content = saved.content if isinstance(saved.content, Mapping) else {}
    return SummaryText(str(content.get("text") or ""), normal_topics(content.get("topics")))
