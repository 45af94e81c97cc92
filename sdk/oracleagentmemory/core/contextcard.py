"""Context cards: what a prompt should know about a thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from oracleagentmemory.apis.contextcard import ContextCard
from oracleagentmemory.apis.message import Message
from oracleagentmemory.apis.searchresult import SearchResult
from oracleagentmemory.core.markup import block, element, one_line
from oracleagentmemory.core.searchresult import text_of

MESSAGE_FORMAT = (
    "<message>\n"
    "  <timestamp>{timestamp}</timestamp>\n"
    "  <role>{role}</role>\n"
    "  <content>{content}</content>\n"
    "</message>"
)


class OracleContextCard(ContextCard):
    """A card of a thread's summary, topics, relevant records and newest messages.

    Args:
        message_format: Template of one recent message with the fields ``timestamp``, ``role`` and
            ``content``, which come in escaped.
    """

    def __init__(
        self,
        summary: str,
        topics: Sequence[str] | None = None,
        relevant_results: Sequence[SearchResult] | None = None,
        recent_messages: Sequence[Message] | None = None,
        message_format: str = MESSAGE_FORMAT,
    ) -> None:
        self.summary = summary
        self.topics = topics
        self.relevant_results = relevant_results
        self.recent_messages = recent_messages
        self._message_format = message_format

    @property
    def content(self) -> str:
        """The card as XML-like text; empty when it holds nothing."""
        if not (self.summary or self.topics or self.relevant_results or self.recent_messages):
            return ""
        parts = [
            block("topics", [element("topic", topic) for topic in self.topics or ()]),
            block("summary", self._summary_lines()),
            block("relevant_information", self._relevant()),
        ]
        if self.recent_messages:
            parts.append(block("recent_messages", map(self._message, self.recent_messages)))
        return block("context_card", parts)

    @property
    def formatted_content(self) -> str:
        """The same text as :attr:`content`."""
        return self.content

    def __str__(self) -> str:
        return self.content

    def _summary_lines(self) -> list[str]:
        text = self.summary.strip()
        return escape(text).split("\n") if text else []

    def _relevant(self) -> Iterator[str]:
        for result in self.relevant_results or ():
            if text := result.formatted_content:
                yield text

    def _message(self, message: Message) -> str:
        return self._message_format.format(
            timestamp=escape(message.timestamp or "-"),
            role=escape(message.role),
            content=escape(one_line(text_of(message.content))),
        )
