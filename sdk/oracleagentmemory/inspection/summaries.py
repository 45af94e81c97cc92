"""The summary of a thread as it stands: no model is asked for it, and nothing is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from oracleagentmemory.apis.records import MessageRecord, RecordStatus, ThreadSummaryRecord
from oracleagentmemory.core.summaries.transcript import TRANSCRIPT_MESSAGES, transcript
from oracleagentmemory.storage.store.summaries import TRANSCRIPT, summary_strategy

if TYPE_CHECKING:
    from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingSummary:
    """What is known of a thread without asking a model.

    Attributes:
        text: At most 4,000 characters; empty for a thread without messages.
        topics: Named by the model that made the summary.
        is_transcript: Whether the text repeats messages because no model has summed them up.
        is_current: Whether it covers the newest message.
    """

    text: str
    topics: Sequence[str]
    is_transcript: bool
    is_current: bool


def standing_summary(store: SQLMemoryStore, thread_id: str) -> StandingSummary:
    """Return the summary by a model that covers most, else the transcript of the first messages."""
    newest = store.list_thread_messages(thread_id, last_n=1)
    if not newest:
        return StandingSummary(text="", topics=(), is_transcript=True, is_current=True)
    saved = store.list("thread_summary", limit=None, thread_id=thread_id)
    by_model = [one for one in cast("list[ThreadSummaryRecord]", saved) if _is_by_model(one)]
    by_model.sort(key=lambda one: one._covered_through_seq_no)
    found = next(filter(store.summary_holds, reversed(by_model)), None)
    if found is None:
        return _transcript(store, thread_id, newest[0])
    content = cast("Mapping[str, object]", found.content)
    topics = content.get("topics")
    return StandingSummary(
        text=str(content["text"]),
        topics=[str(one) for one in topics] if isinstance(topics, list) else (),
        is_transcript=False,
        is_current=found._covered_through_seq_no >= newest[0].seq_no,
    )


def _is_by_model(saved: ThreadSummaryRecord) -> bool:
    content = saved.content if isinstance(saved.content, Mapping) else {}
    is_valid = saved.status is RecordStatus.VALID and bool(content.get("text"))
    return is_valid and summary_strategy(saved) != TRANSCRIPT


def _transcript(store: SQLMemoryStore, thread_id: str, newest: MessageRecord) -> StandingSummary:
    messages = store.thread_window(thread_id, 0, TRANSCRIPT_MESSAGES)
    is_whole = bool(messages) and messages[-1].seq_no >= newest.seq_no
    return StandingSummary(
        text=transcript(messages), topics=(), is_transcript=True, is_current=is_whole
    )
