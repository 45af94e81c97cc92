"""A scripted model server for each test."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from oracleagentmemory.testing import ScriptedModelServer


@pytest.fixture(autouse=True)
def no_provider_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def event_loop_that_is_closed() -> Iterator[None]:
    # LiteLLM's synchronous calls take the thread's event loop, and make one that nobody closes.
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running
