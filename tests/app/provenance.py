"""Notes of where memories came from, as an extraction writes them."""

from __future__ import annotations

from memoryapp.memory import store
from oracleagentmemory.apis.sources import MemorySource


def note(*pairs: tuple[str, str], job_id: str | None = "job-1") -> None:
    """Note that memories came from messages: pairs of a memory's id and a message's."""
    sources = [
        MemorySource(
            memory_id=memory_id,
            message_id=message_id,
            job_id=job_id,
            model="model-1",
            prompt_version="extraction_1",
        )
        for memory_id, message_id in pairs
    ]
    store().write(store().prepare_add_sources(sources))
