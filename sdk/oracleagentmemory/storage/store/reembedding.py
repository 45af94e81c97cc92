"""All vectors of a store made anew by another embedder, while searches go on.

New vectors are gathered in `x_new_vector`, batch by batch, and take the place of the old ones in
one transaction at the end. From the first batch to that moment the registry row says so, and
every process refuses to write: no record can change whose vector is already made. A run that was
killed leaves the row as it is; the next one goes on behind the last whole batch.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.embedders.scoped import ScopedQueryEmbedder
from oracleagentmemory.apis.upkeep import ReembedProgress, ReembedReport
from oracleagentmemory.errors import InvalidInputError, RetryableError, StateError
from oracleagentmemory.storage.dump_reads import WHOLE_STORE
from oracleagentmemory.storage.embedding import embedded
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.extras import UNSCOPED
from oracleagentmemory.storage.registry import Reembedding as Noted
from oracleagentmemory.storage.registry import StoreConfig
from oracleagentmemory.storage.store.base import StoreParts
from oracleagentmemory.storage.store.retrieval_text import unit_length
from oracleagentmemory.storage.writes import Prepared

#: Texts embedded and noted in one step.
REEMBED_BATCH = 256


class Reembedding(StoreParts):
    """`reembed` and `abort_reembedding`."""

    def reembed(
        self, progress: Callable[[ReembedProgress], object] = lambda _: None
    ) -> ReembedReport:
        """Make every vector anew with this handle's embedder.

        Until it is finished every change of the store, by any process, raises `RetryableError`,
        and searches answer from the old vectors. Call it again after an interruption.

        Args:
            progress: Called after each batch.

        Raises:
            InvalidInputError: If the handle has no embedder.
            StateError: If the store has no SDK-only tables, or cannot take the new dimension.
            RetryableError: If another process has taken the re-embedding over.
        """
        return self.write(self.prepare_reembed(progress))

    def prepare_reembed(
        self, progress: Callable[[ReembedProgress], object] = lambda _: None
    ) -> Prepared[ReembedReport]:
        """Embed everything; what is returned puts the new vectors in place of the old ones."""
        if self.embedder is None:
            raise InvalidInputError("re-embedding needs an embedder: open the store with one")
        if not self.has_extras:
            raise StateError(
                "this store has no room for new vectors; run manage.py memory_store_extend first"
            )
        self.engine.refuse_in_transaction("re-embedding")
        dimension = self.embedder.embedding_dimension
        self._check_new_dimension(dimension)
        noted = self._begin_reembedding(dimension)
        progress(self.reembed_progress())
        while rows := self._chunks_to_embed():
            self._embed_anew(noted, rows)
            progress(self.reembed_progress())
        return Prepared(lambda transaction: self._swap(transaction, noted), maintains=True)

    def reembed_progress(self) -> ReembedProgress:
        """Return how far the re-embedding under way is."""
        chunks, new = self.tables.record_chunks, self.extras.new_vector
        with self.engine.read() as connection:
            done = connection.execute(sa.select(sa.func.count()).select_from(new)).scalar_one()
            texts = sa.select(sa.func.count()).where(chunks.c.chunk_text.is_not(None))
            return ReembedProgress(done, connection.execute(texts).scalar_one())

    def abort_reembedding(self) -> bool:
        """Give up a re-embedding and allow changes again; the old vectors stay.

        Returns:
            False when none was under way.
        """
        with self.engine.write() as transaction:
            config = self._locked_config(transaction)
            if config.reembedding is None:
                return False
            transaction.execute(sa.delete(self.extras.new_vector))
            self.registry.save_state(transaction.connection, config.with_reembedding(None))
        return True

    reembed_async = threaded(reembed)
    abort_reembedding_async = threaded(abort_reembedding)

    def _check_new_dimension(self, dimension: int) -> None:
        """Refuse a dimension that the store's column cannot take."""

    def _begin_reembedding(self, dimension: int) -> Noted:
        """Note that writes have to wait; go on with what an earlier run has made, if it fits."""
        with self.engine.write() as transaction:
            config = self._locked_config(transaction)
            config.check_state()
            now = transaction.now.isoformat(timespec="seconds")
            noted = Noted(uuid.uuid4().hex, self.embedder_id, dimension, now)
            before = config.reembedding
            if before is not None and _same_embedder(before, noted):
                noted = replace(noted, started_at=before.started_at)
            else:
                transaction.execute(sa.delete(self.extras.new_vector))
            self.registry.save_state(transaction.connection, config.with_reembedding(noted))
        return noted

    def _chunks_to_embed(self) -> Sequence[Any]:
        chunks = self.tables.record_chunks.c
        statement = self._built(
            "chunks_to_embed",
            lambda: (
                sa.select(chunks.chunk_id, chunks.chunk_text)
                .where(self._lacks_new_vector())
                .order_by(chunks.chunk_id)
                .limit(sa.bindparam("limit", type_=sa.Integer()))
            ),
        )
        with self.engine.read() as connection:
            return connection.execute(statement, {"limit": REEMBED_BATCH}).all()

    def _lacks_new_vector(self) -> sa.ColumnElement[bool]:
        chunks, new = self.tables.record_chunks.c, self.extras.new_vector.c
        made = sa.select(new.chunk_id).where(new.chunk_id == chunks.chunk_id)
        return sa.and_(chunks.chunk_text.is_not(None), ~made.exists())

    def _embed_anew(self, noted: Noted, rows: Sequence[Any]) -> None:
        assert self.embedder is not None  # noqa: S101 - checked at the beginning
        texts = [row.chunk_text for row in rows]
        vectors = embedded(self.embedder, texts)
        if vectors.shape[1] != noted.dimension:
            raise StateError(
                f"the embedder answered with shape {vectors.shape} for {len(texts)} texts of "
                f"{noted.dimension} numbers"
            )
        vectors = unit_length(vectors)
        tokens: list[bytes | None] = [None] * len(texts)
        if isinstance(self.embedder, ScopedQueryEmbedder):
            tokens = [ids.astype("<u4").tobytes() for ids in self.embedder.token_ids(texts)]
        new = [
            {"chunk_id": int(row.chunk_id), "embedding": vector, "token_ids": token}
            for row, vector, token in zip(rows, vectors, tokens, strict=True)
        ]
        with self.engine.write() as transaction:
            self._still_ours(transaction, noted)
            transaction.execute(self.statements.insert(self.extras.new_vector), new)

    def _still_ours(self, transaction: WriteTransaction, noted: Noted) -> StoreConfig:
        config = self._locked_config(transaction)
        if config.reembedding is None or config.reembedding.run != noted.run:
            raise RetryableError(
                "another process has taken this re-embedding over, finished it or given it up"
            )
        return config

    def _locked_config(self, transaction: WriteTransaction) -> StoreConfig:
        config = self.registry.read(transaction.connection, locked=True)
        if config is None:
            raise StateError("the store does not exist any more; open it anew")
        return config

    def _swap(self, transaction: WriteTransaction, noted: Noted) -> ReembedReport:
        """Put the new vectors in place, all at once, and allow changes again."""
        config = self._still_ours(transaction, noted)
        chunks, new = self.tables.record_chunks, self.extras.new_vector
        count = sa.select(sa.func.count()).select_from(chunks)
        if transaction.execute(count.where(self._lacks_new_vector())).scalar_one():
            # On Oracle a transaction that had begun before may have committed since.
            raise RetryableError("records were written meanwhile; run the re-embedding again")
        without_text = (chunks.c.embedding.is_not(None), chunks.c.chunk_text.is_(None))
        cleared = transaction.execute(count.where(*without_text)).scalar_one()
        total = transaction.execute(sa.select(sa.func.count()).select_from(new)).scalar_one()
        vector = sa.select(new.c.embedding).where(new.c.chunk_id == chunks.c.chunk_id)
        transaction.execute(sa.update(chunks).values(embedding=vector.scalar_subquery()))
        token = self.extras.chunk_token
        transaction.execute(sa.delete(token))
        made = sa.select(new.c.chunk_id, new.c.token_ids).where(new.c.token_ids.is_not(None))
        transaction.execute(sa.insert(token).from_select(["chunk_id", "token_ids"], made))
        transaction.execute(sa.delete(new))
        config = config.with_vectors(noted.dimension, noted.embedder_id).with_reembedding(None)
        self.registry.save_state(transaction.connection, config)
        self.registry.rename(transaction.connection)
        self._note_reembedding(transaction)
        return ReembedReport(total, cleared, noted.dimension, noted.embedder_id)

    def _note_reembedding(self, transaction: WriteTransaction) -> None:
        self._reserve(transaction, 1)
        change = {
            "scope_key": UNSCOPED,
            "record_kind": WHOLE_STORE,
            "record_id": "reembed",
            "operation": "scope",
            "fingerprint": None,
        }
        self._record_changes(transaction, [change])


def _same_embedder(one: Noted, other: Noted) -> bool:
    """Tell whether vectors of both fit together; of an embedder without a name none do."""
    if one.embedder_id is None:
        return False
    return (one.embedder_id, one.dimension) == (other.embedder_id, other.dimension)
