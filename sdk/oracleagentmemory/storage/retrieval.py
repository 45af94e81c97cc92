"""Vector search over a SQLite store: which records of a scope are nearest to a query.

Exact by design: every chunk of the scope is compared. A search is a mask over cached columns, one
matrix-vector product, the best rows and their records; metadata is read in the order of rank, only
as far as it takes to fill the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker
from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.apis.embedders.scoped import ScopedQueryEmbedder, weighs_queries
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.constructs import read_clock
from oracleagentmemory.storage.embedding import embedded
from oracleagentmemory.storage.filters import Filter, matches
from oracleagentmemory.storage.kinds import Kind, kind_of
from oracleagentmemory.storage.vector_block import Block
from oracleagentmemory.storage.vector_cache import VectorCache
from oracleagentmemory.storage.vector_reads import ScopeVersion, VectorReads, microseconds

__all__ = ["Hit", "SearchRequest", "VectorSearch"]

#: In a scope of fewer chunks, how often a word stands in them says nothing about the word.
WEIGHTED_FROM_CHUNKS = 20
#: Two float32 products of equal vectors may differ by this much: such rows are compared again.
_PRODUCT_ERROR = 4e-6
#: Rows compared again at a time; thousands may hold the same text.
_AGAIN_ROWS = 4_096
#: Metadata read by id before one statement over the whole scope is cheaper.
_READ_BY_ID = 2_000

_Key = tuple[str, str]
_Keep = Callable[[Collection[_Key]], set[_Key]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SearchRequest:
    """What one search asks for; the store has checked it.

    Attributes:
        k: The most records wanted, at least 1.
        text: The query, for an embedder that weighs its words in the scope.
        vector: The query's vector, of the store's dimension; wins over `text`.
        user_id: The exact user, None for records of no user; the marker leaves users free.
        agent_id: The same for agents.
        thread_id: The same for threads. In each, a profile's own dimension is its actor id and
            its others are None.
        record_types: None asks for all types.
        filter: What the records' metadata must fulfil.
        include_invalid: Whether invalid records are wanted too.
        lent_share: The share of its similarity that a message lends to those beside it in its
            thread; the distances found are then those after lending.
    """

    k: int
    text: str | None = None
    vector: NDArray[np.float32] | None = None
    user_id: Maybe[str | None] = NOT_SET_MARKER
    agent_id: Maybe[str | None] = NOT_SET_MARKER
    thread_id: Maybe[str | None] = NOT_SET_MARKER
    record_types: frozenset[str] | None = None
    filter: Filter | None = None
    include_invalid: bool = True
    lent_share: float = 0.0

    def mask(self, block: Block) -> NDArray[np.bool_] | None:
        """Return which rows of a block the request may find, None when all."""
        scope = {"agent_id": self.agent_id, "thread_id": self.thread_id}
        return block.mask(
            now=microseconds(read_clock()),
            scope={k: v for k, v in scope.items() if not isinstance(v, _NotSetMarker)},
            record_types=self.record_types,
            include_invalid=self.include_invalid,
        )


class Hit(NamedTuple):
    """A record that was found; hits sort as results do: by distance, then type, then id.

    Attributes:
        distance: Cosine distance of the query and the record's nearest chunk, 0 (same) to 2.
    """

    distance: float
    record_type: str
    record_id: str


class VectorSearch:
    """Vector search of one SQLite store. Thread-safe."""

    def __init__(self, reads: VectorReads, cache: VectorCache) -> None:
        self._reads = reads
        self.cache = cache

    def hits(
        self,
        connection: sa.Connection,
        request: SearchRequest,
        *,
        dimension: int,
        embedder: IEmbedder | None = None,
        version: ScopeVersion | None = None,
    ) -> list[Hit]:
        """Return the nearest records, nearest first.

        A query text is embedded with its words weighted by their rarity in the user's scope when
        the embedder can do that, the search is bound to one user and the scope has at least
        twenty chunks; the distance is then that to the weighted query.

        Args:
            dimension: Numbers per vector of the store.
            embedder: For a request without a vector.
            version: The user's scope's, when it has just been read.
        """
        block, user_id = None, request.user_id
        if isinstance(user_id, _NotSetMarker):
            query = _query(request, embedder, None)
        else:
            block = self.cache.block(connection, user_id, dimension=dimension, version=version)
            if block is None:
                query = _query(
                    request, embedder, lambda: self._reads.frequencies(connection, user_id)
                )
            else:
                query = _query(request, embedder, block.token_counts)
        best: dict[_Key, float] = {}
        for one in self._stream(connection, request) if block is None else (block,):
            test = self._metadata_test(connection, request, whole_scope=block is not None)
            found = _best_of_block(one, request, query, test)
            best = _nearest(best, found, request.k)
        return [Hit(distance, *key) for key, distance in best.items()]

    def beside(
        self,
        connection: sa.Connection,
        request: SearchRequest,
        message_ids: Collection[str],
        *,
        dimension: int,
    ) -> dict[str, list[str]] | None:
        """Return, by message, those right before and after it that the request may find.

        Returns:
            None when the request's scope is not kept in memory.
        """
        user_id = request.user_id
        if isinstance(user_id, _NotSetMarker):
            return None
        block = self.cache.block(connection, user_id, dimension=dimension)
        if block is None:
            return None
        mask = request.mask(block)
        beside: dict[str, list[str]] = {}
        for message_id in message_ids:
            row = block.message_row(message_id)
            rows = () if row is None else block.turns.neighbours(row)
            beside[message_id] = [
                block.columns.record_ids[one] for one in rows if mask is None or mask[one]
            ]
        if request.filter is not None:
            keep = self._metadata_test(connection, request, whole_scope=True)
            kept = keep({("message", one) for ids in beside.values() for one in ids})
            beside = {
                message_id: [one for one in ids if ("message", one) in kept]
                for message_id, ids in beside.items()
            }
        return beside

    def _stream(self, connection: sa.Connection, request: SearchRequest) -> Iterator[Block]:
        for chunks in self._reads.stream(connection, request.user_id, request.thread_id):
            yield Block.build(chunks)

    def _metadata_test(
        self, connection: sa.Connection, request: SearchRequest, *, whole_scope: bool
    ) -> _Keep:
        if request.filter is None:
            return set
        user_id = request.user_id
        scope = (user_id,) if whole_scope and not isinstance(user_id, _NotSetMarker) else ()
        return _MetadataTest(self._reads, connection, request.filter, scope).keep


class _MetadataTest:
    """Tells which records fulfil a filter, reading each record's metadata at most once."""

    def __init__(
        self,
        reads: VectorReads,
        connection: sa.Connection,
        filter_: Filter,
        scope: tuple[str | None, ...],
    ) -> None:
        self._reads = reads
        self._connection = connection
        self._filter = filter_
        self._scope = scope
        self._verdicts: dict[_Key, bool] = {}
        self._matching: dict[Kind, set[str]] = {}

    def keep(self, keys: Collection[_Key]) -> set[_Key]:
        """Return those of the records that fulfil the filter."""
        if self._scope and len(self._verdicts) > _READ_BY_ID and not self._matching:
            self._matching = self._reads.matching_ids(
                self._connection, self._scope[0], self._filter
            )
        unread: dict[Kind, list[_Key]] = {}
        for key in keys:
            if key not in self._verdicts:
                unread.setdefault(kind_of(key[0]), []).append(key)
        for kind, new in unread.items():
            self._verdicts |= self._judge(kind, new)
        return {key for key in keys if self._verdicts[key]}

    def _judge(self, kind: Kind, keys: list[_Key]) -> dict[_Key, bool]:
        if kind in self._matching:
            return {key: key[1] in self._matching[kind] for key in keys}
        metadata = self._reads.metadata(self._connection, kind, [key[1] for key in keys])
        # A record deleted since its chunk was read has no metadata to match.
        return {key: key[1] in metadata and matches(self._filter, metadata[key[1]]) for key in keys}


