"""The read side of a store for dashboards: pages, counts, users, days and statistics."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, tzinfo
from typing import TYPE_CHECKING, Unpack, cast

from oracleagentmemory.apis.validation import check_id
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection.actor_statements import (
    ActorDirection,
    ActorStatements,
)
from oracleagentmemory.inspection.actors import ActorCriteria, Actors
from oracleagentmemory.inspection.changes import Changes, outside_page
from oracleagentmemory.inspection.cursors import change_number, parse_cursor
from oracleagentmemory.inspection.digests import Digests
from oracleagentmemory.inspection.explain import ExplainScope, Explanation, explain
from oracleagentmemory.inspection.facets import FacetCounts
from oracleagentmemory.inspection.page_statements import Direction
from oracleagentmemory.inspection.pages import Pages
from oracleagentmemory.inspection.provenance import Provenance, Sources
from oracleagentmemory.inspection.relations import (
    RelationFilters,
    RelationPage,
    RelationRow,
    Relations,
    relation_binds,
)
from oracleagentmemory.inspection.results import (
    COUNT_LIMIT,
    Actor,
    ActorPage,
    ChangePage,
    Count,
    DayCount,
    Facets,
    OutsidePage,
    Page,
    Row,
    RowKind,
    Statistics,
    ThreadDigest,
)
from oracleagentmemory.inspection.selection import (
    Criteria,
    Filters,
    RecordFilters,
    criteria_of,
    id_set,
)
from oracleagentmemory.inspection.series import day_statement, local_days, midnights
from oracleagentmemory.inspection.sources import Source
from oracleagentmemory.inspection.statistics import TableCounts
from oracleagentmemory.inspection.summaries import StandingSummary, standing_summary
from oracleagentmemory.inspection.texts import Texts
from oracleagentmemory.storage.extras import scope_key

if TYPE_CHECKING:
    from oracleagentmemory.core.dbsearch import SearchStrategy
    from oracleagentmemory.core.searchconfig import MemorySearchConfig
    from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore

MAX_PAGE = 1_000
# Each has two ends, which are read as one list of ids.
_MAX_RELATIONS = 500
_MAX_SOURCES = 500
_EMPTY_DIGEST = ThreadDigest(message_count=0, memory_count=0, first_text="", last_effective_at=None)


class StoreInspector:
    """Reads a store for people: pages, counts, users, days, statistics. It changes nothing.

    Every method but :meth:`statistics` takes ``user_ids``, the users that the asking person may
    see: records of others, and of no user, do not exist for them. Expired records exist for
    nobody. Statements are built once; an inspector may be shared by threads.

    Args:
        store: An open store on either database.
    """

    def __init__(self, store: SQLMemoryStore) -> None:
        self._store = store
        tables = store.tables
        self._texts = Texts(store)
        sources = {
            kind: Source(kind, store, self._texts)
            for kind in ("memory", "message", "thread", "image")
        }
        self._sources = sources
        self._pages = {kind: Pages(source) for kind, source in sources.items()}
        self._facets = {kind: FacetCounts(sources[kind], self._pages[kind]) for kind in self._pages}
        self._changes = Changes(store.extras)
        self._relations = Relations(tables, self._pages["memory"])
        self._provenance = Provenance(store, self._pages["memory"], self._pages["message"])
        self._users = Actors(ActorStatements("user", tables, sources))
        self._agents = Actors(ActorStatements("agent", tables, sources))
        self._digests = Digests(sources)
        self._tables = TableCounts(tables, sources)

    def page(
        self,
        kind: RowKind,
        *,
        before: int | str | None = None,
        after: int | str | None = None,
        limit: int = 50,
        **filters: Unpack[Filters],
    ) -> Page:
        """Return a page of records, newest first; its cost does not grow with its depth.

        Args:
            before: ``Page.older`` of another page; records older than that are returned.
            after: ``Page.newer`` of another page; the nearest newer records are returned.
            limit: Rows a page, 1 to 1,000.
            filters: See :class:`Filters`.

        Raises:
            InvalidInputError: If a filter, the limit or a cursor is not valid, or both cursors
                are given.
        """
        pages, criteria = self._of_kind(kind), self._criteria(kind, filters)
        cursor = _one_cursor(before, after)
        _check_limit(limit)
        direction: Direction = "newest"
        if cursor is not None:
            parse_cursor(kind, cursor)
            direction = "newer" if before is None else "older"
        if criteria.nothing:
            return Page(rows=[], older=None, newer=None)
        with self._store.engine.read() as connection:
            criteria = self._texts.weighed(connection, criteria)
            return pages.page(connection, criteria, direction, cursor, limit)

    def count(self, kind: RowKind, **filters: Unpack[Filters]) -> Count:
        """Count records: exact to 10,000, then capped.

        Raises:
            InvalidInputError: If a filter is not valid.
        """
        pages, criteria = self._of_kind(kind), self._criteria(kind, filters)
        if criteria.nothing:
            return Count(value=0, capped=False)
        with self._store.engine.read() as connection:
            return pages.count(connection, criteria)

    def facets(
        self,
        kind: RowKind,
        *,
        top: int = 10,
        alternatives: bool = False,
        **filters: Unpack[Filters],
    ) -> Facets:
        """Count the values that the first 10,000 matching records have.

        These are the newest ones; with a text that more records hold, those that its index
        gives first.

        Args:
            top: Values a facet, 1 to 1,000.
            alternatives: Whether types and statuses are counted as if the filter of their own
                facet were not set, so that a page can offer the others. The first 10,000 are
                then those of the other filters.
            filters: See :class:`Filters`.

        Raises:
            InvalidInputError: If a filter or ``top`` is not valid.
        """
        self._of_kind(kind)
        criteria = self._criteria(kind, filters)
        _check_limit(top, "top")
        if criteria.nothing:
            return self._facets[kind].none
        with self._store.engine.read() as connection:
            return self._facets[kind].read(connection, criteria, top, alternatives=alternatives)

    def relations(
        self,
        *,
        before: str | None = None,
        after: str | None = None,
        limit: int = 50,
        **filters: Unpack[RelationFilters],
    ) -> RelationPage:
        """Return a page of relations, newest first, with the memories at their ends.

        Args:
            before: ``RelationPage.older`` of another page.
            after: ``RelationPage.newer`` of another page.
            limit: Relations a page, 1 to 500.
            filters: See :class:`RelationFilters`.

        Raises:
            InvalidInputError: If a filter, the limit or a cursor is not valid, or both cursors
                are given.
        """
        binds, cursor = relation_binds(filters), _one_cursor(before, after)
        _check_limit(limit, most=_MAX_RELATIONS)
        direction: Direction = "newest"
        if cursor is not None:
            parse_cursor("relation", cursor)
            direction = "newer" if before is None else "older"
        if binds is None:
            return RelationPage(rows=[], older=None, newer=None)
        with self._store.engine.read() as connection:
            return self._relations.page(connection, binds, direction, cursor, limit)

    def relation(
        self, relation_id: str, *, user_ids: Collection[str] | None = None
    ) -> RelationRow | None:
        """Return a relation by its id, or ``None`` when none is visible."""
        rows = self.relations(ids=[relation_id], user_ids=user_ids, limit=1).rows
        return rows[0] if rows else None

    def relation_count(self, **filters: Unpack[RelationFilters]) -> Count:
        """Count relations: exact to 10,000, then capped.

        Raises:
            InvalidInputError: If a filter is not valid.
        """
        binds = relation_binds(filters)
        if binds is None:
            return Count(value=0, capped=False)
        with self._store.engine.read() as connection:
            return self._relations.count(connection, binds)

    def sources(
        self,
        memory_ids: Sequence[str],
        *,
        user_ids: Collection[str] | None = None,
        limit: int = 50,
    ) -> dict[str, Sources]:
        """Return where memories came from: their sources with the messages, by memory id.

        The statements do not grow with the number of sources, up to 500 messages.

        Args:
            memory_ids: The memories; an unknown one has no sources.
            user_ids: The users that the asking person may see; messages of others are ``None``.
            limit: Sources of each memory, 1 to 500; ``Sources.count`` says how many there are.

        Raises:
            InvalidInputError: If an id or the limit is not valid.
        """
        wanted, scope = _id_list(memory_ids, "memory_ids"), id_set(user_ids, "user_ids")
        _check_limit(limit, most=_MAX_SOURCES)
        return self._provenance.sources(wanted, scope, limit)

    def derived(
        self, message_ids: Sequence[str], *, user_ids: Collection[str] | None = None
    ) -> dict[str, list[Row]]:
        """Return the memories that came from messages, by message id, oldest first.

        Args:
            message_ids: The messages, such as those of one page; an unknown one taught nothing.
            user_ids: The users that the asking person may see; memories of others are left out.

        Raises:
            InvalidInputError: If an id is not valid.
        """
        wanted, scope = _id_list(message_ids, "message_ids"), id_set(user_ids, "user_ids")
        return self._provenance.derived(wanted, scope)

    def changes(
        self,
        *,
        user_ids: Collection[str] | None = None,
        before: int | str | None = None,
        after: int | str | None = None,
        limit: int = 50,
    ) -> ChangePage:
        """Return a page of what was written through our SDK, newest first.

        Args:
            user_ids: The users that the asking person may see; ``None`` is all.
            before: ``ChangePage.older`` of another page.
            after: ``ChangePage.newer`` of another page.
            limit: Changes a page, 1 to 1,000.

        Raises:
            InvalidInputError: If an id, the limit or a cursor is not valid, or both cursors are
                given.
        """
        scope, cursor = id_set(user_ids, "user_ids"), _one_cursor(before, after)
        _check_limit(limit)
        direction: Direction = "newest"
        at = None if cursor is None else change_number(cursor)
        if cursor is not None:
            direction = "newer" if before is None else "older"
        if not self._store.has_extras or scope == frozenset():
            recorded = self._store.has_extras
            return ChangePage(changes=[], older=None, newer=None, is_recorded=recorded)
        scopes = None if scope is None else sorted(scope_key(one) for one in scope)
        with self._store.engine.read() as connection:
            return self._changes.page(connection, scopes, direction, at, limit)

    def changed_outside(
        self,
        kind: RowKind,
        *,
        before: int | str | None = None,
        limit: int = 50,
        scan: int = 1_000,
        **filters: Unpack[Filters],
    ) -> OutsidePage:
        """Return records that something other than our SDK wrote last, newest first.

        A record is compared with the fingerprint that our SDK noted when it last wrote it; one
        that it never wrote has none. Records deleted by others leave no trace, and neither do
        bytes of an image that were replaced by as many others: ``check`` of a store finds those.

        Args:
            before: ``OutsidePage.older`` of another page.
            limit: Rows a page, 1 to 1,000.
            scan: How many records are compared at most, 1 to 10,000; a page may be empty and
                yet have an ``older``.
            filters: See :class:`Filters`.

        Raises:
            InvalidInputError: If a filter, a number or the cursor is not valid.
        """
        pages, criteria = self._of_kind(kind), self._criteria(kind, filters)
        cursor = _one_cursor(before, None)
        _check_limit(limit)
        _check_limit(scan, "scan", COUNT_LIMIT)
        if cursor is not None:
            parse_cursor(kind, cursor)
        if not self._store.has_extras or criteria.nothing:
            recorded = self._store.has_extras
            return OutsidePage(rows=[], scanned=0, older=None, is_recorded=recorded)
        with self._store.engine.read() as connection:
            criteria = self._texts.weighed(connection, criteria)
            return outside_page(connection, pages, criteria, cursor, limit=limit, scan=scan)

    def record(
        self, kind: RowKind, record_id: str, *, user_ids: Collection[str] | None = None
    ) -> Row | None:
        """Return a record by its id, or ``None`` when none is visible."""
        rows = self.page(kind, ids=[record_id], user_ids=user_ids, limit=1).rows
        return rows[0] if rows else None

    def users(
        self,
        *,
        user_ids: Collection[str] | None = None,
        ids: Collection[str] | None = None,
        before: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> ActorPage:
        """Return a page of users: every id that a profile or a visible record carries.

        Args:
            user_ids: The users that the asking person may see; ``None`` is all.
            ids: Only these users.
            before: ``ActorPage.previous`` of another page.
            after: ``ActorPage.next`` of another page.
            limit: Users a page, 1 to 1,000.

        Raises:
            InvalidInputError: If an id, the limit or a cursor is not valid, or both cursors are
                given.
        """
        return self._actor_page(self._users, user_ids, ids, before, after, limit)

    def agents(
        self,
        *,
        user_ids: Collection[str] | None = None,
        ids: Collection[str] | None = None,
        before: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> ActorPage:
        """Return a page of agents, as :meth:`users` does.

        With ``user_ids`` only records of those users count, and an agent without any of them is
        not listed, even when it has a profile.
        """
        return self._actor_page(self._agents, user_ids, ids, before, after, limit)

    def user(self, user_id: str, *, user_ids: Collection[str] | None = None) -> Actor | None:
        """Return a user, or ``None`` when neither a profile nor a visible record has the id."""
        return next(iter(self.users(ids=[user_id], user_ids=user_ids, limit=1).actors), None)

    def agent(self, agent_id: str, *, user_ids: Collection[str] | None = None) -> Actor | None:
        """Return an agent, or ``None`` when neither a profile nor a visible record has the id."""
        return next(iter(self.agents(ids=[agent_id], user_ids=user_ids, limit=1).actors), None)

    def thread_digests(
        self, thread_ids: Collection[str], *, user_ids: Collection[str] | None = None
    ) -> dict[str, ThreadDigest]:
        """Return what a list shows of each thread; three statements for any number of them.

        Args:
            thread_ids: The threads; the digest of an unknown one is empty.
            user_ids: The users that the asking person may see; only their records count.
        """
        wanted, scope = sorted(id_set(thread_ids, "thread_ids") or ()), id_set(user_ids, "user_ids")
        if not wanted or scope == frozenset():
            return dict.fromkeys(wanted, _EMPTY_DIGEST)
        with self._store.engine.read() as connection:
            return self._digests.read(connection, wanted, scope)

    def thread_summary(self, thread_id: str) -> StandingSummary:
        """Return the saved summary of a thread, else the transcript of its first messages.

        No model is asked, and nothing is saved.
        """
        return standing_summary(self._store, check_id(thread_id, "thread_id"))

    def explain(
        self,
        query: str,
        *,
        strategy: SearchStrategy | None = None,
        max_results: int = 10,
        search_config: MemorySearchConfig | None = None,
        **scope: Unpack[ExplainScope],
    ) -> Explanation:
        """Search and tell each stage's rank and score of what was found.

        Args:
            query: Text.
            strategy: What to compare; the store's own strategy when omitted.
            max_results: At most so many records, at least 1.
            search_config: Reranks, prunes and cuts what was found, as searches with it do; its
                models are asked.
            scope: See :class:`ExplainScope`.

        Raises:
            InvalidInputError: If an argument is not valid, or a strategy that compares vectors
                is asked of a store without an embedder.
            ModelAnswerError: If the reranker or the pruner answers with nonsense.
        """
        return explain(self._store, query, strategy, max_results, search_config, scope)

    def by_day(
        self,
        kind: RowKind,
        *,
        since: date,
        until: date,
        tz: tzinfo,
        **filters: Unpack[RecordFilters],
    ) -> list[DayCount]:
        """Count records by local day of their effective time, days without any included.

        Args:
            since: The first day; an aware datetime stands for its day in ``tz``.
            until: The last day, included; at most 1,000 days.
            tz: The zone whose days are meant.
            filters: See :class:`RecordFilters`.

        Raises:
            InvalidInputError: If a filter or the span of days is not valid.
        """
        self._of_kind(kind)
        criteria = self._criteria(kind, cast("Filters", filters))
        days = local_days(since, until, tz)
        starts = midnights(days, tz)
        counts: dict[int, int] = {}
        if not criteria.nothing:
            statement = day_statement(self._sources[kind], criteria, starts)
            with self._store.engine.read() as connection:
                counts = {row[0]: row[1] for row in connection.execute(statement, criteria.binds())}
        return [DayCount(day=day, count=counts.get(n, 0)) for n, day in enumerate(days)]

    def statistics(self) -> Statistics:
        """Return the whole store in numbers, whatever a person may see."""
        config, file_bytes = self._store.current_config(), self._store.file_bytes()
        with self._store.engine.read() as connection:
            chunks, orphans, vectors = self._tables.chunks(connection)
            types, statuses = self._tables.memories(connection)
            extras = self._store.extras if self._store.has_extras else None
            sources, orphan_sources = self._tables.sources(connection, extras)
            return Statistics(
                rows=self._tables.rows(connection),
                expired=self._tables.expired(connection),
                memory_types=types,
                statuses=statuses,
                chunks=chunks,
                orphan_chunks=orphans,
                vectors=vectors,
                sources=sources,
                orphan_sources=orphan_sources,
                dimension=config.dimension,
                embedder_id=config.embedder_id,
                file_bytes=file_bytes,
            )

    def _criteria(self, kind: RowKind, filters: Filters) -> Criteria:
        return self._texts.worded(criteria_of(kind, filters))

    def _of_kind(self, kind: RowKind) -> Pages:
        if kind not in self._pages:
            raise InvalidInputError(
                f"unknown kind {kind!r:.80}; known are {', '.join(sorted(self._pages))}"
            )
        return self._pages[kind]

    def _actor_page(
        self,
        actors: Actors,
        user_ids: Collection[str] | None,
        ids: Collection[str] | None,
        before: str | None,
        after: str | None,
        limit: int,
    ) -> ActorPage:
        criteria = ActorCriteria(user_ids=id_set(user_ids, "user_ids"), ids=id_set(ids, "ids"))
        cursor = _one_cursor(before, after)
        _check_limit(limit)
        direction: ActorDirection = "first"
        if cursor is not None:
            check_id(cursor, "the cursor")
            direction = "previous" if after is None else "next"
        if criteria.nothing:
            return ActorPage(actors=[], previous=None, next=None)
        with self._store.engine.read() as connection:
            return actors.page(connection, criteria, direction, cursor, limit)


def _id_list(ids: Sequence[str], what: str) -> list[str]:
    """Check ids and return each once, in their order."""
    known = id_set(ids, what) or ()
    return [one for one in dict.fromkeys(ids) if one in known]


def _one_cursor(before: int | str | None, after: int | str | None) -> str | None:
    if before is not None and after is not None:
        raise InvalidInputError("give before or after, not both")
    cursor = after if before is None else before
    return None if cursor is None else str(cursor)


def _check_limit(limit: int, what: str = "limit", most: int = MAX_PAGE) -> None:
    if not isinstance(limit, int) or not 1 <= limit <= most:
        raise InvalidInputError(f"{what} must be a whole number from 1 to {most:,}")
