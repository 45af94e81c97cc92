"""Small deterministic embedders and a plain model of what a store holds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory.apis.embedders import IEmbedder
from oracleagentmemory.core import SQLiteMemoryStore

DIMENSION = 8
VOCABULARY = ("red", "green", "blue", "car", "boat", "tree", "sea", "sky")


class WordEmbedder(IEmbedder):
    """A text is the sum of its words, each word a fixed random direction."""

    embedder_id = "test/words"
    embedding_dimension = DIMENSION

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
        self.embedded += texts
        return np.array([unit(sum(map(direction, text.split()))) for text in texts], np.float32)


class ScopedWordEmbedder(WordEmbedder):
    """The same, with queries weighted by inverse document frequency."""

    def token_ids(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        return [np.array(sorted({token(word) for word in text.split()}), np.uint32)
                for text in texts]  # fmt: skip

    def embed_in_scope(
        self, text: str, frequencies: NDArray[np.int64], chunk_count: int
    ) -> NDArray[np.float32]:
        counts = dict(enumerate(frequencies.tolist()))
        return weighted(text, {word: counts.get(token(word), 0) for word in text.split()},
                        chunk_count)  # fmt: skip


def weighted(text: str, counts: Mapping[str, int], chunk_count: int) -> NDArray[np.float32]:
    """The weighted query; rare words count more, none counts nothing."""
    parts = [np.log((chunk_count + 2) / (counts[word] + 1)) * direction(word)
             for word in text.split()]  # fmt: skip
    return unit(sum(parts)).astype(np.float32)


def token(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=2).digest())


def direction(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(DIMENSION)


def unit(vector: Any) -> NDArray[np.float64]:
    vector = np.zeros(DIMENSION) + vector
    length = np.linalg.norm(vector)
    return vector / length if length else vector


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


def open_store(folder: Path, embedder: IEmbedder, clock: Clock | None = None) -> SQLiteMemoryStore:
    store = SQLiteMemoryStore(folder / "memory.sqlite3", embedder=embedder)
    if clock is not None:
        store.engine.clock = clock
    return store


def add(store: SQLiteMemoryStore, *texts: str, user_id: str | None = "ann", **more: Any) -> None:
    """Add memories whose ids are their texts."""
    more.setdefault("record_ids", [f"{user_id}:{text}" for text in texts])
    store.add(list(texts), "memory", user_ids=user_id, **more)


def ids(
    store: SQLiteMemoryStore, query: str, user_id: str | None = "ann", k: int = 50, **more: Any
) -> list[str]:
    found = store.search(query, k, user_id=user_id, exact_user_match=True, **more)
    return [record.id for record, _ in found]


@dataclass
class Row:
    """A record of the model; `user_id` and `agent_id` are its scope in searches."""

    record_type: str
    record_id: str
    chunks: list[str]
    user_id: str | None = None
    agent_id: str | None = None
    thread_id: str | None = None
    status: str = "valid"
    metadata: dict[str, Any] | None = None
    expires_at: datetime | None = None


@dataclass
class Model:
    """What a store should find, by plain numpy over all rows."""

    rows: list[Row] = field(default_factory=list)

    def ranking(
        self, query: NDArray[np.floating[Any]], now: datetime, **wanted: Any
    ) -> list[tuple[float, str, str]]:
        """Distance, type and id of every row that matches, nearest first."""
        found = []
        for row in self.rows:
            if matches(row, now, **wanted):
                vectors = [unit(sum(map(direction, chunk.split()))) for chunk in row.chunks]
                distances = [1 - float(vector @ unit(query)) for vector in vectors]
                found.append((min(distances), row.record_type, row.record_id))
        return sorted(found)


def matches(
    row: Row,
    now: datetime,
    *,
    scope: Mapping[str, str | None],
    record_types: set[str] | None = None,
    metadata_filter: Mapping[str, Any] | None = None,
    include_invalid: bool = True,
) -> bool:
    """Say whether a search may find a row; the filter is exact values only."""
    return (
        bool(row.chunks)
        and all(getattr(row, name) == value for name, value in scope.items())
        and (record_types is None or row.record_type in record_types)
        and (include_invalid or row.status == "valid")
        and (row.expires_at is None or row.expires_at > now)
        and all((row.metadata or {}).get(k) == v for k, v in (metadata_filter or {}).items())
    )


def assert_same_ranking(
    found: list[tuple[Any, float]], expected: list[tuple[float, str, str]], k: int
) -> None:
    """Compare a search's result with the model's, equal up to float32 rounding of distances."""
    assert len(found) == min(k, len(expected))
    by_key = {(kind, record_id): distance for distance, kind, record_id in expected}
    keys = [(record.record_type, record.id) for record, _ in found]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= set(by_key)
    distances = [distance for _, distance in found]
    assert distances == sorted(distances)
    assert np.allclose(distances, [by_key[key] for key in keys], atol=2e-6)
    assert np.allclose(distances, [distance for distance, _, _ in expected[:k]], atol=2e-6)
    ranked = zip(pairwise(keys), pairwise(distances), strict=True)
    assert all(first < second or one < other for (one, other), (first, second) in ranked)
