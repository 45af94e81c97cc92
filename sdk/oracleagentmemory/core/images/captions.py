"""Descriptions of images by a language model."""

from __future__ import annotations

import re
from collections.abc import Mapping

from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.message import ImageContent, ImageMimeType, Message, TextContent
from oracleagentmemory.core.imageinputlimitconfig import DEFAULT_IMAGE_LIMITS, check_image_sizes
from oracleagentmemory.core.llms.answers import MAX_ANSWER_CHARACTERS, storable_text
from oracleagentmemory.core.promptfiles import prompt_text
from oracleagentmemory.errors import ModelAnswerError

#: Name and version of the prompt, as provenance notes it.
CAPTION_PROMPT = "image-caption-1"
#: Longer descriptions are cut at the end of a word.
MAX_DESCRIPTION_CHARACTERS = 4_000

# An answer that was cut before the thinking ended says nothing.
_REASONING = re.compile(
    r"\A\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)


def describe_image(
    llm: ILlm,
    data: bytes,
    mime_type: ImageMimeType,
    limits: Mapping[str, int] | None = None,
) -> str:
    """Ask a model what an image shows.

    One request: one user message of a text and the image, without a JSON schema. Not for use
    inside a write transaction.

    Args:
        llm: A model that reads images.
        data: A validated image.
        limits: Resolved limits of the thread or the client, as `ThreadSettings.image_limits`;
            ``None`` for the defaults.

    Returns:
        The description: at most 4,000 characters, never blank.

    Raises:
        InvalidInputError: The image exceeds a limit, or the model is not known to read images.
        ModelError: The model refuses.
        ModelAnswerError: The model describes the image with nothing.
        RetryableError: The model is busy, slow or out of reach.
    """
    check_image_sizes([len(data)], DEFAULT_IMAGE_LIMITS if limits is None else limits)
    content = [TextContent(prompt_text(CAPTION_PROMPT)), ImageContent(data, mime_type)]
    answer = llm.generate([Message("user", content)])
    description = _description(answer.text)
    if not description:
        raise ModelAnswerError(
            "the model answered with no description of the image; "
            "repeat the call, or give a description"
        )
    return description


def _description(answer: str) -> str:
    """Return an answer's text as it can be stored, without what a model thinks aloud before."""
    text = storable_text(_REASONING.sub("", answer[:MAX_ANSWER_CHARACTERS])).strip()
    if len(text) <= MAX_DESCRIPTION_CHARACTERS:
        return text
    head = text[: MAX_DESCRIPTION_CHARACTERS - 1]
    words = head.rsplit(maxsplit=1)[0] if not text[len(head)].isspace() else head
    # A text without spaces, as Chinese and Japanese are written, is cut where it is.
    return (words if len(words) > len(head) // 2 else head).rstrip() + "…"
