"""Settings of memory extraction."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker


class MemoryExtractionMode(enum.StrEnum):
    """Whether ``add_messages`` waits for extraction."""

    INLINE = "INLINE"
    BACKGROUND = "BACKGROUND"


class MemoryLinkExtractionMode(enum.StrEnum):
    """When links between memories are looked for."""

    DISABLED = "DISABLED"
    DURING_EXTRACTION = "DURING_EXTRACTION"
    POST_EXTRACTION = "POST_EXTRACTION"


class BackgroundExtractionQueueFullBehavior(enum.StrEnum):
    """What ``add_messages`` does when the background queue is full."""

    DROP = "DROP"
    WAIT_THEN_DROP = "WAIT_THEN_DROP"
    WAIT_THEN_RAISE = "WAIT_THEN_RAISE"


class MemoryExtractionImageContext(enum.StrEnum):
    """What extraction sees of the images in messages."""

    DISABLED = "disabled"
    IMAGE = "image"
    CAPTION = "caption"
    MEMORY = "memory"


@dataclass
class MemoryExtractionConfig:
    """Settings of memory extraction for a client or a thread; omitted fields are inherited.

    Values are checked when a client or a thread resolves the config, not when it is built.

    Attributes:
        memory_extraction_window: Messages that extraction looks back over; below 1 only new ones.
        context_summary_update_frequency: Messages after which the summary is refreshed; below 1
            at each due extraction.
        memory_extraction_frequency: Messages (or calls, without a window) between extractions;
            below 1 after each append.
        memory_extraction_token_limit: Tokens of one extraction prompt; below 1 no limit.
        memory_extraction_custom_instructions: Text added to the extraction prompt; ``None`` on
            ``update_thread`` and ``get_thread`` clears it.
        memory_link_extraction_custom_instructions: The same for the link prompt.
        memory_extraction_inherit_message_metadata: Whether memories take over their messages'
            metadata; a sequence names the keys.
        memory_link_extraction_token_limit: Tokens of all link prompts of a pass; below 1 no limit.
        background_extraction_queue_put_timeout_seconds: Seconds to wait for a place in the queue.
    """

    memory_extraction_window: int | _NotSetMarker = NOT_SET_MARKER
    context_summary_update_frequency: int | _NotSetMarker = NOT_SET_MARKER
    memory_extraction_frequency: int | _NotSetMarker = NOT_SET_MARKER
    memory_extraction_token_limit: int | _NotSetMarker = NOT_SET_MARKER
    extract_memories: bool | _NotSetMarker = NOT_SET_MARKER
    enable_context_summary: bool | _NotSetMarker = NOT_SET_MARKER
    memory_extraction_custom_instructions: str | _NotSetMarker | None = NOT_SET_MARKER
    memory_link_extraction_custom_instructions: str | _NotSetMarker | None = NOT_SET_MARKER
    memory_extraction_image_context: MemoryExtractionImageContext | _NotSetMarker = NOT_SET_MARKER
    memory_extraction_inherit_message_metadata: bool | Sequence[str] | _NotSetMarker = (
        NOT_SET_MARKER
    )
    extraction_mode: MemoryExtractionMode | _NotSetMarker = NOT_SET_MARKER
    memory_link_extraction_mode: MemoryLinkExtractionMode | _NotSetMarker = NOT_SET_MARKER
    memory_link_extraction_token_limit: int | _NotSetMarker = NOT_SET_MARKER
    background_extraction_queue_full_behavior: (
        BackgroundExtractionQueueFullBehavior | _NotSetMarker
    ) = NOT_SET_MARKER
    background_extraction_queue_put_timeout_seconds: float | _NotSetMarker = NOT_SET_MARKER
