"""The prompt that asks a model for the memories in messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from xml.sax.saxutils import escape

from oracleagentmemory.apis.llms.llm import Prompt
from oracleagentmemory.apis.message import ImageContent, Message, TextContent
from oracleagentmemory.apis.records import MessageRecord
from oracleagentmemory.core.budgets import CHARACTERS_PER_TOKEN
from oracleagentmemory.core.extractors.memoryextractionconfig import MemoryExtractionImageContext
from oracleagentmemory.core.extractors.payloads import extraction_schema
from oracleagentmemory.core.markup import block, element, indent
from oracleagentmemory.core.promptfiles import prompt_text
from oracleagentmemory.errors import InvalidInputError

T = TypeVar("T")

#: Name and version of each prompt: the file of that name. A changed text is a new file.
EXTRACTION_PROMPT = "extraction-1"
EXTRACTION_WITH_LINKS_PROMPT = "extraction-links-1"

#: What an image costs of a prompt's tokens, about.
IMAGE_TOKENS = 1_000
_CLOSING = "Now list the memories of the new messages as JSON."
_CUT = " [cut]"
#: Room for tags and line breaks around what is counted.
_AROUND = 300
#: Less of a summary says nothing.
_SHORTEST_SUMMARY = 100
#: Nor does less of a message, unless it is whole: rather are older messages left out.
_SHORTEST_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory as a prompt shows it."""

    memory_id: str
    record_type: str
    text: str
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionPrompt:
    """What a model is asked.

    Attributes:
        messages: For ``ILlm.generate``.
        version: Name and version of the prompt.
        schema: Of the answer.
        message_ids: The new messages that are shown, in order.
        candidates: The past memories that are shown, in order: number 1 is the first.
        left_out: What did not fit, in words.
    """

    messages: Prompt
    version: str
    schema: Mapping[str, Any]
    message_ids: tuple[str, ...]
    candidates: tuple[ShownMemory, ...]
    left_out: tuple[str, ...] = ()


@dataclass(slots=True)
class _Part:
    """A message as the prompt shows it."""

    message: MessageRecord
    text: str
    images: list[ImageContent] = field(default_factory=list)

    def shown(self, most: int | None = None) -> str:
        text = self.text[:most] + _CUT if self.is_cut(most) else self.text
        children = [
            element("timestamp", self.message.timestamp or "-"),
            element("role", self.message.role or ""),
            element("content", text),
        ]
        return block("message", children)

    def is_cut(self, most: int | None) -> bool:
        # What the mark would make longer stays whole; so a higher limit never shows less.
        return most is not None and len(self.text) > most + len(_CUT)

    def size(self, most: int | None = None) -> int:
        return _size(self.shown(most)) + len(self.images) * int(IMAGE_TOKENS * CHARACTERS_PER_TOKEN)


def extraction_prompt(
    *,
    newest: Sequence[MessageRecord],
    earlier: Sequence[MessageRecord] = (),
    summary: str = "",
    memories: Sequence[ShownMemory] = (),
    with_links: bool = False,
    instructions: str | None = None,
    image_context: MemoryExtractionImageContext = MemoryExtractionImageContext.DISABLED,
    token_limit: int = 0,
    shorten: Callable[[str], str] = str,
) -> ExtractionPrompt:
    """Return the prompt for one window of messages.

    What does not fit is left out: first earlier messages, the oldest first; then past memories,
    the last first; then the end of the summary. New messages are cut to no less than 200
    characters, the longest first, before the oldest of them are left out.

    Args:
        newest: The messages to learn from, in order; with their images' bytes for ``IMAGE``.
        earlier: Those before them, in order.
        summary: What lies before all of them.
        memories: Past memories, the nearest first.
        with_links: Whether the past memories are numbered and links to them asked for.
        instructions: The caller's, added to the system prompt.
        token_limit: Estimated tokens of the prompt; below 1 no limit.
        shorten: Makes the copy of a message's text that goes into the prompt.

    Raises:
        InvalidInputError: An image lacks its description (``CAPTION``) or its bytes (``IMAGE``),
            or the limit has no room for the new messages beside the instructions.
    """
    version = EXTRACTION_WITH_LINKS_PROMPT if with_links else EXTRACTION_PROMPT
    system = system_prompt(version, instructions)
    new = [_part(message, image_context, shorten) for message in newest]
    old = [_part(message, image_context, shorten) for message in earlier]
    room = _Room(token_limit, len(system) + len(_CLOSING) + _AROUND)
    most, new = room.fit_newest(new)
    head = room.fit_text(summary)
    shown = room.fit_first(memories, lambda one: _size(_memory(one, 99 if with_links else None)))
    kept = room.fit_first(old[::-1], _Part.size)[::-1]
    sections = [block("previous_summary", [escape(head)])] if head else []
    if kept:
        sections.append(block("earlier_messages", [one.shown() for one in kept]))
    sections.append(block("new_messages", [one.shown(most) for one in new]))
    if shown:
        numbered = enumerate(shown, 1)
        sections.append(
            block("past_memories", [_memory(one, n if with_links else None) for n, one in numbered])
        )
    images = [image for one in [*kept, *new] for image in one.images]
    return ExtractionPrompt(
        messages=_messages(system, "\n".join(sections), images),
        version=version,
        schema=extraction_schema(with_links=with_links),
        message_ids=tuple(one.message.id for one in new),
        candidates=tuple(shown),
        left_out=_left_out(
            {
                "new messages": len(newest) - len(new),
                "new messages in part": sum(one.is_cut(most) for one in new),
                "earlier messages": len(old) - len(kept),
                "past memories": len(memories) - len(shown),
                "summaries in part": int(head != summary),
            }
        ),
    )


