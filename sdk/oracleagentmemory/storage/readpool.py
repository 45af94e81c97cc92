"""Several reads of one call at the same time, on threads that stay."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

#: Reads of one store that run at the same time, whoever asks for them.
POOL_SIZE = 8


class ReadPool:
    """A bounded thread pool, started by its first use and again after :meth:`release`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None

    def run(
        self, reads: Sequence[Callable[[], T]], at_most: int, after: Callable[[], None]
    ) -> list[T]:
        """Run reads, so many at the same time; return their results in order.

        Args:
            after: Called on the pool thread after each stretch of reads.
        """
        waiting = iter(range(len(reads)))
        results: dict[int, T] = {}

        def work() -> None:
            try:
                # One step of a range's iterator is atomic, and so is setting an item.
                for number in waiting:
                    results[number] = reads[number]()
            finally:
                after()

        for one in self._submit(work, min(at_most, len(reads))):
            one.result()
        return [results[number] for number in range(len(reads))]

    def _submit(self, work: Callable[[], None], count: int) -> list[Future[None]]:
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(POOL_SIZE, "oracleagentmemory-read")
            contexts = [contextvars.copy_context() for _ in range(count)]
            return [self._executor.submit(context.run, work) for context in contexts]

    def release(self) -> None:
        """Let the idle threads end; reads already accepted still run."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)
