"""An embedding model reached through LiteLLM."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, given
from oracleagentmemory._observed import observed_call
from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.apis.validation import check_text
from oracleagentmemory.core.provider import Provider, load_litellm, make_transport
from oracleagentmemory.errors import (
    DimensionMismatchError,
    InvalidInputError,
    ModelError,
    WrongTypeError,
)

if TYPE_CHECKING:
    from oracleagentmemory.observability.emission import Details

BATCH_SIZE = 1024
#: Providers bound the tokens of a request too (OpenAI: 300,000); a token has a character or more.
BATCH_CHARACTERS = 300_000
FALLBACK_MAX_INPUT_TOKENS = 512
_RESERVED = frozenset({"client", "encoding_format", "input"})


def _details(embedder: Embedder, arguments: Mapping[str, Any]) -> Details:
    """Return what the events of embedding texts say."""
    from oracleagentmemory.observability.emission import Details

    texts = arguments.get("texts")
    listed = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
    return Details(
        both={
            "model": embedder.embedder_id,
            "input_count": len(listed),
            "is_query": bool(arguments.get("is_query", False)),
        },
        started={"input": listed, "text_lengths": [len(text) for text in listed]},
        completed=lambda vectors: {
            "vector_count": vectors.shape[0],
            "embedding_dimension": vectors.shape[1],
            "embedding_vector": vectors.tolist(),
        },
    )


class Embedder(IEmbedder):
    """An embedding model that LiteLLM can reach.

    Neither making one nor importing this module reaches a network or loads LiteLLM; the first
    request does. Failed requests are not repeated. Instances are thread-safe.

    A store knows its vectors by `embedder_id`, the model's name.

    Args:
        model: LiteLLM name, such as ``openai/text-embedding-3-small``.
        api_base: Address of the provider; omitted, LiteLLM's for the model.
        api_key: Key; omitted, the provider's environment variable, such as ``OPENAI_API_KEY``.
        embedding_dimension: Length of the vectors; omitted, it is measured at the first use.
            Another length in an answer is an error. Ask models that can shorten their vectors by
            the further option ``dimensions``.
        max_input_tokens: Tokens of a text; omitted, as LiteLLM's local table says, else 512.
        normalize: Make vectors of length 1; done by default.
        query_prefix: Put before every query, for models that want it.
        document_prefix: Put before every other text.
        truncate_prompt_tokens: Sent to servers (vLLM) that cut longer texts themselves.
        key_file: Private key of the client certificate.
        cert_file: Client certificate.
        ca_file: Certificate authorities to trust.
        proxy: Address of an HTTP proxy.
        trust_env: Whether proxies of the environment count; they do by default.
        default_kwargs: Any other option of ``litellm.embedding``, such as ``timeout`` (seconds,
            120 by default), ``max_retries`` (0 by default) or ``dimensions``.

    Raises:
        ValueError: An argument is out of bounds, or a file cannot be used.
    """

    def __init__(
        self,
        model: str,
        api_base: Maybe[str | None] = NOT_SET_MARKER,
        api_key: Maybe[str | None] = NOT_SET_MARKER,
        embedding_dimension: Maybe[int | None] = NOT_SET_MARKER,
        max_input_tokens: Maybe[int] = NOT_SET_MARKER,
        normalize: Maybe[bool] = NOT_SET_MARKER,
        query_prefix: Maybe[str | None] = NOT_SET_MARKER,
        document_prefix: Maybe[str | None] = NOT_SET_MARKER,
        truncate_prompt_tokens: Maybe[int | None] = NOT_SET_MARKER,
        key_file: Maybe[str | None] = NOT_SET_MARKER,
        cert_file: Maybe[str | None] = NOT_SET_MARKER,
        ca_file: Maybe[str | None] = NOT_SET_MARKER,
        proxy: Maybe[str | None] = NOT_SET_MARKER,
        trust_env: Maybe[bool] = NOT_SET_MARKER,
        **default_kwargs: Any,
    ) -> None:
        if taken := sorted(_RESERVED & default_kwargs.keys()):
            raise InvalidInputError(f"{taken[0]} cannot be given as an option of a request")
        transport = make_transport(key_file, cert_file, ca_file, proxy, trust_env)
        self._provider = Provider(model, api_base, api_key, transport, default_kwargs)
        self._dimension = _positive("embedding_dimension", given(embedding_dimension, None))
        self._max_input_tokens = _positive("max_input_tokens", given(max_input_tokens, None))
        self._normalize = given(normalize, True)
        self._query_prefix = given(query_prefix, None) or ""
        self._document_prefix = given(document_prefix, None) or ""
        cut = _positive("truncate_prompt_tokens", given(truncate_prompt_tokens, None))
        extra = {**default_kwargs.get("extra_body", {}), "truncate_prompt_tokens": cut}
        self._options: dict[str, Any] = {} if cut is None else {"extra_body": extra}
        if "dimensions" in default_kwargs:
            # LiteLLM knows few of the models that can shorten their vectors.
            self._options["allowed_openai_params"] = ["dimensions"]
        self._lock = threading.Lock()

    @property
    def embedder_id(self) -> str:
        """What a store knows the vectors by: the LiteLLM name."""
        return self._provider.model

    @property
    def embedding_dimension(self) -> int:
        """Length of the vectors; when neither given nor seen yet, a short text is embedded."""
        if self._dimension is None:
            self.embed(["dimension"])
        assert self._dimension is not None  # noqa: S101 - embedding sets it
        return self._dimension

    @property
    def max_input_tokens(self) -> int:
        """Tokens that a text may have: as given, else as LiteLLM's local table says, else 512."""
        if self._max_input_tokens is None:
            try:
                known = load_litellm().get_model_info(self.embedder_id).get("max_input_tokens")
            except Exception:  # noqa: BLE001 - LiteLLM raises a bare Exception for unknown models
                known = None
            self._max_input_tokens = known or FALLBACK_MAX_INPUT_TOKENS
        return self._max_input_tokens

    @observed_call("embedder", _details)
    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
        """Embed texts, in as many requests as the provider's bounds make necessary.

        Args:
            texts: Any number of texts.
            is_query: Whether they get the prefix of queries or that of documents.

        Returns:
            Float32 vectors of shape `(N, D)`, in the order of the texts. An empty text gets the
            zero vector, which is similar to nothing: providers refuse it.

        Raises:
            RetryableError: The provider is busy, cannot be reached, is too slow or was cut off.
            ModelError: The provider refuses the request, or its answer does not fit it.
            DimensionMismatchError: The vectors have another length than declared or seen before.
            TypeError: `texts` is not a list of texts.
            ValueError: A text holds a NUL character or a lone surrogate.
        """
        if isinstance(texts, str):
            raise WrongTypeError("texts must be a list of texts, not one text")
        prefix = self._query_prefix if is_query else self._document_prefix
        prefixed = [f"{prefix}{check_text(text, 'texts')}" for text in texts]
        asked = [row for row, text in enumerate(prefixed) if text]
        if not asked:
            return np.zeros((len(texts), self.embedding_dimension), np.float32)
        parts = [self._ask(batch) for batch in _batches([prefixed[row] for row in asked])]
        vectors = np.zeros((len(texts), parts[0].shape[1]), np.float32)
        vectors[asked] = np.concatenate(parts)
        return self._of_length_one(vectors) if self._normalize else vectors

    def _ask(self, texts: list[str]) -> NDArray[np.float32]:
        """Embed one batch; shape (N, D)."""
        answer = self._provider.request(
            "embedding", self.embedder_id, input=texts, encoding_format="float", **self._options
        )
        rows = _rows(answer)
        # Not every server keeps the order of the texts.
        if sorted(rows) != list(range(len(texts))):
            raise ModelError(
                f"{self.embedder_id} answered with {len(rows)} vectors for {len(texts)} texts"
            )
        try:
            vectors = np.array([rows[index] for index in range(len(texts))], np.float32)
        except (TypeError, ValueError) as exc:
            raise ModelError(f"{self.embedder_id} answered with vectors of mixed shape") from exc
        if vectors.ndim != 2 or not vectors.shape[1] or not np.isfinite(vectors).all():
            raise ModelError(f"{self.embedder_id} answered with something that is no vectors")
        self._agree_on(vectors.shape[1])
        return vectors

    def _agree_on(self, dimension: int) -> None:
        with self._lock:
            if self._dimension is None:
                self._dimension = dimension
            if self._dimension != dimension:
                raise DimensionMismatchError(
                    f"{self.embedder_id} answered with vectors of {dimension} numbers, not of "
                    f"{self._dimension}"
                )

    @staticmethod
    def _of_length_one(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        lengths[lengths == 0] = 1
        shortened: NDArray[np.float32] = vectors / lengths
        return shortened


def _batches(texts: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        full = len(batch) == BATCH_SIZE or characters + len(text) > BATCH_CHARACTERS
        if batch and full:
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    yield batch


def _rows(answer: Any) -> dict[int, Any]:
    """Return the vectors of an answer by their place among the texts."""
    rows = {}
    for place, row in enumerate(answer.data or ()):
        index = row.get("index")
        rows[place if index is None else index] = row.get("embedding")
    return rows


def _positive(name: str, value: int | None) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InvalidInputError(f"{name} must be a positive int")
    return value