def system_prompt(version: str, instructions: str | None) -> str:
    """Return the text of a prompt, with a caller's instructions at its end."""
    text = prompt_text(version)
    return f"{text}\n\n{instructions}" if instructions else text


class _Room:
    """The characters that are left of a prompt's budget; ``None``: as many as wanted."""

    def __init__(self, token_limit: int, fixed: int) -> None:
        self.limit = token_limit
        total = int(token_limit * CHARACTERS_PER_TOKEN)
        self.left = None if token_limit < 1 else total - fixed

    def fit_newest(self, parts: list[_Part]) -> tuple[int | None, list[_Part]]:
        """Return to how many characters texts are cut, and the newest messages that then fit."""
        if self.left is None or sum(one.size() for one in parts) <= self.left:
            self._take(sum(one.size() for one in parts))
            return None, parts
        kept = parts
        while len(kept) > 1 and sum(one.size(_SHORTEST_MESSAGE) for one in kept) > self.left:
            kept = kept[1:]
        if sum(one.size(0) for one in kept) > self.left:
            raise InvalidInputError(
                f"memory_extraction_token_limit={self.limit} has no room for a message beside the "
                "instructions; give a higher one, or 0 for no limit"
            )
        low, high = 0, max(len(one.text) for one in kept)
        while low < high:
            middle = (low + high + 1) // 2
            if sum(one.size(middle) for one in kept) <= self.left:
                low = middle
            else:
                high = middle - 1
        self._take(sum(one.size(low) for one in kept))
        return low, kept

    def fit_text(self, text: str) -> str:
        """Return as much of a text as fits."""
        if self.left is not None and _size(escape(text)) > self.left:
            cut = text[: max(0, self.left)]
            while cut and _size(escape(cut + _CUT)) > self.left:
                cut = cut[: len(cut) * 9 // 10]
            text = cut + _CUT if len(cut) >= _SHORTEST_SUMMARY else ""
        self._take(_size(escape(text)) if text else 0)
        return text

    def fit_first(self, ones: Sequence[T], size: Callable[[T], int]) -> list[T]:
        """Return the first of a sequence, up to the one that does not fit."""
        kept: list[T] = []
        for one in ones:
            if self.left is not None and size(one) > self.left:
                break
            self._take(size(one))
            kept.append(one)
        return kept

    def _take(self, size: int) -> None:
        if self.left is not None:
            self.left -= size


def _part(
    message: MessageRecord, context: MemoryExtractionImageContext, shorten: Callable[[str], str]
) -> _Part:
    content = message.content
    if isinstance(content, str):
        return _Part(message, shorten(content))
    texts: list[str] = []
    images: list[ImageContent] = []
    for one in content:
        if isinstance(one, TextContent):
            texts.append(shorten(one.text))
        elif isinstance(one, ImageContent) and context is MemoryExtractionImageContext.CAPTION:
            texts.append(f"[Image description: {_description(message, one)}]")
        elif isinstance(one, ImageContent) and context is MemoryExtractionImageContext.IMAGE:
            if one.bytes is None:
                raise InvalidInputError(f"image {one.id!r} was read without its bytes")
            texts.append(f"[Image {one.id}]")
            images.append(one)
    return _Part(message, "\n".join(texts), images)


def _description(message: MessageRecord, image: ImageContent) -> str:
    if not (image.description or "").strip():
        raise InvalidInputError(
            f"image {image.id!r} of message {message.id!r} has no description, which "
            "memory_extraction_image_context CAPTION needs; describe it or use another context"
        )
    return str(image.description)


def _memory(memory: ShownMemory, number: int | None) -> str:
    """Return a past memory; a number stands for its id, which a model would have to copy."""
    children = [] if number is None else [element("candidate_index", str(number))]
    children += [
        element("record_type", memory.record_type),
        element("timestamp", memory.timestamp or "-"),
        element("text", memory.text),
    ]
    return block("memory", children)


def _messages(system: str, text: str, images: Sequence[ImageContent]) -> Prompt:
    asked: list[Any] = [{"role": "system", "content": system}]
    if not images:
        return [*asked, {"role": "user", "content": f"{text}\n\n{_CLOSING}"}]
    parts: list[TextContent | ImageContent] = [TextContent(text)]
    for image in images:
        parts += [TextContent(f"[Image {image.id}]"), image]
    return [*asked, Message(role="user", content=[*parts, TextContent(_CLOSING)])]


def _left_out(counts: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(f"{count} {what}" for what, count in counts.items() if count)


def _size(shown: str) -> int:
    return len(indent(shown)) + 1
