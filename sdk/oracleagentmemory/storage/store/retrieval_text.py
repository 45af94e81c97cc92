"""What is searched for a record: its chunks of text and, when the caller brings them, vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory.apis.validation import check_text
from oracleagentmemory.errors import InvalidInputError, WrongTypeError
from oracleagentmemory.storage.chunking import split_text
from oracleagentmemory.storage.kinds import Kind

Vectors = NDArray[np.float32]


@dataclass(slots=True)
class RetrievalText:
    """The chunks of one record.

    Attributes:
        chunks: Their texts; `''` only for a vector without text.
        vectors: Shape (chunks, D) when given by the caller; None asks the embedder.
        embed: False leaves the chunks without vectors.
    """

    chunks: list[str]
    vectors: Vectors | None = None
    embed: bool = True


def explicit_vectors(value: Any) -> Vectors | None:
    """Return a caller's vector or vectors as an array of shape (N, D).

    Raises:
        InvalidInputError: If they are empty, ragged, or not finite numbers.
    """
    if value is None:
        return None
    try:
        vectors = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            "an embedding must be a vector of numbers or a list of vectors of one length"
        ) from error
    if vectors.ndim == 1:
        vectors = vectors[np.newaxis, :]
    if vectors.ndim != 2 or vectors.size == 0:
        raise InvalidInputError("an embedding must be a non-empty vector or a list of such vectors")
    if not np.isfinite(vectors).all():
        raise InvalidInputError("an embedding must hold finite numbers only")
    return unit_length(vectors)


def unit_length(vectors: Vectors) -> Vectors:
    """Return vectors of shape (N, D) scaled to length 1; zero vectors stay as they are."""
    # In float64: the squares of float32 numbers may overflow or vanish.
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    lengths[lengths == 0] = 1.0
    unit: Vectors = (vectors / lengths).astype(np.float32, copy=False)
    return unit


def check_chunks(chunks: Any) -> list[str]:
    """Return a caller's own chunks.

    Raises:
        InvalidInputError: If one is empty.
    """
    for chunk in chunks:
        if not check_text(chunk, "index text"):
            raise InvalidInputError("a list of index text chunks must not hold an empty string")
    return list(chunks)


def plan_text(
    kind: Kind, content_text: str, index_text: Any, vectors: Vectors | None
) -> RetrievalText:
    """Decide what is searched for a record.

    Args:
        content_text: The text of its content, used when `index_text` is None.
        index_text: A text that the store may split, or the caller's own chunks.
        vectors: The caller's vectors, which bypass the embedder.
    """
    if kind.text is None:
        if index_text is not None or vectors is not None:
            raise InvalidInputError(f"a {kind.name.replace('_', ' ')} is not searched")
        return RetrievalText([])
    if isinstance(index_text, list | tuple):
        return _with_vectors(check_chunks(index_text), vectors, owned=True)
    if index_text is None:
        text = content_text
    elif isinstance(index_text, str):
        text = check_text(index_text, "index text")
    else:
        raise WrongTypeError(
            f"an index text must be a str or a list of str, not {type(index_text).__name__}"
        )
    if vectors is None:
        return RetrievalText(split_text(text))
    return _with_vectors([text] if text else [], vectors, owned=False)


def _with_vectors(chunks: list[str], vectors: Vectors | None, *, owned: bool) -> RetrievalText:
    if vectors is None:
        return RetrievalText(chunks)
    if not chunks and len(vectors) == 1:
        return RetrievalText([""], vectors)
    if len(vectors) != len(chunks):
        hint = "" if owned else "; several vectors need index text given as a list of chunks"
        raise InvalidInputError(
            f"{len(vectors)} vectors do not match {len(chunks)} index text chunks{hint}"
        )
    return RetrievalText(chunks, vectors)
