"""The contract of an embedder."""

from __future__ import annotations

import abc
from typing import Any

from numpy.typing import NDArray

from oracleagentmemory._threaded import TwinOwner, threaded


class IEmbedder(TwinOwner, abc.ABC):
    """Turns texts into vectors.

    An embedder may have ``embedder_id``, a ``str`` that names the model: a store remembers it and
    refuses vectors of another. Without it only the dimension is compared.
    """

    @property
    def embedding_dimension(self) -> int:
        """Length D of the vectors; measured by embedding a short text unless overridden."""
        return int(self.embed(["dimension"]).shape[1])

    @property
    def max_input_tokens(self) -> int:
        """Tokens that one text may have."""
        return 512

    @abc.abstractmethod
    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[Any]:
        """Return an array of shape (N, D), one row a text, in the order of ``texts``.

        Args:
            texts: N texts; none may be longer than ``max_input_tokens``.
            is_query: Whether the texts are queries; some models embed them differently.
        """

    embed_async = threaded(embed)
