"""The default embedder: a static table of word-piece vectors, read from an installed package."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load
from tokenizers import Tokenizer

from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.apis.validation import check_text
from oracleagentmemory.errors import StateError, WrongTypeError

__all__ = ["LocalEmbedder"]

_PACKAGE = "wordllama"
_RELEASE = "wordllama==0.4.0.post1"
_TABLE_FILE = "weights/l2_supercat_256.safetensors"
_TOKENIZER_FILE = "tokenizers/l2_supercat_tokenizer_config.json"
_SHA256 = {
    _TABLE_FILE: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    _TOKENIZER_FILE: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}
_DIMENSION = 256
#: What stands before or behind a word and belongs to none: brackets, quotes, full stops, emoji.
_AT_EDGES = re.compile(r"(?<!\w)[^\w\s]+|[^\w\s]+(?!\w)")


@dataclass(frozen=True, slots=True)
class _Model:
    """The vector of every token, shape `(32000, 256)`, and the tokenizer that names them."""

    table: NDArray[np.float32]
    tokenizer: Tokenizer


def _package_file(name: str) -> bytes:
    # The package's own loader would try to download: its files are read without importing it.
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise StateError(
            f"LocalEmbedder reads its table from the package {_PACKAGE}, which is not installed: "
            f"pip install {_RELEASE}"
        )
    path = Path(spec.origin).parent / name
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise StateError(
            f"LocalEmbedder cannot read {path} ({exc.strerror}): "
            f"pip install --force-reinstall {_RELEASE}"
        ) from exc
    if hashlib.sha256(content).hexdigest() != _SHA256[name]:
        # Another table would give other vectors under the same identity.
        raise StateError(
            f"{path} is not the file of {_RELEASE}: pip install --force-reinstall {_RELEASE}"
        )
    return content


@functools.cache
def _load_model() -> _Model:
    table = load(_package_file(_TABLE_FILE))["embedding.weight"].astype(np.float32)
    tokenizer: Tokenizer = Tokenizer.from_buffer(_package_file(_TOKENIZER_FILE))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _Model(table=np.ascontiguousarray(table), tokenizer=tokenizer)


class LocalEmbedder(IEmbedder):
    """Embed texts with a static 256-dimension table: no network, no model server, no GPU.

    A text's vector is the normalised mean of its tokens' vectors, so it knows words but not their
    order. The table is English-centric: for other languages give the store another embedder.

    The table (32 MB) is loaded once a process and shared. Instances are thread-safe.

    Raises:
        StateError: The package that carries the table is missing or its files were altered.
    """

    embedder_id = "wordllama/l2_supercat_256"

    def __init__(self) -> None:
        self._model = _load_model()

    @property
    def embedding_dimension(self) -> int:
        """The number of columns of every vector: 256."""
        return _DIMENSION

    @property
    def max_input_tokens(self) -> int:
        """How many tokens of a text count. All do; a longer text only blurs its mean."""
        return 1_000_000

    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
        """Embed texts.

        Args:
            texts: Any number of texts.
            is_query: Makes no difference here; `embed_in_scope` weighs queries.

        Returns:
            Float32 vectors of shape `(N, 256)`, L2-normalised. The empty text has no tokens and
            gets the zero vector, which is similar to nothing.

        Raises:
            TypeError: `texts` is not a list of texts.
            ValueError: A text holds a NUL character or a lone surrogate.
        """
        vectors = np.zeros((len(texts), _DIMENSION), np.float32)
        for row, tokens in enumerate(self._tokenise(texts)):
            if tokens:
                vectors[row] = self._model.table.take(tokens, axis=0).sum(axis=0)
                vectors[row] /= np.float32(len(tokens))
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        lengths[lengths == 0] = 1
        vectors /= lengths
        return vectors

    def token_ids(self, texts: Sequence[str]) -> list[NDArray[np.uint32]]:
        """Return each text's token ids, sorted and without repetition."""
        return [np.array(sorted(set(tokens)), np.uint32) for tokens in self._tokenise(texts)]

    def embed_in_scope(
        self, text: str, frequencies: NDArray[np.int64], chunk_count: int
    ) -> NDArray[np.float32]:
        """Embed a query with each token weighted by its inverse document frequency.

        The weight of token `t` is `log((N + 1) / (df_t + 1))` over the `N` chunks of the scope,
        so the words that stand in every message of a user do not decide what is found. Punctuation
        around words is left out: rare as it is it would weigh most, and the word behind a bracket
        or a quote is not the same token as in running text.

        Args:
            text: The query.
            frequencies: By token id, in how many chunks of the scope the token stands.
            chunk_count: How many chunks the scope holds.

        Returns:
            An L2-normalised vector of shape `(256,)`; that of `embed` when no token tells the
            scope's chunks apart.
        """
        words = _AT_EDGES.sub(_without_punctuation, check_text(text, "text")).split()
        tokens = self._tokenise([" ".join(words) or text])[0]
        # A query has few tokens: plain numbers are faster than arrays.
        known = frequencies.size
        counts = [float(frequencies[token]) if token < known else 0.0 for token in tokens]
        weights = [math.log((chunk_count + 1) / (count + 1)) for count in counts]
        rows = self._model.table.take(tokens or [0], axis=0)
        # Not `@`: for many tokens BLAS would start its threads.
        vector: NDArray[np.float32] = np.einsum(
            "t,td->d", np.array(weights or [0], np.float32), rows
        )
        length = math.sqrt(float(vector @ vector))
        if length == 0:
            plain: NDArray[np.float32] = self.embed([text], is_query=True)[0]
            return plain
        vector /= np.float32(length)
        return vector

    def _tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        if isinstance(texts, str):
            raise WrongTypeError("texts must be a list of texts, not one text")
        encode = self._model.tokenizer.encode
        # One by one: the tokenizer's batches take a thread a core and break a later fork.
        return [encode(check_text(text, "texts"), add_special_tokens=False).ids for text in texts]


def _without_punctuation(edge: re.Match[str]) -> str:
    """Return the symbols of an edge; the punctuation becomes spaces."""
    return "".join(" " if unicodedata.category(c).startswith("P") else c for c in edge.group())
