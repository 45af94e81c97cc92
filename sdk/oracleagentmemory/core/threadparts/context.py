"""Summary and context card of a thread."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, given
from oracleagentmemory._warn import warn_caller
from oracleagentmemory.apis.records import MetadataValue, ThreadRecordType
from oracleagentmemory.core.cardsearch import CardArguments, CardSearch, check_card_arguments
from oracleagentmemory.core.contextcard import OracleContextCard
from oracleagentmemory.core.memoryinput import refuse_unexpected
from oracleagentmemory.core.searchconfig import check_budget
from oracleagentmemory.core.summaries import SummaryText, ThreadSummaries
from oracleagentmemory.core.summaries.transcript import DEFAULT_TOKEN_BUDGET, within_tokens
from oracleagentmemory.core.summary import OracleSummary
from oracleagentmemory.core.threadparts.messages import to_message
from oracleagentmemory.core.threadparts.part import ThreadPart
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.writes import Prepared

logger = logging.getLogger(__name__)


class ThreadContext(ThreadPart):
    """What a prompt should know about the thread."""

    def get_summary(
        self,
        /,
        except_last: Maybe[int] = NOT_SET_MARKER,
        token_budget: Maybe[int] = NOT_SET_MARKER,
        **kwargs: Any,
    ) -> OracleSummary:
        """Return a summary of the thread (documented on the page of threads).

        The summary of the whole thread is saved, and used again until a message comes, changes or
        goes. Without a model, or when the model fails or says nothing, it is the transcript: lines
        ``role (time): text``, at most 4,000 characters.

        Inside a caller's transaction a saved summary or a transcript is returned and nothing is
        saved; where a model would have to be asked, the call raises.

        Args:
            except_last: Newest messages to leave out, below 0 none; such a summary is made anew
                at each call and not saved.
            token_budget: Estimated tokens, 1,000 by default; a longer text is cut to its head
                under the line ``(truncated)``. 0 or less: no cut.

        Raises:
            TypeError: On an unexpected keyword.
            ValueError: If an argument is no integer.
            RuntimeError: If a model would be asked inside a write transaction.
        """
        refuse_unexpected("get_summary", kwargs)
        left_out = max(0, _integer(given(except_last, 0), "except_last"))
        budget = _integer(given(token_budget, DEFAULT_TOKEN_BUDGET), "token_budget")
        summaries = self._summaries()
        made = summaries.but_last(left_out) if left_out else summaries.whole()
        return OracleSummary(within_tokens(made.text, budget))

    def get_context_card(
        self,
        /,
        fallback_message_count: Maybe[int] = NOT_SET_MARKER,
        max_relevant_results: Maybe[int] = NOT_SET_MARKER,
        max_recent_messages: Maybe[int] = NOT_SET_MARKER,
        except_last_messages: Maybe[int] = NOT_SET_MARKER,
        min_relevant_results_by_type: Maybe[Mapping[ThreadRecordType, int] | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        include_invalid_results: Maybe[bool] = NOT_SET_MARKER,
        token_budget: Maybe[int | None] = NOT_SET_MARKER,
        soft_token_budget: Maybe[int | None] = NOT_SET_MARKER,
        **kwargs: Any,
    ) -> OracleContextCard:
        """Return what a prompt should know about the thread (documented on the page of threads).

        The card has the thread's summary and topics, the records nearest to them, and, if asked
        for, the newest messages. Memories may come from other threads of the same user and agent;
        messages come from this one. A thread without messages gives an empty card.

        Args:
            fallback_message_count: Newest messages whose transcript stands for the summary where
                no model has made one; 5 by default.
            max_relevant_results: Relevant records at most, 0 to 1,000; 5 by default. With least
                numbers by type it is their sum, if that is more.
            max_recent_messages: Newest messages to show; 0 by default.
            except_last_messages: Newest messages that the summary and the relevant records leave
                out; ``max_recent_messages`` must then be 0 or the same.
            min_relevant_results_by_type: How many records of a type come first, by
                ``message memory guideline fact preference``, each at least 1.
            metadata_filter: Only relevant records that fulfil it.
            include_invalid_results: Whether records that no longer hold may be relevant; True by
                default.
            token_budget: Estimated tokens that the relevant records may have together; omitted,
                what the thread's search config says; 0 or less: no bound.
            soft_token_budget: Estimated tokens after which no record is added; likewise.

        Raises:
            TypeError: On an unexpected keyword.
            ValueError: If an argument cannot be accepted.
            RuntimeError: If a model would be asked inside a write transaction.

        Warns:
            DeprecationWarning: The thread has no model; not supported from 27.2.0 on.
        """
        refuse_unexpected("get_context_card", kwargs)
        asked = check_card_arguments(
            self._settings.search_config,
            fallback_message_count=fallback_message_count,
            max_relevant_results=max_relevant_results,
            max_recent_messages=max_recent_messages,
            except_last_messages=except_last_messages,
            min_relevant_results_by_type=min_relevant_results_by_type,
            metadata_filter=metadata_filter,
            include_invalid_results=include_invalid_results,
            token_budget=token_budget,
            soft_token_budget=soft_token_budget,
        )
        if self._llm is None:
            warn_caller(
                "context cards of a thread without llm are deprecated and will not be supported "
                "from 27.2.0 on; give the client or the thread an llm",
                DeprecationWarning,
            )
        return self._card(asked)

    def prepare_refresh_summary(self) -> Prepared[bool] | None:
        """Make the summary of the whole thread anew, to be saved by a write.

        Returns:
            What gives whether it was saved: not when another one was meanwhile. ``None`` when
            there are no messages, or the model fails.

        Raises:
            RuntimeError: If a model would be asked inside a write transaction.
        """
        return self._summaries().prepare_new()

    def _card(self, asked: CardArguments) -> OracleContextCard:
        left_out = asked.except_last_messages
        summary = self._summaries().for_card(left_out, asked.fallback_message_count)
        if left_out and not summary.text:
            logger.warning("a card that leaves out %d messages has none to sum up", left_out)
        tail = self._store.list_thread_messages(
            self._thread_id, last_n=max(left_out, asked.max_recent_messages)
        )
        search = CardSearch(
            store=self._store,
            user_id=self._user_id,
            agent_id=self._agent_id,
            thread_id=self._thread_id,
            concurrency=self._settings.context_card_type_search_concurrency,
            asked=asked,
            query=_query(summary),
            left_out=frozenset(message.id for message in tail[len(tail) - left_out :])
            if left_out
            else frozenset(),
        )
        recent = tail[-asked.max_recent_messages :] if asked.max_recent_messages else []
        return OracleContextCard(
            summary.text,
            summary.topics,
            search.results(),
            [to_message(message) for message in recent],
        )

    def _summaries(self) -> ThreadSummaries:
        """Return the summaries of this thread, made by its model under its settings."""
        return ThreadSummaries(self._store, self._thread_id, self._settings, self._llm)


def _query(summary: SummaryText) -> str:
    if not summary.text:
        return ""
    return "\n".join([summary.text, *(["; ".join(summary.topics)] if summary.topics else [])])


def _integer(value: object, what: str) -> int:
    number = check_budget(value, what)
    if number is None:
        raise InvalidInputError(f"{what} must be an integer, not None")
    return number
