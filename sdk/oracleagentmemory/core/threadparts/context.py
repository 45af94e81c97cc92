"""Summary and context card of a thread, and waiting for extraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.records import MetadataValue, ThreadRecordType
from oracleagentmemory.core.background import check_timeout
from oracleagentmemory.core.contextcard import OracleContextCard
from oracleagentmemory.core.memoryinput import refuse_unexpected
from oracleagentmemory.core.summary import OracleSummary
from oracleagentmemory.core.threadparts.part import ThreadPart
from oracleagentmemory.errors import NotYetError


class ThreadContext(ThreadPart):
    """What a prompt should know about the thread; documented, not supported by this version."""

    def get_summary(
        self,
        /,
        except_last: Maybe[int] = NOT_SET_MARKER,
        token_budget: Maybe[int] = NOT_SET_MARKER,
        **kwargs: Any,
    ) -> OracleSummary:
        """Not supported by this version: raises ``NotImplementedError``."""
        refuse_unexpected("get_summary", kwargs)
        raise NotYetError("thread summaries are not supported by this version")

    def get_context_card(
        self,
        /,
        fallback_message_count: Maybe[int] = NOT_SET_MARKER,
        max_relevant_results: Maybe[int] = NOT_SET_MARKER,
        max_recent_messages: Maybe[int] = NOT_SET_MARKER,
        except_last_messages: Maybe[int] = NOT_SET_MARKER,
        min_relevant_results_by_type: Maybe[Mapping[ThreadRecordType, int] | None] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        include_invalid_results: Maybe[bool] = NOT_SET_MARKER,
        token_budget: Maybe[int | None] = NOT_SET_MARKER,
        soft_token_budget: Maybe[int | None] = NOT_SET_MARKER,
        **kwargs: Any,
    ) -> OracleContextCard:
        """Not supported by this version: raises ``NotImplementedError``."""
        refuse_unexpected("get_context_card", kwargs)
        raise NotYetError("context cards are not supported by this version")

    def wait_for_memory_extraction(self, timeout: float | None = 300.0) -> None:
        """Wait for the background extraction accepted so far for this thread.

        Args:
            timeout: Seconds, above 0; ``None`` waits without limit.

        Raises:
            ValueError: If ``timeout`` is not above 0.
            TimeoutError: If the work has not ended by then.
            RuntimeError: If the client is closed.
        """
        check_timeout(timeout)
        self._work.wait(timeout)
