"""Async twins: one decorator, the only async code of the SDK's own methods.

Cancelling an awaited twin stops the waiting, not the work: it runs on a pool thread to its end.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

#: Calls that one client or store runs at the same time for its async twins.
DEFAULT_POOL_SIZE = 8


class TwinPool:
    """A bounded thread pool, started by its first use and again after :meth:`release`."""

    def __init__(self, size: int = DEFAULT_POOL_SIZE) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None

    def submit(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Run ``call`` on a pool thread; the running event loop's future for its result."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self.size, "oracleagentmemory-async")
            future = self._executor.submit(call)
        return asyncio.wrap_future(future)

    def release(self) -> None:
        """Let the idle threads end; calls already accepted still run."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False)


class TwinOwner:
    """What :func:`threaded` asks of the object that it serves; each part may be replaced."""

    _twin_pool: TwinPool | None = None

    def _before_twin(self, method_name: str) -> None:
        """Refuse a twin in the calling thread, for example inside a caller's transaction."""

    def _after_twin(self) -> None:
        """Give back, on the pool thread, what the call opened for this thread."""


def threaded(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Return the async twin of a method: same parameters, run on the owner's pool."""

    async def twin(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        owner = self if isinstance(self, TwinOwner) else TwinOwner()
        owner._before_twin(method.__name__)
        # By name, so that a subclass's override is honoured.
        bound: Callable[P, T] = getattr(self, method.__name__)
        context = contextvars.copy_context()

        def call() -> T:
            try:
                return context.run(bound, *args, **kwargs)
            finally:
                owner._after_twin()

        pool = owner._twin_pool
        return await (asyncio.to_thread(call) if pool is None else pool.submit(call))

    functools.update_wrapper(twin, method)
    twin.__name__ = f"{method.__name__}_async"
    twin.__qualname__ = f"{method.__qualname__}_async"
    # abc marks abstract methods by an attribute that update_wrapper copies.
    twin.__dict__.pop("__isabstractmethod__", None)
    return twin
