"""`search`: argument checks, the query's vector, hits, and the records of the hits."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from oracleagentmemory._notset import NOT_SET_MARKER
from oracleagentmemory.apis.embedders.scoped import ScopedQueryEmbedder
from oracleagentmemory.apis.memorystore import MetadataFilter
from oracleagentmemory.apis.records import Record, RecordStatus
from oracleagentmemory.apis.validation import check_id, check_text
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.chunking import split_text
from oracleagentmemory.storage.filters import parse_filter
from oracleagentmemory.storage.kinds import SEARCHED_TYPES, kind_of
from oracleagentmemory.storage.retrieval import Hit, SearchRequest
from oracleagentmemory.storage.rows import to_record
from oracleagentmemory.storage.statements import in_lists
from oracleagentmemory.storage.store.base import StoreParts
from oracleagentmemory.storage.store.retrieval_text import explicit_vectors

MAX_HOPS = 5
_RANK_CONSTANT = 20


class Searching(StoreParts):
    """Search by meaning."""

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
        """Return the records nearest to a query.

        A query longer than 4,000 characters is searched piece by piece and the rankings are
        fused; the distance is then 1 - the fused score.

        Args:
            query: Text; exactly one of it and `query_vector` is given.
            k: At most so many records, at least 1.
            query_vector: Shape (D,), of the store's dimension.
            thread_id: A scope that counts only with its `exact_..._match`; None then means
                records without one. A profile's own dimension is its id, its others are None.
            record_types: Only these types; None searches all.
            metadata_filter: Only records that fulfil it, applied before `k`.
            num_hops: How far relations are followed, 0 to 5.
            max_linked_results: Related records for each result.
            include_invalid_results: Whether records with the status `invalid` are wanted.

        Returns:
            Pairs of record and cosine distance (0 same to 2 opposite), nearest first; equal
            distances by type, then id.

        Raises:
            InvalidInputError: If an argument is none of these, or there is no embedder for a text.
            DimensionMismatchError: If the vector has another dimension than the store.
            EmbedderMismatchError: If the store was filled by another embedder.
        """
        types = _record_types(record_types)
        _check_numbers(k, num_hops, max_linked_results)
        request = SearchRequest(
            k=k,
            user_id=_exact(user_id, exact_user_match, "user_id"),
            agent_id=_exact(agent_id, exact_agent_match, "agent_id"),
            thread_id=_exact(thread_id, exact_thread_match, "thread_id"),
            record_types=types,
            filter=None if metadata_filter is None else parse_filter(metadata_filter),
            include_invalid=include_invalid_results,
        )
        requests = self._requests(request, query, query_vector)
        if not requests or types == frozenset():
            return []
        with self.engine.read() as connection:
            rankings = [self._vector_hits(connection, one) for one in requests]
            hits = rankings[0] if len(rankings) == 1 else fuse(rankings, k)
            return self._hydrate(connection, hits, include_invalid_results)

    def _requests(
        self, request: SearchRequest, query: str | None, query_vector: Any
    ) -> builtins.list[SearchRequest]:
        """Return one request a piece of the query; none while the store holds no vector."""
        if (query is None) == (query_vector is None):
            raise InvalidInputError("give exactly one of query and query_vector")
        if query_vector is not None:
            vector = _query_vector(query_vector)
            dimension = self.current_config().dimension
            self._check_explicit([vector])
            return [] if dimension is None else [replace(request, vector=vector[0])]
        if not check_text(query, "query").strip():
            raise InvalidInputError("query must not be blank")
        if self.embedder is None:
            raise InvalidInputError(
                "this store has no embedder: give a query_vector, or open it with one"
            )
        config = self.current_config()
        if config.dimension is None:
            return []
        pieces = split_text(query or "")
        if isinstance(self.embedder, ScopedQueryEmbedder):
            # Weighted in the searched scope, which only the search itself knows.
            config.check_vectors(self.embedder.embedding_dimension, self.embedder_id)
            return [replace(request, text=piece) for piece in pieces]
        vectors = self._embed(pieces, is_query=True)
        return [replace(request, vector=vector) for vector in vectors]

    def _hydrate(
        self, connection: sa.Connection, hits: Sequence[Hit], include_invalid: bool
    ) -> builtins.list[tuple[Record, float]]:
        """Return the records of hits, without those that are gone or expired by now."""
        ids: dict[Any, list[str]] = {}
        for hit in hits:
            ids.setdefault(kind_of(hit.record_type), []).append(hit.record_id)
        records: dict[tuple[str, str], Record] = {}
        for kind, wanted in ids.items():
            statement = self.statements.select_many(kind)
            for part in in_lists(wanted):
                for row in connection.execute(statement, {"ids": part}):
                    record = to_record(kind, row)
                    records[record.record_type, record.id] = record
        found = [(records.get((hit.record_type, hit.record_id)), hit.distance) for hit in hits]
        return [
            (record, distance)
            for record, distance in found
            if record is not None and (include_invalid or record.status is RecordStatus.VALID)
        ]


def fuse(rankings: Sequence[Sequence[Hit]], k: int) -> builtins.list[Hit]:
    """Fuse rankings by reciprocal rank; the scores of the best `k` are made to sum to 1."""
    scores: dict[tuple[str, str], float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            key = (hit.record_type, hit.record_id)
            scores[key] = scores.get(key, 0.0) + 1.0 / (_RANK_CONSTANT + rank)
    best = sorted(scores.items(), key=lambda one: -one[1])[:k]
    total = sum(score for _, score in best)
    return [Hit(1.0 - score / total, *key) for key, score in best]


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
    for one in types - {*SEARCHED_TYPES, "image"}:
        known = ", ".join(SEARCHED_TYPES)
        raise InvalidInputError(f"record_types holds {one!r:.80}; searched are {known}")
    return frozenset(types - {"image"})


def _query_vector(value: Any) -> Any:
    vector = explicit_vectors(value)
    if vector is None or len(vector) != 1 or (len(value) and hasattr(value[0], "__len__")):
        raise InvalidInputError("query_vector must be one vector of finite numbers")
    return vector