def _query(
    request: SearchRequest,
    embedder: IEmbedder | None,
    count: Callable[[], tuple[NDArray[np.int64], int]] | None,
) -> NDArray[np.float32]:
    """Return the unit vector to search with; `count` gives the scope's token frequencies."""
    if request.vector is not None:
        return _unit(request.vector)
    if embedder is None or request.text is None:
        raise InvalidInputError("a vector search needs a query vector, or a text and an embedder")
    if count is not None and weighs_queries(embedder):
        frequencies, chunk_count = count()
        if chunk_count >= WEIGHTED_FROM_CHUNKS:
            scoped = cast("ScopedQueryEmbedder", embedder)
            return scoped.embed_in_scope(request.text, frequencies, chunk_count)
    return _unit(embedded(embedder, [request.text], is_query=True)[0])


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    exact = vector.astype(np.float64)
    return (exact / (float(np.linalg.norm(exact)) or 1.0)).astype(np.float32)


def _best_of_block(
    block: Block, request: SearchRequest, query: NDArray[np.float32], keep: _Keep
) -> dict[_Key, float]:
    """Return at least the `k` nearest records of a block that pass the filter, with distances."""
    if not block.count:
        return {}
    scores = _similarities(block.vectors, query)
    mask = request.mask(block)
    if mask is not None:
        scores[~mask] = -np.inf
    own = scores
    if request.lent_share:
        scores = block.turns.lend(own, request.lent_share)
    wanted = request.k + request.k // 2 + 4
    while True:
        rows, sure_score = _best_rows(scores, wanted)
        records = block.records(rows)
        kept = keep(set(records))
        # Rows below the sure score are there for ties: others as good may be missing.
        sure = {
            record
            for record, score in zip(records, scores[rows].tolist(), strict=True)
            if score >= sure_score
        }
        if len(sure & kept) >= request.k or sure_score == -np.inf:
            break
        wanted *= 2
    distances = _distances(block, rows, query)
    if request.lent_share:
        distances -= scores[rows] - own[rows]
    best: dict[_Key, float] = {}
    for record, distance in zip(records, distances.tolist(), strict=True):
        if record in kept and distance < best.get(record, np.inf):
            best[record] = distance
    return best


