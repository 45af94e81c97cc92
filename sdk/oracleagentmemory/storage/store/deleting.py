"""Deleting records, threads and what actors own; purging what has expired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.extras import scope_key
from oracleagentmemory.storage.fingerprints import row_fingerprint
from oracleagentmemory.storage.kinds import (
    EXPIRING,
    IMAGE,
    MESSAGE,
    PARTS_OF_ACTOR,
    PARTS_OF_THREAD,
    PROFILE,
    THREAD,
    Kind,
    can_exist,
    kind_of,
)
from oracleagentmemory.storage.store.lifecycle import Lifecycle
from oracleagentmemory.storage.store.summaries import SummaryUpkeep
from oracleagentmemory.storage.writes import Prepared, prepared_value

#: Expired records deleted in one transaction.
PURGE_BATCH = 1000


class Deleting(Lifecycle, SummaryUpkeep):
    """`delete`, `delete_thread` and `purge_expired`."""

    def delete(
        self,
        record_type: str,
        record_id: str,
        cascade: bool = False,
        *,
        if_fingerprint: str | None = None,
    ) -> int:
        """Delete a record with all that hangs on it.

        Args:
            cascade: With a profile, also delete the threads and records of that user or agent,
                even when there is no profile.
            if_fingerprint: Delete it only while it has this fingerprint.

        Returns:
            1, or 0 when there is no such record; what goes with it is not counted.

        Raises:
            ConflictError: If the record has another fingerprint.
            InvalidInputError: If it is an image that is attached to a message.
        """
        return self.write(
            self.prepare_delete(record_type, record_id, cascade, if_fingerprint=if_fingerprint)
        )

    def prepare_delete(
        self,
        record_type: str,
        record_id: str,
        cascade: bool = False,
        *,
        if_fingerprint: str | None = None,
        thread_id: str | _NotSetMarker | None = NOT_SET_MARKER,
        visible_only: bool = False,
    ) -> Prepared[int]:
        """Prepare what `delete` writes.

        Args:
            thread_id: Delete it only when it belongs to exactly this thread.
            visible_only: Take an expired record for absent.
        """
        kind = kind_of(record_type)
        if kind is THREAD:
            return self.prepare_delete_thread(record_id, if_fingerprint=if_fingerprint)
        if not can_exist(record_id):
            return prepared_value(0)
        parameters = {"id": record_id}
        if kind.type_column is not None:
            parameters["type"] = kind.stored_type(record_type)
        statement = self.statements.select_one(kind, locked=True, expired=not visible_only)

        def apply(transaction: WriteTransaction) -> int:
            row = transaction.execute(statement, parameters).first()
            if row is not None and not isinstance(thread_id, _NotSetMarker):
                row = row if row.thread_id == thread_id else None
            if row is not None:
                self._compare(transaction, if_fingerprint, kind, row)
                if kind is IMAGE and row.message_id is not None:
                    raise InvalidInputError(
                        f"image {record_id!r} is attached to a message: delete the message, or "
                        "update it without the image"
                    )
                self._delete_row(transaction, kind, record_type, record_id, row)
            if cascade and kind is PROFILE:
                self._delete_owned(transaction, record_type.removesuffix("_profile"), record_id)
            return int(row is not None)

        return Prepared(apply)

    def delete_thread(self, thread_id: str, *, if_fingerprint: str | None = None) -> int:
        """Delete a thread with its messages, memories, images and summaries.

        Returns:
            1, or 0 when there is no such thread.
        """
        return self.write(self.prepare_delete_thread(thread_id, if_fingerprint=if_fingerprint))

    def prepare_delete_thread(
        self, thread_id: str, *, if_fingerprint: str | None = None
    ) -> Prepared[int]:
        """Prepare what `delete_thread` writes."""
        if not can_exist(thread_id):
            return prepared_value(0)
        statement = self.statements.select_one(THREAD, locked=True)

        def apply(transaction: WriteTransaction) -> int:
            row = transaction.execute(statement, {"id": thread_id}).first()
            if row is None:
                return 0
            self._check_fingerprint(if_fingerprint, row_fingerprint(THREAD, row), thread_id)
            gone = [
                one
                for kind in PARTS_OF_THREAD
                for one in self._remove(transaction, kind, "thread", thread_id)
            ]
            gone += self._remove(transaction, THREAD, "record", thread_id)
            self._note_scopes(transaction, gone, THREAD, thread_id)
            return 1

        return Prepared(apply)

    def _delete_row(
        self, transaction: WriteTransaction, kind: Kind, record_type: str, record_id: str, row: Any
    ) -> None:
        attached = []
        if kind is MESSAGE:
            attached = self._remove(transaction, IMAGE, "message", record_id)
        self._remove(transaction, kind, "record", record_id)
        if kind is MESSAGE:
            self._forget_in_summaries(transaction, [row.thread_id], row.order_seq)
        user_id = record_id if record_type == "user_profile" else getattr(row, "user_id", None)
        self._reserve(transaction, 1 + len(attached))
        change = self._change(user_id, kind, record_id, "delete", None)
        self._record_changes(transaction, [*self._deletions(IMAGE, attached), change])

    def _deletions(self, kind: Kind, gone: Sequence[Any]) -> list[dict[str, Any]]:
        return [self._change(one.user_id, kind, one.id, "delete", None) for one in gone]

    def _delete_owned(self, transaction: WriteTransaction, actor: str, actor_id: str) -> None:
        """Delete an actor's threads with all their rows, then what is left of the actor's own."""
        in_threads: Any = f"{actor}_threads"
        own: Any = actor
        gone: list[Any] = []
        for kind in PARTS_OF_THREAD:
            gone += self._remove(transaction, kind, in_threads, actor_id)
        gone += self._remove(transaction, THREAD, own, actor_id)
        for kind in PARTS_OF_ACTOR:
            left = self._remove(transaction, kind, own, actor_id)
            if kind is MESSAGE:  # in threads of others, which stay
                self._forget_in_summaries(transaction, [one.thread_id for one in left])
            gone += left
        if gone:
            self._note_scopes(transaction, gone, PROFILE, actor_id)

    def _note_scopes(
        self, transaction: WriteTransaction, gone: list[Any], kind: Kind, record_id: str
    ) -> None:
        """Append one change for each scope that lost records."""
        users = sorted({one.user_id for one in gone}, key=scope_key)
        self._reserve(transaction, len(users))
        changes = [self._change(user_id, kind, record_id, "scope", None) for user_id in users]
        self._record_changes(transaction, changes)

    # -- expiry -------------------------------------------------------------------------------

    def count_expired(self) -> int:
        """Return how many expired records a purge would delete."""
        with self.engine.read() as connection:
            counts = [connection.execute(one).scalar_one() for one in self.removals.count_expired]
        return sum(counts)

    def purge_expired(self) -> int:
        """Delete every expired record with all that hangs on it; return how many.

        Works in transactions of at most 1,000 records; inside a caller's transaction they are
        part of that one. Summaries that may cover a deleted message are emptied.
        """
        total = 0
        while gone := self.write(self.prepare_purge()):
            total += gone
        return total

    def prepare_purge(self) -> Prepared[int]:
        """Prepare one step of `purge_expired`: at most 1,000 records; 0 when all are gone."""
        return Prepared(self._purge_some)

    def _purge_some(self, transaction: WriteTransaction) -> int:
        limit = {"limit": PURGE_BATCH}
        for kind in EXPIRING:
            expired = transaction.execute(self.removals.expired(kind), limit).all()
            if not expired:
                continue
            ids = [row.id for row in expired]
            attached = []
            if kind is MESSAGE:
                attached = self._remove(transaction, IMAGE, "messages", ids)
                self._forget_in_summaries(transaction, [row.thread_id for row in expired])
            self._remove(transaction, kind, "records", ids)
            self._reserve(transaction, len(ids) + len(attached))
            changes = [*self._deletions(IMAGE, attached), *self._deletions(kind, expired)]
            self._record_changes(transaction, changes)
            return len(ids)
        return 0
