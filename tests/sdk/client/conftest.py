"""A client on a fresh SQLite file, with an embedder of hashed words and models that only count."""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from oracleagentmemory.apis import IEmbedder, ILlm, LlmResponse
from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory, SQLiteMemoryStore
from oracleagentmemory.core.thread import OracleThread

DIMENSION = 64
EXTRACTION_OFF = MemoryExtractionConfig(extract_memories=False)


class WordEmbedder(IEmbedder):
    """A bag of hashed words, unit length; counts the texts it embeds."""

    embedding_dimension = DIMENSION

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[Any]:
        """Return one row a text."""
        self.texts += texts
        rows = np.full((len(texts), DIMENSION), 1e-3, dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSION] += 1
            row /= np.linalg.norm(row)
        return rows


class SilentLlm(ILlm):
    """A model that nothing may call in this version."""

    def __init__(self) -> None:
        self.calls = 0

    def generate(
        self, prompt: Any, *, response_json_schema: Any = None, **kwargs: Any
    ) -> LlmResponse:
        """Count the call."""
        self.calls += 1
        return LlmResponse("{}")


@pytest.fixture
def embedder() -> WordEmbedder:
    """The embedder of the store."""
    return WordEmbedder()


@pytest.fixture
def llm() -> SilentLlm:
    """A model."""
    return SilentLlm()


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with an empty store, to be copied: making the tables anew takes far longer."""
    path = tmp_path_factory.mktemp("empty") / "memory.sqlite3"
    SQLiteMemoryStore(path).close()
    return path


@pytest.fixture
def store(tmp_path: Path, empty_file: Path, embedder: WordEmbedder) -> Iterator[SQLiteMemoryStore]:
    """A fresh store."""
    shutil.copy(empty_file, tmp_path)
    store = SQLiteMemoryStore(tmp_path / "memory.sqlite3", embedder=embedder)
    yield store
    store.close()


@pytest.fixture
def client(store: SQLiteMemoryStore) -> Iterator[OracleAgentMemory]:
    """A client without extraction."""
    client = OracleAgentMemory(store=store, memory_extraction_config=EXTRACTION_OFF)
    yield client
    client.close()


@pytest.fixture
def thread(client: OracleAgentMemory) -> OracleThread:
    """The thread t1 of u1 and a1."""
    return client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[], list[str]]:
    """Every row of every table of the file, to see that nothing was changed."""

    def read() -> list[str]:
        with sqlite3.connect(tmp_path / "memory.sqlite3") as connection:
            return [line for line in connection.iterdump() if line.startswith("INSERT")]

    return read
