"""A model that answers each step of extraction by itself, and what its prompts showed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from oracleagentmemory.apis import ILlm, LlmResponse
from oracleagentmemory.apis.message import Message, TextContent
from tests.sdk.client.jobs import LONG_S
from tests.sdk.extraction.answers import item
from tests.sdk.extraction.models import EXTRACTION, LINKS, SUMMARY

#: Steps that only ask for a text.
SHORTENING = "You shorten one message"
CAPTION = "Describe the attached image"
STEPS = (EXTRACTION, LINKS, SUMMARY, SHORTENING, CAPTION)


class StepLlm(ILlm):
    """Answers each step from a list, or as a model would that learns every new message whole.

    An answer is a text, a JSON value, an exception to raise, or a function of the prompt's text
    that gives one of them.

    Attributes:
        answers: The next answers of a step, in order.
        asked: Step and prompt text of each request, in order.
        systems: The system prompt of each request.
        may_answer: Cleared while requests are to wait.
    """

    def __init__(self) -> None:
        self.answers: dict[str, list[Any]] = {step: [] for step in STEPS}
        self.asked: list[tuple[str, str]] = []
        self.systems: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def generate(
        self, prompt: Any, *, response_json_schema: Any = None, **kwargs: Any
    ) -> LlmResponse:
        """Give the next answer of the step that asks."""
        told = _text(prompt) if isinstance(prompt, str) else _text(prompt[-1])
        system = "" if isinstance(prompt, str) else _text(prompt[0])
        step = next(one for one in STEPS if one in told or one in system)
        self.asked.append((step, told))
        self.systems.append(system)
        assert self.may_answer.wait(LONG_S)
        listed = self.answers[step]
        answer = listed.pop(0) if listed else DEFAULTS[step]
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            answer = answer(told)
        if isinstance(answer, Exception):
            raise answer
        return LlmResponse(answer if isinstance(answer, str) else json.dumps(answer))

    def told(self, step: str) -> list[str]:
        """Return the prompts of a step, in order."""
        return [told for asked, told in self.asked if asked == step]

    @property
    def steps(self) -> list[str]:
        """The steps that asked, in order."""
        return [step for step, _ in self.asked]


def shown(told: str, section: str) -> list[str]:
    """Return the texts that a section of a prompt shows, in order; none where it is missing.

    Args:
        section: Such as ``new_messages``, ``past_memories`` or ``previous_summary``.
    """
    found = ElementTree.fromstring(f"<prompt>{told[told.index('<') :]}</prompt>").find(section)
    if found is None:
        return []
    texts = [one.text for one in found.iter() if one.tag in ("content", "text")]
    return [_plain(one) for one in texts or [found.text]]


def learnt_whole(told: str) -> Any:
    """Return an answer with each new message as a fact."""
    return {"thoughts": None, "memories": [item(text) for text in shown(told, "new_messages")]}


def linked(link_type: str, text: str | None = None) -> Callable[[str], Any]:
    """Return an answer that links each new memory to the first that there was before.

    Args:
        text: What the new memory is to say; ``{}`` stands for what it says.
    """

    def answer(told: str) -> Any:
        prompt = ElementTree.fromstring(f"<prompt>{told[told.index('<') :]}</prompt>")
        target_id = _plain(prompt.findtext("existing_memories/memory/id"))
        resolutions = {}
        for one in prompt.iterfind("new_memories/memory"):
            merged = None if text is None else text.format(_plain(one.findtext("text")))
            resolutions[_plain(one.findtext("id"))] = {
                "updated_source_memory_text": merged,
                "links": [{"target_memory_id": target_id, "link_type": link_type}],
            }
        return {"source_resolutions": resolutions}

    return answer


DEFAULTS: dict[str, Any] = {
    EXTRACTION: learnt_whole,
    LINKS: {"source_resolutions": {}},
    SUMMARY: lambda told: {"summary": f"Until {shown(told, 'messages')[-1]}", "topics": []},
    SHORTENING: "in short",
    CAPTION: "A red car.",
}


def _plain(text: str | None) -> str:
    return " ".join((text or "").split())


def _text(message: Any) -> str:
    content = message.content if isinstance(message, Message) else message
    if isinstance(content, dict):
        content = content["content"]
    if isinstance(content, str):
        return content
    return "\n".join(one.text for one in content if isinstance(one, TextContent))
