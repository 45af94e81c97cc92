"""A scripted model server for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from oracleagentmemory.testing import ScriptedModelServer


@pytest.fixture(autouse=True)
def no_provider_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running
