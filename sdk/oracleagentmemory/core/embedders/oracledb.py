"""Embedding by a model inside the database; not part of this version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from numpy.typing import NDArray

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.errors import NotYetError


class OracleDBEmbedder(IEmbedder):
    """An embedder that calls a model in Oracle AI Database.

    Raises:
        NotYetError: Always: this version embeds outside the database.
    """

    def __init__(
        self,
        connection: object,
        model: str,
        input_name: Maybe[str] = NOT_SET_MARKER,
        embedding_dimension: Maybe[int | None] = NOT_SET_MARKER,
        max_input_tokens: Maybe[int] = NOT_SET_MARKER,
        normalize: Maybe[bool] = NOT_SET_MARKER,
        query_prefix: Maybe[str | None] = NOT_SET_MARKER,
        batch_size: Maybe[int] = NOT_SET_MARKER,
        provider: Maybe[str] = NOT_SET_MARKER,
        provider_options: Mapping[str, Any] | None = None,
    ) -> None:
        _refuse()

    def embed(self, texts: list[str], is_query: bool = False) -> NDArray[Any]:
        """Raise `NotYetError`."""
        _refuse()

    _embed_async = threaded(embed)
    embed_async = _embed_async

    def get_vectorizer_config_json(self) -> str:
        """Raise `NotYetError`."""
        _refuse()


def _refuse() -> NoReturn:
    raise NotYetError(
        "this version does not embed inside the database; pass another embedder, for example "
        "LocalEmbedder"
    )
