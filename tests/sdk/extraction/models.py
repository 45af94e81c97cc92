"""Clients whose model is a scripted server, and what there is to see of a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oracleagentmemory.apis import IEmbedder, MemoryRecord
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.core import (
    MemoryExtractionConfig,
    MemoryExtractionMode,
    OracleAgentMemory,
    SQLiteMemoryStore,
)
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.testing import ScriptedModelServer
from oracleagentmemory.testing.modelscript import texts_of
from oracleagentmemory.testing.modelserver import ReceivedRequest
from tests.sdk.client.conftest import WordEmbedder

#: What only the requests of one step say.
EXTRACTION = "Now list the memories of the new messages"
LINKS = "Now give the links of each new memory"
SUMMARY = "Now write the summary of the whole thread"


def inline(**fields: Any) -> MemoryExtractionConfig:
    """Return settings with which extraction has ended when a call returns."""
    return MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.INLINE, **fields)


def scripted_llm(server: ScriptedModelServer, **options: Any) -> Llm:
    """Return LiteLLM's client of a server."""
    return Llm("openai/scripted", api_base=server.api_base, api_key="none", **options)


@contextmanager
def open_client(
    path: Path,
    llm: ILlm,
    config: MemoryExtractionConfig,
    embedder: IEmbedder | None = None,
) -> Iterator[tuple[OracleAgentMemory, SQLMemoryStore]]:
    """Lend a client on a file of its own, with its store."""
    store = SQLiteMemoryStore(path, embedder=embedder or WordEmbedder())
    client = OracleAgentMemory(store=store, llm=llm, memory_extraction_config=config)
    try:
        yield client, store
    finally:
        client.close()
        store.close()


def memories_of(store: SQLMemoryStore, thread: OracleThread) -> list[MemoryRecord]:
    """Return the memories of a thread, valid or not, oldest first."""
    return store.list_memories(limit=None, thread_id=thread.thread_id)


def said(request: ReceivedRequest) -> str:
    """Return all texts of a request."""
    return "\n".join(texts_of(request.kind, request.body))