def _similarities(vectors: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the similarity of each row, shape `(N,)`, worked out by the calling thread alone.

    `vectors @ query` would share the work among the threads of BLAS. Those of searches beside
    each other wait for one another and spin meanwhile: on a busy machine a product then takes
    hundreds of times as long. To forbid BLAS its threads would alter a setting that belongs to
    the whole process, which is the host application's.
    """
    similarities: NDArray[np.float32] = np.vecdot(vectors, query)
    return similarities


def _best_rows(scores: NDArray[np.float32], wanted: int) -> tuple[NDArray[np.intp], float]:
    """Return the rows of the `wanted` best scores and of those that may equal the worst of them.

    Returns:
        Rows in no order; and the score from which on none is missing, -inf when all are there.
    """
    sure_score = -np.inf
    if wanted < scores.size:
        sure_score = float(np.partition(scores, scores.size - wanted)[scores.size - wanted])
    if sure_score == -np.inf:
        return np.flatnonzero(scores > -np.inf), sure_score
    return np.flatnonzero(scores >= sure_score - _PRODUCT_ERROR), sure_score


def _distances(
    block: Block, rows: NDArray[np.intp], query: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return the rows' distances, equal for equal vectors wherever they stand in the matrix."""
    exact = query.astype(np.float64)
    similarities = np.empty(rows.size, np.float64)
    for start in range(0, rows.size, _AGAIN_ROWS):
        part = slice(start, start + _AGAIN_ROWS)
        similarities[part] = (block.vectors[rows[part]] * exact).sum(axis=1)
    distances: NDArray[np.float64] = np.minimum(np.maximum(1.0 - similarities, 0.0), 2.0)
    return distances


def _nearest(best: dict[_Key, float], more: dict[_Key, float], k: int) -> dict[_Key, float]:
    """Merge two sets of records; of one that is in both, the nearer chunk counts."""
    merged = dict(more)
    for key, distance in best.items():
        merged[key] = min(distance, merged.get(key, np.inf))
    ranked = sorted(merged.items(), key=lambda one: (one[1], one[0]))
    return dict(ranked[:k])
