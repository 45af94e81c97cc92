"""Waiting for the background work on a thread."""

from __future__ import annotations

from oracleagentmemory._threaded import threaded
from oracleagentmemory.core.background import WorkScope
from oracleagentmemory.core.backgroundwork import check_timeout
from oracleagentmemory.core.extractors.jobs import JobResult
from oracleagentmemory.core.threadparts.part import ThreadPart


class ThreadWaiting(ThreadPart):
    """Waiting for extraction."""

    def wait_for_memory_extraction(self, timeout: float | None = 300.0) -> None:
        """Wait for the background extraction accepted so far for this thread.

        Extraction that failed has ended; what came of it later calls do not say. Work accepted
        after the call began, by another client or by another process, is not waited for.

        Args:
            timeout: Seconds, above 0; ``None`` waits without limit.

        Raises:
            ValueError: If ``timeout`` is not above 0.
            TimeoutError: If the work has not ended by then.
            RuntimeError: If the client is closed, or a write transaction is open on this thread.
        """
        check_timeout(timeout)
        self._work.wait(timeout, WorkScope(thread_id=self._thread_id))

    async def wait_for_memory_extraction_async(self, timeout: float | None = 300.0) -> None:
        """Wait as :meth:`wait_for_memory_extraction` does; the wait takes no pool thread."""
        self._before_twin("wait_for_memory_extraction")
        check_timeout(timeout)
        await self._work.ended(timeout, WorkScope(thread_id=self._thread_id))

    def extraction_results(self) -> list[JobResult]:
        """Return what came of this thread's newest extractions that ran in this process.

        They are those of ``OracleAgentMemory.extraction_results`` that belong to this thread.
        """
        return [one for one in self._work.results() if one.thread_id == self._thread_id]

    extraction_results_async = threaded(extraction_results)
