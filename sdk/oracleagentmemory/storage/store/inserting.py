"""Inserting records with all that belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.fingerprints import ImageMark, content_hash, fingerprint
from oracleagentmemory.storage.kinds import IMAGE, Kind
from oracleagentmemory.storage.rows import effective_time
from oracleagentmemory.storage.store.chunks import Chunking, ChunkRows
from oracleagentmemory.storage.store.drafts import Draft


class Inserting(Chunking):
    """Writes drafts: records, their retrieval rows, states and changes."""

    def _insert_drafts(
        self,
        transaction: WriteTransaction,
        drafts: Sequence[Draft],
        chunks: Sequence[ChunkRows | None],
    ) -> None:
        """Insert records with all that belongs to them."""
        written = [rows for rows in chunks if rows is not None]
        chunk_count = sum(len(rows.columns) for rows in written)
        self._reserve(transaction, 2 * len(drafts) + chunk_count)
        changes, states = [], []
        kinds = dict.fromkeys(draft.kind for draft in drafts)
        for kind in sorted(kinds, key=lambda kind: kind is IMAGE):  # messages before their images
            of_kind = [draft for draft in drafts if draft.kind is kind]
            self._insert_records(transaction, kind, of_kind)
        for draft in drafts:
            state = self._state(transaction, draft)
            digest = state["fingerprint"]
            states.append(state)
            changes.append(self._change(draft.user_id, draft.kind, draft.record_id, "add", digest))
        if written:
            self._insert_chunk_rows(transaction, written)
        if self.has_extras:
            transaction.execute(self.statements.insert(self.extras.record_state), states)
        self._record_changes(transaction, changes)

    def _insert_records(
        self, transaction: WriteTransaction, kind: Kind, drafts: list[Draft]
    ) -> None:
        table = kind.table(self.tables)
        for draft in drafts:
            draft.columns["created_at"] = transaction.now
            if kind.expires:
                draft.columns["expires_at"] = draft.life.ends_at(transaction.now)
        rows = [draft.columns for draft in drafts]
        if kind.order == "order_seq":
            self._number(transaction, rows, "order_seq")
        with self._integrity(transaction, kind, [draft.record_id for draft in drafts]):
            transaction.execute(self.statements.insert(table), rows)

    def _state(self, transaction: WriteTransaction, draft: Draft) -> dict[str, Any]:
        columns, noted = draft.columns, ""
        if draft.kind is IMAGE:
            mark = ImageMark.of(columns["blob"])
            columns, noted = {**columns, "blob": mark}, mark.digest
        return {
            "record_kind": draft.kind.name,
            "record_id": draft.record_id,
            "version": 1,
            "fingerprint": fingerprint(draft.kind.name, columns),
            "content_hash": noted or content_hash(draft.content_text),
            "updated_at": transaction.now,
            "effective_at": effective_time(draft.timestamp, transaction.now),
        }
