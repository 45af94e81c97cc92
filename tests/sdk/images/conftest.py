"""Clients on the stores of the contract suite, with a model that sees behind a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oracleagentmemory.core import MemoryExtractionConfig, MemoryExtractionMode, OracleAgentMemory
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.testing import ScriptedModelServer
from tests.sdk.contract.conftest import backend, clock, embedder, make_store, store
from tests.sdk.models.conftest import (
    no_provider_in_the_environment,
    server,
)

__all__ = [
    "backend",
    "clock",
    "embedder",
    "make_store",
    "no_provider_in_the_environment",
    "server",
    "store",
]

OpenClient = Callable[..., OracleAgentMemory]


@pytest.fixture
def vision(server: ScriptedModelServer) -> Llm:
    """A model that reads images."""
    return Llm("openai/scripted", api_base=server.api_base, api_key="none", supports_vision=True)


@pytest.fixture
def open_client(store: SQLMemoryStore) -> Iterator[OpenClient]:
    """Open a client on the store: it extracts nothing, and describes images inside the call."""
    opened: list[OracleAgentMemory] = []

    def make(settings: dict[str, Any] | None = None, **options: Any) -> OracleAgentMemory:
        config = MemoryExtractionConfig(
            **{
                "extract_memories": False,
                "extraction_mode": MemoryExtractionMode.INLINE,
                **(settings or {}),
            }
        )
        client = OracleAgentMemory(store=store, memory_extraction_config=config, **options)
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.close()


@pytest.fixture
def client(open_client: OpenClient, vision: Llm) -> OracleAgentMemory:
    """A client whose model describes images inside the call."""
    return open_client(llm=vision)


@pytest.fixture
def thread(client: OracleAgentMemory) -> OracleThread:
    """The thread t1 of u1 and a1."""
    return client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
