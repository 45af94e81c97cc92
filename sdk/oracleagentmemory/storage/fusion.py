"""Putting rankings together: reciprocal ranks, and what messages of a thread lend each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.keyword_sql import Match
from oracleagentmemory.storage.retrieval import Hit

__all__ = ["Fused", "HybridSearchConfig", "fuse_pieces", "fuse_strategies", "with_lent_scores"]

_Key = tuple[str, str]
#: The documented constant for the pieces of a long query.
_PIECES_CONSTANT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridSearchConfig:
    """How HYBRID search fuses its vector and keyword rankings.

    Attributes:
        rank_constant: A record at rank r of a ranking gets weight / (rank_constant + r).
        vector_weight: Weight of the vector ranking.
        keyword_weight: Weight of the keyword ranking.
        pool: Records taken from each ranking, or as many as are asked for when that is more.
        neighbours: Whether messages lend a share of their scores to the messages before and
            after them in their thread, so that an answer beside the question's words is found.
        vector_share: The share lent of a positive cosine similarity.
        keyword_share: The share lent of a keyword score.
    """

    rank_constant: float = 5.0
    vector_weight: float = 1.0
    keyword_weight: float = 1.0
    pool: int = 100
    neighbours: bool = True
    vector_share: float = 0.2
    keyword_share: float = 0.3

    def __post_init__(self) -> None:
        numbers = ("rank_constant", "vector_weight", "keyword_weight")
        for name in (*numbers, "vector_share", "keyword_share"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidInputError(f"{name} must be a number, not {value!r:.80}")
            if not math.isfinite(value) or value < 0:
                raise InvalidInputError(f"{name} must be a finite number >= 0, not {value!r:.80}")
        if self.vector_weight + self.keyword_weight == 0:
            raise InvalidInputError("one of vector_weight and keyword_weight must be above 0")
        if isinstance(self.pool, bool) or not isinstance(self.pool, int) or self.pool < 1:
            raise InvalidInputError(f"pool must be a whole number >= 1, not {self.pool!r:.80}")


@dataclass(frozen=True, slots=True)
class Fused:
    """A record's place after fusion; `distance` is 0 for the first of both rankings."""

    score: float
    distance: float
    key: _Key


def fuse_strategies(
    vector: Sequence[Hit], keyword: Sequence[Match], config: HybridSearchConfig
) -> list[Fused]:
    """Fuse both rankings of a hybrid search; equal scores by type, then id."""
    weighted = ((config.vector_weight, vector), (config.keyword_weight, keyword))
    scores = _reciprocal(weighted, config.rank_constant)
    best = (config.vector_weight + config.keyword_weight) / (config.rank_constant + 1)
    ranked = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
    return [Fused(score, max(0.0, 1.0 - score / best), key) for key, score in ranked]


def fuse_pieces(rankings: Sequence[Sequence[Hit]], k: int) -> list[Hit]:
    """Fuse the rankings of a long query's pieces; the scores of the best `k` sum to 1.

    Equal scores keep the order in which the records were met, as documented.
    """
    scores = _reciprocal(((1.0, ranking) for ranking in rankings), _PIECES_CONSTANT)
    best = sorted(scores.items(), key=lambda one: -one[1])[:k]
    total = sum(score for _, score in best)
    return [Hit(1.0 - score / total, *key) for key, score in best]


def _reciprocal(
    weighted: Iterable[tuple[float, Sequence[Hit] | Sequence[Match]]], constant: float
) -> dict[_Key, float]:
    scores: dict[_Key, float] = {}
    for weight, ranking in weighted:
        for rank, (_, record_type, record_id) in enumerate(ranking if weight else (), start=1):
            key = (record_type, record_id)
            scores[key] = scores.get(key, 0.0) + weight / (constant + rank)
    return scores


def with_lent_scores(
    matches: Sequence[Match],
    beside: Mapping[str, Sequence[str]],
    share: float,
    *,
    unknown: bool = True,
) -> list[Match]:
    """Return matches, best first, with the messages beside matching ones.

    Args:
        matches: Negative scores are not lent.
        beside: By id of a matching message, the messages beside it that may be found.
        share: What each lends to those of its own score.
        unknown: Whether messages that are no match may borrow; their own score counts as 0.
    """
    scores = {(record_type, record_id): score for score, record_type, record_id in matches}
    for score, record_type, record_id in matches:
        for other in beside.get(record_id, ()) if record_type == "message" else ():
            key = ("message", other)
            if unknown or key in scores:
                scores[key] = scores.get(key, 0.0) + share * max(0.0, score)
    ranked = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
    return [Match(score, *key) for key, score in ranked]
