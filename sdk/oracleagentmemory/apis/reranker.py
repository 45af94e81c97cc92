"""The contract of a reranker."""

from __future__ import annotations

import abc
import asyncio
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class RerankResponseResult:
    """The place of one document.

    Attributes:
        index: Position in the documents that were given, from 0.
        relevance_score: Higher is more relevant; the range is the model's own.
    """

    index: int
    relevance_score: float
    document: str | None = None


@dataclass(frozen=True)
class RerankResponse:
    """The documents in their new order, most relevant first."""

    results: list[RerankResponseResult]


class _LoopThread:
    """One event loop on a thread of its own, started by its first use.

    A reranker keeps connections that belong to a loop; a new loop a call would break them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end and return its value."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(
                    target=self._loop.run_forever, name="oracleagentmemory-rerank", daemon=True
                ).start()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


_LOOP = _LoopThread()


class IReranker(abc.ABC):
    """Orders documents by their relevance to a query."""

    def rerank(self, query: str, documents: list[str], **kwargs: Any) -> RerankResponse:
        """Return every document's place exactly once, most relevant first."""
        return _LOOP.run(self.rerank_async(query, documents, **kwargs))

    @abc.abstractmethod
    async def rerank_async(self, query: str, documents: list[str], **kwargs: Any) -> RerankResponse:
        """Return every document's place exactly once, most relevant first."""
