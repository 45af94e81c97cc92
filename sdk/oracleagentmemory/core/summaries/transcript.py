"""The messages themselves as the text of a summary, and the bounds of such texts."""

from __future__ import annotations

from collections.abc import Sequence

from oracleagentmemory.apis.records import MessageRecord
from oracleagentmemory.core.markup import one_line
from oracleagentmemory.core.searchresult import text_of

#: Characters of a summary, whoever made it.
MAX_CHARACTERS = 4000
#: Messages that are sure to fill a transcript: no line is shorter than ``x (y):`` and its dash.
TRANSCRIPT_MESSAGES = MAX_CHARACTERS // 7 + 1
DEFAULT_TOKEN_BUDGET = 1000

_CUT = "(truncated)\n"


def transcript(messages: Sequence[MessageRecord]) -> str:
    """Return messages as lines ``role (time): text``, in order, at most 4,000 characters."""
    lines = (
        one_line(f"{message.role or ''} ({message.timestamp}): {text_of(message.content)}")
        for message in messages
    )
    return "\n- ".join(lines)[:MAX_CHARACTERS]


def within_tokens(text: str, budget: int) -> str:
    """Return a text of about ``budget`` tokens at most, its head under a mark when it is longer.

    Args:
        budget: Estimated tokens, 3.5 characters each; 0 or less: no bound.
    """
    most = budget * 7 // 2
    return text if budget <= 0 or len(text) <= most else (_CUT + text)[:most]
