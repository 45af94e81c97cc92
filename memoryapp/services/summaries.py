"""What a prompt should know about a thread: its summary and its context card.

Reading either writes nothing. Both tell what all messages of the thread say, so who may not see
some of them sees neither.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import inspector, store
from memoryapp.services import audit, threads
from memoryapp.services.lookup import visible_row, writable_row
from memoryapp.services.metadata import checked_filter
from oracleagentmemory.core.contextcard import OracleContextCard
from oracleagentmemory.core.summaries.transcript import within_tokens
from oracleagentmemory.errors import AccessDeniedError, ConflictError, StateError
from oracleagentmemory.inspection import StandingSummary

#: What an edge may name: it knows no store and nothing of the SDK's core.
Card = OracleContextCard


def get(
    access: Access, thread_id: str, *, except_last: int = 0, token_budget: int = 0
) -> StandingSummary:
    """Return the summary as it stands: the saved one of a model, else the messages themselves.

    ``except_last`` leaves out that many newest messages; ``token_budget`` above 0 cuts the text.
    Raises: NotFoundError; AccessDeniedError, if the thread holds messages of others.
    """
    visible_row(access, "thread", thread_id)
    _require_all_messages(access, thread_id)
    if except_last > 0:
        # The handle has no model: none is asked, and nothing is saved.
        made = threads.handle(thread_id).get_summary(except_last=except_last, token_budget=0)
        standing = StandingSummary(
            text=made.content, topics=(), is_transcript=True, is_current=False
        )
    else:
        standing = inspector().thread_summary(thread_id)
    return replace(standing, text=within_tokens(standing.text, token_budget))


def refresh(access: Access, thread_id: str, *, reason: str = "") -> StandingSummary:
    """Make the summary anew, save it, and return it.

    Raises: StateError, if there is nothing to sum up; ConflictError, if it was saved meanwhile.
    """
    row = writable_row(access, "thread", thread_id)
    _require_all_messages(access, thread_id)
    prepared = threads.handle(thread_id).prepare_refresh_summary()
    if prepared is None:
        raise StateError(f"thread {thread_id!r} has no messages, or the model gave no summary")
    with transaction.atomic():
        if not store().write(prepared):
            raise ConflictError(f"thread {thread_id!r} was changed meanwhile; try again")
        audit.record(
            access, "refresh", "summary", thread_id, user_id=row.record.user_id, reason=reason
        )
    return inspector().thread_summary(thread_id)


def context_card(
    access: Access, thread_id: str, *, include_invalid: bool = False, **wanted: Any
) -> Card:
    """Return the thread's card; its search costs as much as any other.

    ``wanted`` are the arguments of the SDK's ``get_context_card`` that are given.
    Raises: NotFoundError; AccessDeniedError, if the thread holds messages of others.
    """
    visible_row(access, "thread", thread_id)
    _require_all_messages(access, thread_id)
    if "metadata_filter" in wanted:
        wanted["metadata_filter"] = checked_filter(wanted["metadata_filter"])
    # The handle has no model: none is asked, and nothing is saved.
    return threads.handle(thread_id).get_context_card(
        include_invalid_results=include_invalid, **wanted
    )


def _require_all_messages(access: Access, thread_id: str) -> None:
    if access.user_ids is None:
        return
    everything = inspector().thread_digests([thread_id])[thread_id]
    if everything.message_count != threads.digest(access, thread_id).message_count:
        raise AccessDeniedError(f"thread {thread_id!r} also holds messages you may not see")
