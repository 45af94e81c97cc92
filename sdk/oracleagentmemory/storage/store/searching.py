"""`search`: argument checks, the rankings of the store's strategy, and the records found."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import sqlalchemy as sa

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.embedders.scoped import weighs_queries
from oracleagentmemory.apis.memorystore import MetadataFilter
from oracleagentmemory.apis.records import MessageRecord, Record, RecordStatus
from oracleagentmemory.apis.validation import check_id, check_text
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.attached import with_attached
from oracleagentmemory.storage.chunking import split_text
from oracleagentmemory.storage.filters import parse_filter
from oracleagentmemory.storage.fusion import (
    HybridSearchConfig,
    fuse_pieces,
    fuse_strategies,
    with_lent_scores,
)
from oracleagentmemory.storage.hops import Hops
from oracleagentmemory.storage.keyword_sql import Match
from oracleagentmemory.storage.kinds import MEMORY, MESSAGE, SEARCHED_TYPES, Kind, kind_of
from oracleagentmemory.storage.retrieval import Hit, SearchRequest
from oracleagentmemory.storage.rows import RECORD_COLUMNS, selected_record
from oracleagentmemory.storage.statements import padded_lists
from oracleagentmemory.storage.store.base import StoreParts
from oracleagentmemory.storage.store.retrieval_text import explicit_vectors
from oracleagentmemory.storage.turn_sql import messages_beside

if TYPE_CHECKING:
    from oracleagentmemory.core.dbsearch import SearchStrategy

MAX_HOPS = 5
_MESSAGE_CONTENT = RECORD_COLUMNS[MESSAGE.name].index("content")


@dataclass(frozen=True, slots=True)
class SearchStages:
    """A search with the rankings that led to it.

    Attributes:
        found: What `search` returns.
        rankings: By stage, in order, its records with their scores, best first.
    """

    found: list[tuple[Record, float]]
    rankings: dict[str, list[Match]]


class Searching(StoreParts):
    """Search by meaning, by words, or by both.

    Attributes:
        search_strategy: What searches of this handle compare.
        hybrid_search: How HYBRID search fuses; may be replaced at any time.
        hop_seconds: After so long following relations ends with a TimeoutError.
    """

    search_strategy: SearchStrategy
    hybrid_search: HybridSearchConfig = HybridSearchConfig()
    hop_seconds: float = 10.0

    def search(
        self,
        query: str | None,
        k: int,
        query_vector: builtins.list[float] | None = None,
        thread_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        exact_user_match: bool = False,
        exact_agent_match: bool = False,
        exact_thread_match: bool = False,
        record_types: set[str] | None = None,
        metadata_filter: MetadataFilter = None,
        num_hops: int = 0,
        max_linked_results: int = 100,
        include_invalid_results: bool = True,
    ) -> builtins.list[tuple[Record, float]]:
        """Return the records that fit a query best.

        A query longer than 4,000 characters is searched piece by piece and the rankings are
        fused; the distance is then 1 - the fused score.

        Args:
            query: Text; exactly one of it and `query_vector` is given.
            k: At most so many records, at least 1.
            query_vector: Shape (D,), of the store's dimension; not with KEYWORD. A HYBRID search
                by vector has no words to compare and ranks as VECTOR does.
            thread_id: A scope that counts only with its `exact_..._match`; None then means
                records without one. A profile's own dimension is its id, its others are None.
            record_types: Only these types; None searches all.
            metadata_filter: Only records that fulfil it, applied before `k`.
            num_hops: How far relations of found memories are followed, either way, 0 to 5. What
                they lead to has to fulfil the same scope, types, filter and status, and is in
                the record's `linked_results`, what is a hop farther in theirs.
            max_linked_results: Related memories for each result, over all hops.
            include_invalid_results: Whether records with the status `invalid` are wanted.

        Returns:
            Pairs of record and distance, nearest first; equal distances by type, then id. The
            distance is the cosine distance (0 same to 2 opposite) with VECTOR, 1 / (1 + BM25) or
            1 - SCORE / 100 with KEYWORD, and with HYBRID 1 - the fused score's share of the
            highest one there can be.

        Raises:
            InvalidInputError: If an argument is none of these, or there is no embedder for a text.
            DimensionMismatchError: If the vector has another dimension than the store.
            EmbedderMismatchError: If the store was filled by another embedder.
            WaitTimeoutError: If following relations takes too long.
        """
        _check_numbers(k, num_hops, max_linked_results)
        request = _request(
            k,
            user_id=_exact(user_id, exact_user_match, "user_id"),
            agent_id=_exact(agent_id, exact_agent_match, "agent_id"),
            thread_id=_exact(thread_id, exact_thread_match, "thread_id"),
            record_types=record_types,
            metadata_filter=metadata_filter,
            include_invalid=include_invalid_results,
        )
        mode = self.search_strategy.value
        requests = self._requests(request, query, query_vector, mode)
        if not requests or request.record_types == frozenset():
            return []
        with self.engine.read() as connection:
            hits = self._ranked(connection, requests, mode)
            found = self._hydrate(connection, hits, include_invalid_results)
            if not num_hops or not max_linked_results:
                return found
            hops = Hops(connection, self.tables, request, self.hop_seconds)
            return _with_linked(found, hops, num_hops, max_linked_results)

    def search_stages(
        self, query: str, k: int, strategy: SearchStrategy, **scope: Any
    ) -> SearchStages:
        """Search by a strategy and tell how each stage ranked; for inspection.

        Args:
            query: Text.
            k: At most so many records, at least 1.
            strategy: Need not be the handle's.
            scope: `user_id`, `agent_id` and `thread_id`, where they must match exactly;
                `record_types`, `metadata_filter` and `include_invalid`.

        Raises:
            InvalidInputError: If an argument is none of these, the query is blank, or there is
                no embedder for it.
        """
        _check_numbers(k, 0, 0)
        for name in ("user_id", "agent_id", "thread_id"):
            if isinstance(value := scope.get(name), str):
                check_id(value, name)
        request = _request(k, **scope)
        requests = self._requests(request, query, None, strategy.value)
        if not requests or request.record_types == frozenset():
            return SearchStages([], {})
        with self.engine.read() as connection:
            hits, rankings = self._stages(connection, requests, strategy.value)
            found = self._hydrate(connection, hits, request.include_invalid)
            return SearchStages(found, rankings)

    def _requests(
        self, request: SearchRequest, query: str | None, query_vector: Any, mode: str
    ) -> builtins.list[SearchRequest]:
        """Return one request a piece of the query; none while the store holds no vector."""
        if (query is None) == (query_vector is None):
            raise InvalidInputError("give exactly one of query and query_vector")
        if query_vector is not None:
            if mode == "keyword":
                raise InvalidInputError("KEYWORD search compares words: give query, no vector")
            vector = _query_vector(query_vector)
            self._check_explicit([vector])
            return [replace(request, vector=vector[0])]
        if not check_text(query, "query").strip():
            raise InvalidInputError("query must not be blank")
        pieces = split_text(query or "")
        requests = [replace(request, text=piece) for piece in pieces]
        if mode == "keyword":
            return requests
        if self.embedder is None:
            raise InvalidInputError(
                "this store has no embedder: give a query_vector, or open it with one"
            )
        if weighs_queries(self.embedder):
            # Weighted in the searched scope, which only the search itself knows.
            return requests
        if self.config.dimension is None and self.current_config().dimension is None:
            return requests if mode == "hybrid" else []
        vectors = self._embed(pieces, is_query=True)
        return [replace(one, vector=vector) for one, vector in zip(requests, vectors, strict=True)]

    def _ranked(
        self, connection: sa.Connection, requests: Sequence[SearchRequest], mode: str
    ) -> builtins.list[Hit]:
        rankings = [self._ranking(connection, one, mode) for one in requests]
        return rankings[0] if len(rankings) == 1 else fuse_pieces(rankings, requests[0].k)

    def _ranking(
        self, connection: sa.Connection, request: SearchRequest, mode: str
    ) -> builtins.list[Hit]:
        """Return what one piece of a query finds, best first."""
        if mode == "vector" or request.text is None:
            return self._vector_hits(connection, request)
        if mode == "keyword":
            found = self._keyword_matches(connection, request)
            return [Hit(self._keyword_distance(score), *key) for score, *key in found]
        wide, config = self._pooled(request), self.hybrid_search
        vector = self._vector_ranking(connection, wide, lend=config.neighbours)
        keyword = self._keyword_ranking(connection, wide, lend=config.neighbours)
        fused = fuse_strategies(vector, keyword, config)
        return [Hit(one.distance, *one.key) for one in fused[: request.k]]

    def _pooled(self, request: SearchRequest) -> SearchRequest:
        return replace(request, k=max(request.k, self.hybrid_search.pool))

    def _vector_ranking(
        self, connection: sa.Connection, request: SearchRequest, *, lend: bool
    ) -> builtins.list[Hit]:
        """Return the vector side of a hybrid search."""
        share = self.hybrid_search.vector_share if lend else 0.0
        return self._vector_hits(connection, replace(request, lent_share=share))

    def _keyword_ranking(
        self, connection: sa.Connection, request: SearchRequest, *, lend: bool
    ) -> builtins.list[Match]:
        """Return the keyword side of a hybrid search."""
        if not lend:
            return self._keyword_matches(connection, request)
        # Matches just below the pool may be lifted into it.
        matches = self._keyword_matches(connection, replace(request, k=2 * request.k))
        messages = [one.record_id for one in matches if one.record_type == "message"]
        types = request.record_types
        findable = messages and (types is None or "message" in types)
        beside = self._messages_beside(connection, request, messages) if findable else {}
        lent = with_lent_scores(matches, beside, self.hybrid_search.keyword_share)
        return lent[: request.k]

    def _messages_beside(
        self, connection: sa.Connection, request: SearchRequest, message_ids: builtins.list[str]
    ) -> dict[str, builtins.list[str]]:
        """Return, by message, those right before and after it that the request may find."""
        return messages_beside(connection, self.tables, request, message_ids)

    def _stages(
        self, connection: sa.Connection, requests: Sequence[SearchRequest], mode: str
    ) -> tuple[builtins.list[Hit], dict[str, builtins.list[Match]]]:
        """Return what `_ranked` does, and the rankings behind it."""
        request = requests[0]
        if len(requests) > 1:
            pieces = [self._ranking(connection, one, mode) for one in requests]
            fused = fuse_pieces(pieces, request.k)
            named = {f"piece {number}": one for number, one in enumerate(pieces, start=1)}
            stages = {name: _scored(one) for name, one in (named | {"fusion": fused}).items()}
            return fused, stages
        if mode == "hybrid":
            return self._hybrid_stages(connection, request)
        if mode == "vector":
            hits = self._vector_hits(connection, request)
            return hits, {"vector": _scored(hits)}
        found = self._keyword_matches(connection, request)
        hits = [Hit(self._keyword_distance(score), *key) for score, *key in found]
        return hits, {"keyword": found}

    def _hybrid_stages(
        self, connection: sa.Connection, request: SearchRequest
    ) -> tuple[builtins.list[Hit], dict[str, builtins.list[Match]]]:
        wide, config = self._pooled(request), self.hybrid_search
        stages: dict[str, builtins.list[Match]] = {}
        vector = self._vector_ranking(connection, wide, lend=False)
        stages["vector"] = _scored(vector)
        if config.neighbours:
            vector = self._vector_ranking(connection, wide, lend=True)
            stages["vector_neighbours"] = _scored(vector)
        stages["keyword"] = keyword = self._keyword_ranking(connection, wide, lend=False)
        if config.neighbours:
            keyword = self._keyword_ranking(connection, wide, lend=True)
            stages["keyword_neighbours"] = keyword
        fused = fuse_strategies(vector, keyword, config)
        stages["fusion"] = [Match(one.score, *one.key) for one in fused]
        return [Hit(one.distance, *one.key) for one in fused[: request.k]], stages

    def _hydrate(
        self, connection: sa.Connection, hits: Sequence[Hit], include_invalid: bool
    ) -> builtins.list[tuple[Record, float]]:
        """Return the records of hits, without those that are gone or expired by now."""
        ids: dict[str, builtins.list[str]] = {}
        for hit in hits:
            ids.setdefault(hit.record_type, []).append(hit.record_id)
        records: dict[tuple[str, str], Record] = {}
        for record_type, wanted in ids.items():
            kind = kind_of(record_type)
            for part in padded_lists(wanted):
                statement = self.statements.select_found(kind, len(part))
                bound = {f"id_{number}": record_id for number, record_id in enumerate(part)}
                rows = statement.rows(connection, bound)
                for record in self._selected(connection, kind, rows):
                    records[record.record_type, record.id] = record
        found = [(records.get((hit.record_type, hit.record_id)), hit.distance) for hit in hits]
        return [
            (record, distance)
            for record, distance in found
            if record is not None and (include_invalid or record.status is RecordStatus.VALID)
        ]

    def _selected(
        self, connection: sa.Connection, kind: Kind, rows: Sequence[Any]
    ) -> builtins.list[Record]:
        found = [selected_record(kind, row) for row in rows]
        if kind is not MESSAGE:
            return found
        contents = [row[_MESSAGE_CONTENT] for row in rows]
        messages = zip(cast("builtins.list[MessageRecord]", found), contents, strict=True)
        return builtins.list(with_attached(connection, self.tables, builtins.list(messages)))


def _with_linked(
    found: list[tuple[Record, float]], hops: Hops, num_hops: int, most: int
) -> list[tuple[Record, float]]:
    """Return results, the memories among them with what their relations lead to."""
    memories = [record for record, _ in found if record.record_type in MEMORY.types]
    linked = iter(hops.follow(memories, num_hops, most))
    return [
        (next(linked) if record.record_type in MEMORY.types else record, distance)
        for record, distance in found
    ]


def _scored(hits: Sequence[Hit]) -> list[Match]:
    """Return hits with similarity, 1 - distance, as their score."""
    return [Match(1.0 - distance, *key) for distance, *key in hits]


def _request(
    k: int,
    *,
    user_id: Maybe[str | None] = NOT_SET_MARKER,
    agent_id: Maybe[str | None] = NOT_SET_MARKER,
    thread_id: Maybe[str | None] = NOT_SET_MARKER,
    record_types: Any = None,
    metadata_filter: MetadataFilter = None,
    include_invalid: bool = True,
) -> SearchRequest:
    return SearchRequest(
        k=k,
        user_id=user_id,
        agent_id=agent_id,
        thread_id=thread_id,
        record_types=_record_types(record_types),
        filter=None if metadata_filter is None else parse_filter(metadata_filter),
        include_invalid=include_invalid,
    )


def _check_numbers(k: object, num_hops: object, max_linked_results: object) -> None:
    for value, name, least in (
        (k, "k", 1),
        (num_hops, "num_hops", 0),
        (max_linked_results, "max_linked_results", 0),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInputError(f"{name} must be a whole number >= {least}, not {value!r:.80}")
    if isinstance(num_hops, int) and num_hops > MAX_HOPS:
        raise InvalidInputError(f"num_hops must be at most {MAX_HOPS}, not {num_hops}")


def _exact(value: str | None, exact: bool, name: str) -> Any:
    if value is not None:
        check_id(value, name)
    return value if exact else NOT_SET_MARKER


def _record_types(record_types: Any) -> frozenset[str] | None:
    if record_types is None:
        return None
    types = {record_types} if isinstance(record_types, str) else set(record_types)
    for one in types - {*SEARCHED_TYPES}:
        known = ", ".join(SEARCHED_TYPES)
        raise InvalidInputError(f"record_types holds {one!r:.80}; searched are {known}")
    return frozenset(types)


def _query_vector(value: Any) -> Any:
    vector = explicit_vectors(value)
    if vector is None or len(vector) != 1 or (len(value) and hasattr(value[0], "__len__")):
        raise InvalidInputError("query_vector must be one vector of finite numbers")
    return vector
