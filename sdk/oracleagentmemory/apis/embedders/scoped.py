"""The protocol of embedders that weigh a query by the words of the scope it searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["ScopedQueryEmbedder", "weighs_queries"]


@runtime_checkable
class ScopedQueryEmbedder(Protocol):
    """An embedder whose query vectors can follow the word frequencies of a user's scope.

    Only the query side is weighted; stored vectors stay those of `IEmbedder.embed`, comparable
    across scopes and versions. Stores keep the token ids of every chunk and count them per scope.
    """

    def token_ids(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        """Return each text's token ids, sorted and without repetition.

        Args:
            texts: Any number of texts.

        Returns:
            One array a text, in their order; empty for a text without tokens.
        """
        ...

    def embed_in_scope(
        self, text: str, frequencies: NDArray[np.int64], chunk_count: int
    ) -> NDArray[np.float32]:
        """Embed a query with each token weighted by its rarity in the scope.

        Args:
            text: The query.
            frequencies: By token id, in how many chunks of the scope the token stands. Tokens
                beyond its end stand in none.
            chunk_count: How many chunks the scope holds.

        Returns:
            An L2-normalised vector of shape `(D,)`.
        """
        ...


def weighs_queries(embedder: object) -> bool:
    """Tell a `ScopedQueryEmbedder`; `isinstance` of a protocol takes longer than embedding."""
    return hasattr(embedder, "embed_in_scope") and hasattr(embedder, "token_ids")
