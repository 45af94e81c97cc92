"""Waiting for background work, and closing."""

from __future__ import annotations

from oracleagentmemory._threaded import threaded
from oracleagentmemory.core.client.part import ClientPart
from oracleagentmemory.core.extractors.jobs import JobResult


class ClientLifecycle(ClientPart):
    """The end of a client and of its background work."""

    _owns_store: bool

    def wait_for_memory_extraction(self, timeout: float | None = 300.0) -> None:
        """Wait for the background extraction that this client has accepted so far.

        Extraction that failed has ended. Work accepted after the call began, by another client or
        by another process, is not waited for.

        Args:
            timeout: Seconds, above 0 when there is anything to wait for; ``None`` waits without
                limit.

        Raises:
            TimeoutError: If the work has not ended by then.
            RuntimeError: If the client is closed, or a write transaction is open on this thread.
        """
        self._work.wait(timeout)

    async def wait_for_memory_extraction_async(self, timeout: float | None = 300.0) -> None:
        """Wait as :meth:`wait_for_memory_extraction` does; the wait takes no pool thread."""
        self._before_twin("wait_for_memory_extraction")
        await self._work.ended(timeout)

    def extraction_results(self) -> list[JobResult]:
        """Return what came of the newest extractions that ran in this process.

        At most 128, in the order of their ends, whether they ran inside a call (INLINE) or in the
        background; those that the queue refused are among them. What a scheduler that the client
        was given has run, that scheduler tells.

        Returns:
            For each its memories and relations, what was lost and why with the raw text of the
            model, what is left to people, and every answer of the model.
        """
        return self._work.results()

    extraction_results_async = threaded(extraction_results)

    def close(self, timeout: float | None = 300.0) -> None:
        """Refuse new work, wait for what was accepted, and let threads and connections go.

        Messages and threads cannot be added from the moment of the call. What is unfinished at the
        timeout is logged by its job ids and goes on while the process lives. Reading and searching
        stay possible. Closing again waits for what is left. A scheduler that the client was given
        stays open.

        Args:
            timeout: Seconds to wait for accepted work; ``None`` waits without limit.

        Raises:
            RuntimeError: If there is work to wait for and a write transaction is open on this
                thread; the client stays open.
        """
        self._work.close(timeout)
        self._let_go()

    async def close_async(self, timeout: float | None = 300.0) -> None:
        """Close as :meth:`close` does; the wait takes no pool thread."""
        self._before_twin("close")
        await self._work.closed(timeout)
        await self._let_go_on_pool()

    def _let_go(self) -> None:
        if self._twin_pool is not None:
            self._twin_pool.release()
        if self._owns_store:
            self._store.close()

    _let_go_on_pool = threaded(_let_go)
