"""Asking an embedder, which may be a caller's own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory.apis.embedders import IEmbedder
from oracleagentmemory.errors import StateError


def embedded(
    embedder: IEmbedder, texts: list[str], *, is_query: bool = False
) -> NDArray[np.float32]:
    """Return one vector a text; shape (N, D).

    Raises:
        StateError: If the embedder gives anything else, or a number that is not finite: no other
            vector could be compared with it.
    """
    vectors = np.asarray(embedder.embed(texts, is_query=is_query), dtype=np.float32)
    if vectors.ndim != 2 or vectors.shape[0] != len(texts):
        raise StateError(f"the embedder answered with shape {vectors.shape} for {len(texts)} texts")
    if not np.isfinite(vectors).all():
        raise StateError("the embedder answered with numbers that are not finite")
    return vectors
