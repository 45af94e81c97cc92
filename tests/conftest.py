"""What every test does without asking for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def event_loop_that_is_closed() -> Iterator[None]:
    """Give the test's thread an event loop, and close it afterwards.

    LiteLLM's synchronous calls take the thread's loop, and make one that nobody closes.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
