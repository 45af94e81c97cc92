"""Waiting for background work, and closing."""

from __future__ import annotations

from oracleagentmemory._threaded import threaded
from oracleagentmemory.core.client.part import ClientPart


class ClientLifecycle(ClientPart):
    """The end of a client and of its background work."""

    _owns_store: bool

    def wait_for_memory_extraction(self, timeout: float | None = 300.0) -> None:
        """Wait for the background extraction that this client has accepted so far.

        Args:
            timeout: Seconds; ``None`` waits without limit.

        Raises:
            TimeoutError: If the work has not ended by then.
            RuntimeError: If the client is closed.
        """
        self._work.wait(timeout)

    def close(self, timeout: float | None = 300.0) -> None:
        """Refuse new work, wait for what was accepted, and let threads and connections go.

        Reading and searching stay possible. Closing again does nothing.

        Args:
            timeout: Seconds to wait for accepted work; ``None`` waits without limit.
        """
        self._work.close()
        if self._twin_pool is not None:
            self._twin_pool.release()
        if self._owns_store:
            self._store.close()

    close_async = threaded(close)
