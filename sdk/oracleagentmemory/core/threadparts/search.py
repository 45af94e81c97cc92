"""Search from a thread."""

from __future__ import annotations

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.records import MetadataValue
from oracleagentmemory.apis.searchresult import SearchResult
from oracleagentmemory.apis.searchscope import SearchScope
from oracleagentmemory.core.searching import (
    SearchArguments,
    merge_scope,
    search,
    thread_scope,
)
from oracleagentmemory.core.threadparts.part import ThreadPart


class ThreadSearch(ThreadPart):
    """Finding records by meaning."""

    def search(
        self,
        query: str,
        *,
        user_id: Maybe[str | None] = NOT_SET_MARKER,
        agent_id: Maybe[str | None] = NOT_SET_MARKER,
        thread_id: Maybe[str | None] = NOT_SET_MARKER,
        exact_user_match: Maybe[bool] = NOT_SET_MARKER,
        exact_agent_match: Maybe[bool] = NOT_SET_MARKER,
        exact_thread_match: Maybe[bool] = NOT_SET_MARKER,
        max_results: Maybe[int] = NOT_SET_MARKER,
        token_budget: Maybe[int] = NOT_SET_MARKER,
        soft_token_budget: Maybe[int] = NOT_SET_MARKER,
        record_types: Maybe[list[str]] = NOT_SET_MARKER,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        num_hops: Maybe[int] = NOT_SET_MARKER,
        max_linked_results: Maybe[int] = NOT_SET_MARKER,
        include_invalid_results: Maybe[bool] = NOT_SET_MARKER,
        scope: Maybe[SearchScope] = NOT_SET_MARKER,
    ) -> list[SearchResult]:
        """Find records of this thread's user and agent by meaning, most relevant first.

        The arguments and errors are those of ``IThread.search``.
        """
        asked = SearchArguments(
            query=query,
            max_results=max_results,
            token_budget=token_budget,
            soft_token_budget=soft_token_budget,
            record_types=record_types,
            metadata_filter=metadata_filter,
            num_hops=num_hops,
            max_linked_results=max_linked_results,
            include_invalid_results=include_invalid_results,
        )
        merged = merge_scope(
            scope,
            user_id=user_id,
            agent_id=agent_id,
            thread_id=thread_id,
            exact_user_match=exact_user_match,
            exact_agent_match=exact_agent_match,
            exact_thread_match=exact_thread_match,
        )
        chosen = thread_scope(
            merged, user_id=self._user_id, agent_id=self._agent_id, thread_id=self._thread_id
        )
        return search(self._store, self._settings.search_config, chosen, asked)
