"""Provenance: the messages that a memory was extracted from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySource:
    """One message that a memory was extracted from.

    Attributes:
        job_id: The extraction that found it.
        model: The model that answered, as its adapter names it.
        prompt_version: Name and version of the prompt.
        recorded_at: When it was noted, aware UTC; the store fills it in.
    """

    memory_id: str
    message_id: str
    job_id: str | None = None
    model: str | None = None
    prompt_version: str | None = None
    recorded_at: datetime | None = None
