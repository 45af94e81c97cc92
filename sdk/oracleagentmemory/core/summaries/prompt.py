"""The prompt that asks a model for a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape

from oracleagentmemory.apis.llms.llm import Prompt
from oracleagentmemory.apis.records import MessageRecord
from oracleagentmemory.core.budgets import CHARACTERS_PER_TOKEN
from oracleagentmemory.core.markup import block, element, indent
from oracleagentmemory.core.promptfiles import prompt_text
from oracleagentmemory.core.searchresult import text_of

#: Name and version of the prompt: the file of that name. A changed text is a new file.
SUMMARY_PROMPT = "summary-1"
SHORTENING_PROMPT = "shortening-1"

_CLOSING = "Now write the summary of the whole thread and its topics as JSON."
_LEFT_OUT = "<left_out>Earlier messages are left out.</left_out>"
#: Characters of a message besides its text: tags, time and role.
_AROUND = 200


def summary_prompt(
    previous: tuple[str, Sequence[str]] | None,
    messages: Sequence[MessageRecord],
    *,
    shorten: Callable[[str], str],
    max_tokens: int,
) -> tuple[Prompt, list[MessageRecord]] | None:
    """Return the prompt and the messages that it has room for; ``None`` when it has for none.

    Args:
        previous: Text and topics of the summary of what lies before ``messages``.
        messages: In order, at least one; where they do not all fit, the newest stay.
        shorten: Makes the copy of a message's text that goes into the prompt.
        max_tokens: Estimated tokens of the prompt; 0 or less: no bound.
    """
    system = prompt_text(SUMMARY_PROMPT)
    head = _previous(previous)
    room = _room(max_tokens, system, *head, _CLOSING, _LEFT_OUT)
    blocks: list[str] = []
    for message in reversed(messages):
        whole = _message(message, shorten(text_of(message.content)))
        if room is not None and _size(whole) > room:
            if not blocks and room > 2 * _AROUND:
                blocks.append(_cut_message(message, room))
            break
        blocks.append(whole)
        room = None if room is None else room - _size(whole)
    if not blocks:
        return None
    shown = blocks[::-1] if len(blocks) == len(messages) else [_LEFT_OUT, *blocks[::-1]]
    user = "\n".join([*head, block("messages", shown), "", _CLOSING])
    prompt = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return prompt, list(messages[len(messages) - len(blocks) :])


def shortening_prompt(text: str, max_tokens: int) -> Prompt:
    """Return the prompt that asks for a shorter copy of a message.

    Args:
        max_tokens: Estimated tokens of the message that are sent; 0 or less: all.
    """
    excerpt = text if max_tokens <= 0 else text[: int(max_tokens * CHARACTERS_PER_TOKEN)]
    return [
        {"role": "system", "content": prompt_text(SHORTENING_PROMPT)},
        {"role": "user", "content": element("message", excerpt)},
    ]


def _previous(previous: tuple[str, Sequence[str]] | None) -> list[str]:
    if previous is None:
        return []
    text, topics = previous
    parts = [block("previous_summary", [escape(text)])]
    if topics:
        parts.append(block("topics", [element("topic", topic) for topic in topics]))
    return parts


def _message(message: MessageRecord, text: str) -> str:
    children = [
        element("timestamp", message.timestamp or "-"),
        element("role", message.role or ""),
        element("content", text),
    ]
    return block("message", children)


def _cut_message(message: MessageRecord, room: int) -> str:
    """Return a message with as much of its text as has room."""
    text = text_of(message.content)[: room - _AROUND]
    # Escaping and indenting make a text longer.
    while _size(whole := _message(message, text)) > room:
        text = text[: len(text) * room // _size(whole) - 1]
    return whole


def _size(child: str) -> int:
    return len(indent(child)) + 1


def _room(max_tokens: int, *fixed: str) -> int | None:
    if max_tokens <= 0:
        return None
    return int(max_tokens * CHARACTERS_PER_TOKEN) - sum(map(len, fixed)) - _AROUND
