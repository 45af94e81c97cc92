"""Writing the rows of a dump into a store, group by group, in one transaction."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.apis.upkeep import RestoreReport
from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.errors import DuplicateIdError, InvalidInputError, NotFoundError
from oracleagentmemory.storage.dump import (
    CHANGE,
    CHUNK,
    DUMPED_KINDS,
    GROUP,
    RELATION,
    SOURCE,
    STATE,
    DumpHeader,
    kind_of_chunk,
)
from oracleagentmemory.storage.dump_lines import CheckedDump, Rows
from oracleagentmemory.storage.dump_reads import COVERED, WHOLE_STORE
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.extras import scope_key
from oracleagentmemory.storage.fingerprints import ImageMark, fingerprint
from oracleagentmemory.storage.kinds import IMAGE, MEMORY, MESSAGE, PROFILE, SUMMARY, THREAD, Kind
from oracleagentmemory.storage.lifecycle import LIFECYCLE_REASONS
from oracleagentmemory.storage.statements import in_lists
from oracleagentmemory.storage.store.extending import chunk_scope
from oracleagentmemory.storage.store.lifecycle import Lifecycle
from oracleagentmemory.storage.textsearch import index_text


@dataclass
class _Restored:
    """What one restore has done so far.

    Attributes:
        renew: Give new ids.
        new_ids: The new id of each old one, by kind of record.
        latest: The latest records by their new id: what the next rows belong to.
        scopes: Keys of the users whose records came back.
        threads: Threads of the dump, by their new ids.
        memories: Memories of the dump, by their new ids.
    """

    transaction: WriteTransaction
    renew: bool
    new_ids: dict[str, dict[str, str]] = field(default_factory=dict)
    rows: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    latest: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    scopes: set[str] = field(default_factory=set)
    threads: set[str] = field(default_factory=set)
    memories: set[str] = field(default_factory=set)

    def fresh(self, kind: str, record_id: str) -> str:
        """Return the id that a record of the dump gets."""
        if not self.renew or kind == PROFILE.name:
            return record_id
        return self.new_ids.setdefault(kind, {}).setdefault(record_id, str(uuid.uuid4()))

    def known(self, kind: str, record_id: str | None) -> str | None:
        """Return the id by which a record is known now: a new one if it came with the dump."""
        if record_id is None:
            return None
        return self.new_ids.get(kind, {}).get(record_id, record_id)

    def report(self) -> RestoreReport:
        return RestoreReport(dict(self.rows), self.new_ids, dict(self.left_out))


class Restoring(Lifecycle):
    """The writing half of `restore`."""

    def _restore(
        self, transaction: WriteTransaction, dump: CheckedDump, *, renew: bool
    ) -> RestoreReport:
        """Write every row of a checked dump and note the change of each scope."""
        self._take_vectors(transaction, dump.header, dump.has_vectors)
        work = _Restored(transaction, renew)
        kinds = {kind.table_name: kind for kind in DUMPED_KINDS}
        before = ""
        for name, rows in dump.groups():
            if name in kinds:
                if name != before or len(work.latest) >= GROUP:
                    work.latest = {}
                written = self._restore_records(work, kinds[name], rows)
            else:
                written = _PARTS[name](self, work, rows)
            work.rows[name] += written
            work.left_out[name] += len(rows) - written
            before = name
        scopes = sorted(work.scopes)
        self._reserve(transaction, len(scopes))
        note = {
            "record_kind": WHOLE_STORE,
            "record_id": "restore",
            "operation": "scope",
            "fingerprint": None,
        }
        if scopes:
            self._record_changes(transaction, [{"scope_key": key, **note} for key in scopes])
        work.rows, work.left_out = +work.rows, +work.left_out
        return work.report()

    def _take_vectors(
        self, transaction: WriteTransaction, header: DumpHeader, has_vectors: bool
    ) -> None:
        """Compare the dump's vectors with the store's; an empty store takes over what they are."""
        if header.dimension is None:
            return
        if "embedding" not in self.tables.record_chunks.c:
            if has_vectors:
                raise InvalidInputError("the dump has vectors and this store keeps none")
            return
        config = self.registry.read(transaction.connection, locked=True) or self.config
        if config.dimension is None:
            saved = config.with_vectors(header.dimension, header.embedder_id).saved
            self.registry.save(transaction.connection, saved)
        elif has_vectors:
            config.check_vectors(header.dimension, header.embedder_id)

    # -- records --------------------------------------------------------------------------------

    def _restore_records(self, work: _Restored, kind: Kind, rows: Rows) -> int:
        """Insert records of one kind; return how many."""
        rows = self._without_known_actors(work, rows) if kind is PROFILE else rows
        for row in rows:
            self._place(work, kind, row)
        if not rows:
            return 0
        ids = [row[kind.key] for row in rows]
        self._refuse_taken(work.transaction, kind, ids)
        if kind is not THREAD:
            self._require_parents(work, rows)
        inserted = [dict(row) for row in rows]
        if kind.order == "order_seq":
            self._reserve(work.transaction, len(rows))
            self._number(work.transaction, inserted, "order_seq")
        with self._integrity(work.transaction, kind, ids):
            insert = self.statements.insert(kind.table(self.tables))
            work.transaction.execute(insert, inserted)
        if kind is IMAGE:  # its bytes are written, and may be many
            rows = [{**row, "blob": ImageMark.of(row["blob"])} for row in rows]
        work.latest |= dict(zip(ids, rows, strict=True))
        return len(rows)

    def _place(self, work: _Restored, kind: Kind, row: dict[str, Any]) -> None:
        """Give a record its id and references, and note whose scope it changes."""
        row[kind.key] = work.fresh(kind.name, row[kind.key])
        if kind is THREAD:
            work.threads.add(row["record_id"])
        elif kind is MEMORY:
            work.memories.add(row["record_id"])
        if kind is not THREAD and kind is not PROFILE:
            row["thread_id"] = work.known(THREAD.name, row["thread_id"])
        if kind is IMAGE:
            row["message_id"] = work.known(MESSAGE.name, row["message_id"])
        elif kind is MESSAGE:
            for part in row["content"]:
                if part["type"] == "image" and isinstance(part.get("id"), str):
                    part["id"] = work.fresh(IMAGE.name, part["id"])
        elif kind is SUMMARY:
            self._find_covered(work, row)
        work.scopes.add(scope_key(user_of(kind, row)))

    def _without_known_actors(self, work: _Restored, rows: Rows) -> Rows:
        """Leave out, when ids are new, profiles of actors that have one: an actor has no copy."""
        if not work.renew:
            return rows
        ids = [row["actor_id"] for row in rows]
        existing = self.statements.existing(PROFILE)
        known = set(work.transaction.execute(existing, {"ids": ids}).scalars())
        return [row for row in rows if row["actor_id"] not in known]

    def _refuse_taken(self, transaction: WriteTransaction, kind: Kind, ids: list[str]) -> None:
        taken = transaction.execute(self.statements.existing(kind), {"ids": ids}).scalars().all()
        if taken:
            named = kind.name.replace("_", " ")
            raise DuplicateIdError(f"a {named} with the id {min(taken)!r} exists already")

    def _require_parents(self, work: _Restored, rows: Rows) -> None:
        """Lock the threads that are not from the dump and must exist."""
        named = {row.get("thread_id") for row in rows} - work.threads - {None}
        if named:
            self._require_threads(work.transaction, [str(one) for one in named])
        messages = {row["message_id"] for row in rows if row.get("message_id") is not None}
        missing = messages - self._existing(work, MESSAGE, messages) if messages else set()
        if missing:
            raise NotFoundError(f"there is no message with the id {min(missing)!r}")

    def _find_covered(self, work: _Restored, row: dict[str, Any]) -> None:
        """Turn the count of messages that a summary covers back into the last one's number."""
        reserved = (row["metadata"] or {}).get(RESERVED_KEY)
        if not isinstance(reserved, dict):
            return
        count = reserved.get(COVERED)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            return
        message = self.tables.message.c
        numbers = (
            sa.select(message.order_seq)
            .where(message.thread_id == row["thread_id"])
            .order_by(message.order_seq)
            .offset(min(count, 2**31) - 1)
            .limit(1)
        )
        reserved[COVERED] = work.transaction.execute(numbers).scalar() or 0

    # -- what belongs to records ------------------------------------------------------------------

    def _restore_states(self, work: _Restored, rows: Rows) -> int:
        if not self.has_extras:
            return 0
        kept = []
        for row in rows:
            row["record_id"] = work.known(row["record_kind"], row["record_id"])
            record = work.latest.get(row["record_id"])
            if record is not None:
                if row["record_kind"] == IMAGE.name:
                    mark = ImageMark(record["blob"].byte_count, row["content_hash"])
                    record = {**record, "blob": mark}
                row["fingerprint"] = row["fingerprint"] or fingerprint(row["record_kind"], record)
                kept.append(row)
        return self._insert_plain(work, self.extras.record_state, kept, "state")

    def _restore_chunks(self, work: _Restored, rows: Rows) -> int:
        kept = []
        for row in rows:
            kind = kind_of_chunk(row["source_record_type"])
            assert kind is not None  # noqa: S101 - the dump has been checked
            row["source_id"] = work.known(kind.name, row["source_id"])
            row["thread_id"] = work.known(THREAD.name, row["thread_id"])
            if row["source_id"] in work.latest:
                kept.append(row)
        if not kept:
            return 0
        tokens = [row.pop("token_ids") for row in kept]
        self._reserve(work.transaction, len(kept))
        chunk_ids = self._insert_chunks(work.transaction, kept)
        token_rows = [
            {"chunk_id": chunk_id, "token_ids": data}
            for chunk_id, data in zip(chunk_ids, tokens, strict=True)
            if data is not None
        ]
        if token_rows and self.has_extras:
            insert = self.statements.insert(self.extras.chunk_token)
            work.transaction.execute(insert, token_rows)
        texts = [
            {
                "rowid": chunk_id,
                "scope": chunk_scope(row),
                "body": index_text(row["chunk_text"] or ""),
            }
            for chunk_id, row in zip(chunk_ids, kept, strict=True)
        ]
        self._insert_texts(work.transaction, texts)
        return len(kept)

    def _restore_sources(self, work: _Restored, rows: Rows) -> int:
        """Insert the sources whose message exists."""
        if not self.has_extras:
            return 0
        for row in rows:
            row["memory_id"] = work.known(MEMORY.name, row["memory_id"])
            row["message_id"] = work.known(MESSAGE.name, row["message_id"])
        messages = self._existing(work, MESSAGE, {row["message_id"] for row in rows})
        kept = [row for row in rows if row["message_id"] in messages]
        return self._insert_plain(work, self.extras.source, kept, "source")

    def _restore_relations(self, work: _Restored, rows: Rows) -> int:
        """Insert the relations whose memories both exist, and settle the statuses they touch."""
        ends = ("source_memory_id", "target_memory_id")
        for row in rows:
            row["relation_id"] = work.fresh("relation", row["relation_id"])
            for end in ends:
                row[end] = work.known(MEMORY.name, row[end])
        memories = self._existing(work, MEMORY, {row[end] for row in rows for end in ends})
        kept = [row for row in rows if all(row[end] in memories for end in ends)]
        for row in kept:
            work.scopes |= {scope_key(row["source_memory_user_id"])}
        # Locked first: a trigger of an Oracle store would change them without noting it.
        touched = self._lock_memories(work.transaction, _unsettled(work, rows, memories))
        written = self._insert_plain(work, self.tables.memory_link, kept, "relation")
        self._settle(work.transaction, list(touched.values()))
        return written

    def _restore_changes(self, work: _Restored, rows: Rows) -> int:
        """Insert the log of a whole store; copies with new ids begin without one."""
        if not self.has_extras or work.renew:
            return 0
        self._reserve(work.transaction, len(rows))
        self._number(work.transaction, rows, "change_id")
        return self._insert_plain(work, self.extras.change, rows, "change")

    def _insert_plain(self, work: _Restored, table: sa.Table, rows: Rows, what: str) -> int:
        if rows:
            try:
                work.transaction.execute(self.statements.insert(table), rows)
            except sa.exc.IntegrityError as error:
                raise DuplicateIdError(
                    f"a {what} of the dump exists already, or stands twice in it"
                ) from error
        return len(rows)

    def _existing(self, work: _Restored, kind: Kind, ids: set[str]) -> set[str]:
        statement = self.statements.existing(kind)
        return {
            found
            for part in in_lists(sorted(ids))
            for found in work.transaction.execute(statement, {"ids": part}).scalars()
        }


_PARTS: Mapping[str, Any] = {
    STATE: Restoring._restore_states,
    CHUNK: Restoring._restore_chunks,
    SOURCE: Restoring._restore_sources,
    RELATION: Restoring._restore_relations,
    CHANGE: Restoring._restore_changes,
}


def _unsettled(work: _Restored, rows: Rows, memories: set[str]) -> set[str]:
    """Return the memories whose status restored relations may change.

    That are those which were there before, and those of the dump whose relation is left out. The
    others came back with the status that the relation gave them.
    """
    return {
        row["target_memory_id"]
        for row in rows
        if row["relation_type"] in LIFECYCLE_REASONS
        and row["target_memory_id"] in memories
        and not (row["target_memory_id"] in work.memories and row["source_memory_id"] in memories)
    }


def user_of(kind: Kind, row: Mapping[Any, Any]) -> str | None:
    """Return the user whose scope a record is in: that of a user's profile is the user."""
    if kind is PROFILE:
        return row["actor_id"] if row["actor_type"] == "user" else None
    user_id: str | None = row["user_id"]
    return user_id
