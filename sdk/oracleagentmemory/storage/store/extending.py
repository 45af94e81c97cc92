"""Rows of the SDK-only tables for records that have none: of another SDK, or of a lost table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import sqlalchemy as sa

from oracleagentmemory._threaded import threaded
from oracleagentmemory.apis.embedders.scoped import ScopedQueryEmbedder
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.fingerprints import fingerprint, marked_image, noted_content
from oracleagentmemory.storage.kinds import IMAGE, KINDS, Kind
from oracleagentmemory.storage.rows import effective_time
from oracleagentmemory.storage.statements import columns_of
from oracleagentmemory.storage.store.base import StoreParts
from oracleagentmemory.storage.textsearch import index_text, scope_token
from oracleagentmemory.storage.writes import Prepared

#: Rows filled in one transaction.
FILL_BATCH = 1000


class Extending(StoreParts):
    """`extend` and `fill_extras`."""

    def extend(self) -> tuple[str, ...]:
        """Give a store of the reference the SDK-only tables, and fill them from its records.

        Nothing of the managed tables changes, and the reference works on as before. Handles that
        are open elsewhere record nothing in the new tables until they are opened anew.

        Returns:
            What was made, in words; nothing when the store has them all.

        Raises:
            StateError: Inside an open transaction.
        """
        made = self._make_extras()
        self.has_extras = True
        self.fill_extras()
        return tuple(made)

    def _make_extras(self) -> list[str]:
        """Make the SDK-only tables that are missing; return what was made."""
        raise NotImplementedError

    def fill_extras(self) -> int:
        """Add what the SDK-only tables lack for stored records, in batches; return the rows added.

        Versions, keyword rows (SQLite) and, if the embedder weighs queries, tokens. Interrupted,
        it goes on where it stopped.
        """
        self.engine.refuse_in_transaction("filling the SDK-only tables")
        if not self.has_extras:
            return 0
        added = sum(self._fill_states(kind) for kind in KINDS)
        if self.keeps_texts:
            added += self._repeat(self._fill_texts)
        if isinstance(self.embedder, ScopedQueryEmbedder):
            added += self._fill_tokens(self.embedder)
        return added

    extend_async = threaded(extend)
    fill_extras_async = threaded(fill_extras)

    def _repeat(self, fill_some: Callable[[WriteTransaction], int]) -> int:
        total = 0
        while added := self.write(Prepared(fill_some)):
            total += added
        return total

    def _fill_states(self, kind: Kind) -> int:
        table, state = kind.table(self.tables), self.extras.record_state
        key = table.c[kind.key]
        noted = sa.select(state.c.record_id).where(
            state.c.record_kind == kind.name, state.c.record_id == key
        )
        columns = columns_of(kind, table, with_bytes=False)
        lacking = sa.select(*columns).where(~noted.exists()).order_by(key).limit(FILL_BATCH)

        def fill_some(transaction: WriteTransaction) -> int:
            rows = transaction.execute(lacking).all()
            if rows:
                states = [state_row(kind, row) for row in rows]
                transaction.execute(self.statements.insert(state), states)
            return len(rows)

        return self._repeat(fill_some)

    def _fill_texts(self, transaction: WriteTransaction) -> int:
        chunks, text = self.tables.record_chunks, self.extras.text
        there = sa.select(text.c.rowid).where(text.c.rowid == chunks.c.chunk_id)
        lacking = sa.select(chunks).where(~there.exists()).order_by(chunks.c.chunk_id)
        rows = transaction.execute(lacking.limit(FILL_BATCH)).mappings().all()
        texts = [
            {
                "rowid": row["chunk_id"],
                "scope": chunk_scope(row),
                "body": index_text(row["chunk_text"] or ""),
            }
            for row in rows
        ]
        if texts:
            self._insert_texts(transaction, texts)
        return len(rows)

    def _fill_tokens(self, embedder: ScopedQueryEmbedder) -> int:
        chunks, token = self.tables.record_chunks.c, self.extras.chunk_token
        there = sa.select(token.c.chunk_id).where(token.c.chunk_id == chunks.chunk_id)
        lacking = (
            sa.select(chunks.chunk_id, chunks.chunk_text)
            .where(~there.exists(), chunks.chunk_text.is_not(None))
            .order_by(chunks.chunk_id)
            .limit(FILL_BATCH)
        )
        total = 0
        while True:
            with self.engine.read() as connection:
                rows = connection.execute(lacking).all()
            if not rows:
                return total
            ids = embedder.token_ids([row.chunk_text for row in rows])
            tokens = {
                row.chunk_id: one.astype("<u4").tobytes()
                for row, one in zip(rows, ids, strict=True)
            }
            total += self.write(Prepared(partial(self._add, tokens)))

    def _add(self, tokens: Mapping[int, bytes], transaction: WriteTransaction) -> int:
        """Insert tokens of chunks that are still there and still without."""
        chunks, token = self.tables.record_chunks.c, self.extras.chunk_token
        there = sa.select(token.c.chunk_id).where(token.c.chunk_id == chunks.chunk_id)
        wanted = sa.select(chunks.chunk_id).where(chunks.chunk_id.in_(tokens), ~there.exists())
        rows = [
            {"chunk_id": int(chunk_id), "token_ids": tokens[int(chunk_id)]}
            for chunk_id in transaction.execute(wanted).scalars()
        ]
        if rows:
            transaction.execute(self.statements.insert(token), rows)
        return len(rows)


def chunk_scope(chunk: Mapping[Any, Any]) -> str:
    """Return the scope word of a chunk's keyword row; a profile's chunks carry no user."""
    if chunk["source_record_type"] == "user_profile":
        return scope_token(chunk["source_id"])
    return scope_token(chunk["user_id"])


def state_row(kind: Kind, row: Any) -> dict[str, Any]:
    """Return the first version of a record that something else has written.

    Of an image nothing but the number of its bytes is known then, which are not read.
    """
    columns = marked_image(row._mapping, None) if kind is IMAGE else row._mapping
    return {
        "record_kind": kind.name,
        "record_id": columns[kind.key],
        "version": 1,
        "fingerprint": fingerprint(kind.name, columns),
        "content_hash": noted_content(kind, columns),
        "updated_at": row.created_at,
        "effective_at": effective_time(columns.get("timestamp"), row.created_at),
    }
