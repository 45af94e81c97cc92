"""Retrieval rows: what a search compares, written in the same transaction as its record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory.apis.embedders.scoped import ScopedQueryEmbedder
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.kinds import PROFILE, Kind
from oracleagentmemory.storage.store.base import StoreParts
from oracleagentmemory.storage.store.drafts import Draft
from oracleagentmemory.storage.store.retrieval_text import RetrievalText, unit_length
from oracleagentmemory.storage.textsearch import index_text, scope_token

#: Texts given to the embedder in one call.
EMBED_BATCH = 256


@dataclass(slots=True)
class ChunkRows:
    """Ready retrieval rows of one record, one a chunk; None where there are none of a sort.

    Attributes:
        made_for: The store's incarnation when the vectors were made.
    """

    columns: list[dict[str, Any]]
    scope: str
    bodies: list[str]
    vectors: NDArray[np.float32] | None
    tokens: list[bytes] | None
    made_for: str | None = None


class Chunking(StoreParts):
    """Prepares and inserts retrieval rows."""

    def _prepare_chunks(self, drafts: Sequence[Draft]) -> list[ChunkRows | None]:
        """Embed and tokenise what is searched for each record, in few calls."""
        texts = [text for draft in drafts if draft.text.embed for text in _to_embed(draft.text)]
        vectors: dict[int, NDArray[np.float32]] = {}
        if texts and self.embedder is not None:
            embedded = [
                self._embed(texts[at : at + EMBED_BATCH])
                for at in range(0, len(texts), EMBED_BATCH)
            ]
            vectors = _share_out(unit_length(np.concatenate(embedded)), drafts)
        explicit = [draft.text.vectors for draft in drafts if draft.text.vectors is not None]
        self._check_explicit(explicit)
        tokens = self._tokens([text for draft in drafts for text in draft.text.chunks])
        rows: list[ChunkRows | None] = []
        for at, draft in enumerate(drafts):
            own = draft.text.vectors if draft.text.vectors is not None else vectors.get(at)
            taken = None if tokens is None else list(islice(tokens, len(draft.text.chunks)))
            rows.append(_chunk_rows(draft, own, taken) if draft.text.chunks else None)
            if own is not None and rows[-1] is not None:
                rows[-1].made_for = self.config.incarnation
        return rows

    def _tokens(self, texts: list[str]) -> Iterator[bytes] | None:
        if not self.has_extras or not isinstance(self.embedder, ScopedQueryEmbedder) or not texts:
            return None
        return (ids.astype("<u4").tobytes() for ids in self.embedder.token_ids(texts))

    def _insert_chunk_rows(
        self, transaction: WriteTransaction, written: Sequence[ChunkRows]
    ) -> None:
        """Insert chunks with their tokens and keyword rows."""
        first = next((rows for rows in written if rows.vectors is not None), None)
        if first is not None and first.vectors is not None:
            self._fix_vectors(transaction, first.vectors, first.made_for)
        chunk_ids = self._insert_chunks(
            transaction, [columns for rows in written for columns in rows.columns]
        )
        tokens = [
            data for rows in written for data in rows.tokens or repeat(None, len(rows.bodies))
        ]
        token_rows = [
            {"chunk_id": chunk_id, "token_ids": data}
            for chunk_id, data in zip(chunk_ids, tokens, strict=True)
            if data is not None
        ]
        if token_rows:
            transaction.execute(self.statements.insert(self.extras.chunk_token), token_rows)
        texts = [
            {"rowid": chunk_id, "scope": scope, "body": body}
            for chunk_id, (scope, body) in zip(
                chunk_ids,
                ((rows.scope, body) for rows in written for body in rows.bodies),
                strict=True,
            )
        ]
        self._insert_texts(transaction, texts)

    def _rewrite_chunks(
        self,
        transaction: WriteTransaction,
        kind: Kind,
        row: Any,
        status: str,
        chunks: ChunkRows | None,
    ) -> None:
        self._drop_chunks(transaction, kind, "record", row._mapping[kind.key])
        if chunks is not None:
            self._insert_chunk_rows(transaction, [self._placed(chunks, kind, row, status)])

    def _placed(self, chunks: ChunkRows, kind: Kind, row: Any, status: str) -> ChunkRows:
        """Give prepared rows the scope and status that only the stored record knows."""
        scope = {name: getattr(row, name, None) for name in ("thread_id", "user_id", "agent_id")}
        columns = [{**one, **scope, "status": status} for one in chunks.columns]
        scope_word = chunks.scope if kind is PROFILE else scope_token(row.user_id)
        return replace(chunks, columns=columns, scope=scope_word)


def _to_embed(text: RetrievalText) -> list[str]:
    return text.chunks if text.vectors is None else []


def _share_out(
    vectors: NDArray[np.float32], drafts: Sequence[Draft]
) -> dict[int, NDArray[np.float32]]:
    """Return each draft's part of the embedded texts, by its place."""
    shared, start = {}, 0
    for at, draft in enumerate(drafts):
        count = len(_to_embed(draft.text)) if draft.text.embed else 0
        if count:
            shared[at] = vectors[start : start + count]
            start += count
    return shared


def _chunk_rows(
    draft: Draft, vectors: NDArray[np.float32] | None, tokens: list[bytes] | None
) -> ChunkRows:
    columns = draft.columns
    shared = {
        "source_id": draft.record_id,
        "source_record_type": draft.record_type,
        "source_emb_column": draft.kind.text,
        "thread_id": columns.get("thread_id"),
        "user_id": columns.get("user_id"),
        "agent_id": columns.get("agent_id"),
        "space_id": None,
        "status": columns["status"],
    }
    rows = [
        {
            **shared,
            "chunk_seq": number,
            "chunk_text": chunk,
            "embedding": None if vectors is None else vectors[number - 1],
        }
        for number, chunk in enumerate(draft.text.chunks, start=1)
    ]
    bodies = [index_text(chunk) for chunk in draft.text.chunks]
    return ChunkRows(rows, scope_token(draft.user_id), bodies, vectors, tokens)
