"""Statuses that follow from relations: settled whenever a relation or one of its ends changes."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.extras import scope_key
from oracleagentmemory.storage.kinds import MEMORY, RELATION, Kind
from oracleagentmemory.storage.lifecycle import LIFECYCLE_REASONS, settled
from oracleagentmemory.storage.relation_sql import RelationStatements
from oracleagentmemory.storage.statements import CHANGEABLE, in_lists
from oracleagentmemory.storage.store.base import StoreParts


class Lifecycle(StoreParts):
    """The steps that keep memories' statuses with their relations."""

    @functools.cached_property
    def _relation_statements(self) -> RelationStatements:
        return RelationStatements(self.tables)

    def _lock_memories(
        self, transaction: WriteTransaction, ids: Iterable[str], *, expired: bool = True
    ) -> dict[str, Any]:
        """Lock memories in the order of their ids; return their rows by id."""
        statement = self._relation_statements.lock_memories(expired=expired)
        return {
            row.record_id: row
            for part in in_lists(sorted(set(ids)))
            for row in transaction.execute(statement, {"ids": part})
        }

    def _settle(
        self, transaction: WriteTransaction, rows: Sequence[Any], without: Collection[str] = ()
    ) -> None:
        """Give locked memories the status that their relations call for.

        Args:
            without: Ids of relations that do not count: they are about to be deleted.
        """
        ended = self._ended(transaction, [row.record_id for row in rows], without)
        for row in rows:
            status, metadata = settled(row.metadata, ended.get(row.record_id))
            if (status, metadata) == (row.status, row.metadata):
                continue
            values = {name: row._mapping[name] for name in CHANGEABLE[MEMORY.name]}
            values |= {"status": status, "metadata": metadata}
            self._reserve(transaction, 1)
            transaction.execute(self.statements.update(MEMORY), {"id_": row.record_id, **values})
            self._note_update(transaction, MEMORY, row, values, row.user_id)
            if status != row.status:
                source = {"of_source_id": row.record_id, "source_type": row.memory_type}
                transaction.execute(
                    self.statements.set_chunk_status, {"new_status": status, **source}
                )

    def _settled_columns(
        self, transaction: WriteTransaction, record_id: str, metadata: Any
    ) -> dict[str, Any]:
        """Return status and metadata of one memory as its relations call for."""
        ended = self._ended(transaction, [record_id])
        status, after = settled(metadata, ended.get(record_id))
        return {"status": status, "metadata": after}

    def _ended(
        self, transaction: WriteTransaction, ids: Sequence[str], without: Collection[str] = ()
    ) -> dict[str, str]:
        """Return, for each memory that a relation ends, that relation's type."""
        ended: dict[str, str] = {}
        for part in in_lists(ids):
            for link in transaction.execute(self._relation_statements.ends_of, {"ids": part}):
                if link.relation_id not in without:
                    ended.setdefault(link.target_memory_id, link.relation_type)
        return ended

    def _before_removal(
        self, transaction: WriteTransaction, kind: Kind, record_ids: Sequence[str]
    ) -> None:
        """Delete the relations of memories that go, and settle what they pointed to."""
        if kind is not MEMORY:
            return
        links = {
            link.relation_id: link
            for part in in_lists(record_ids)
            for link in transaction.execute(self._relation_statements.of_memories, {"ids": part})
        }
        if links:
            self._unlink(transaction, list(links.values()), gone=frozenset(record_ids))

    def _unlink(
        self,
        transaction: WriteTransaction,
        links: Sequence[Any],
        gone: Collection[str] = frozenset(),
    ) -> None:
        """Delete relations; the memories that they ended are settled first.

        First, because a trigger of an Oracle store would do so without noting it.

        Args:
            gone: Memories that are deleted too.
        """
        ended = {link.target_memory_id for link in links if link.relation_type in LIFECYCLE_REASONS}
        rows = self._lock_memories(transaction, ended.difference(gone))
        ids = [link.relation_id for link in links]
        self._settle(transaction, list(rows.values()), without=frozenset(ids))
        for part in in_lists(ids):
            transaction.execute(self._relation_statements.delete, {"ids": part})
        self._after_unlinking(transaction)
        self._note_relations(transaction, links, "delete")

    def _note_relations(
        self, transaction: WriteTransaction, links: Sequence[Any], operation: str
    ) -> None:
        """Append a change of each relation for each user that sees it."""
        changes = [
            self._change(user_id, RELATION, link.relation_id, operation, None)
            for link in links
            for user_id in sorted(
                {link.source_memory_user_id, link.target_memory_user_id}, key=scope_key
            )
        ]
        self._reserve(transaction, len(changes))
        self._record_changes(transaction, changes)
