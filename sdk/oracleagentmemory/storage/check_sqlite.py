"""Faults that only a SQLite store can have: keyword rows, the sequence, the file itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa

from oracleagentmemory.storage.check import Check, Fault
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.store.extending import chunk_scope
from oracleagentmemory.storage.textsearch import index_text

_WITHOUT_TEXT = "\0"  # no keyword row can hold it


class SequenceBehind(Check):
    code = "sequence_behind"
    meaning = "the source of order numbers would give out one that is in use"

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        numbered = (
            self.tables.message.c.order_seq,
            self.tables.memory.c.order_seq,
            self.tables.actor_profile.c.order_seq,
            self.tables.document.c.order_seq,
            self.tables.record_chunks.c.chunk_id,
            self.extras.change.c.change_id,
        )
        used = [connection.execute(sa.select(sa.func.max(one))).scalar() or 0 for one in numbered]
        given = connection.execute(sa.select(self.extras.sequence.c.last)).scalars().all()
        if len(given) != 1 or given[0] < max(used):
            stands = ", ".join(map(str, given)) or "missing"
            highest = max([*used, *given])
            yield Fault(f"it stands at {stands}, the highest number is {max(used)}", highest)


class _TextCheck(Check):
    """Compares every chunk with its keyword row."""

    needs_extras = True

    def _pairs(self, connection: sa.Connection) -> Iterator[tuple[Any, tuple[str, str] | None]]:
        """Yield each chunk with the scope and words of its keyword row, None without one."""
        chunk, text = self.tables.record_chunks, self.extras.text
        both = chunk.outerjoin(text, text.c.rowid == chunk.c.chunk_id)
        fields = [chunk.c[name] for name in _CHUNK_FIELDS]
        found = sa.func.coalesce(text.c.scope, _WITHOUT_TEXT).label("scope")
        statement = sa.select(*fields, found, text.c.body).select_from(both)
        for row in connection.execute(statement.order_by(chunk.c.chunk_id)):
            yield row, None if row.scope == _WITHOUT_TEXT else (row.scope, row.body)


class MissingTexts(_TextCheck):
    code = "missing_texts"
    meaning = "chunks that keyword search does not know"

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        for row, words in self._pairs(connection):
            if words is None:
                yield Fault(f"{row.source_record_type} {row.source_id}", row)


class WrongTexts(_TextCheck):
    code = "wrong_texts"
    meaning = "chunks that keyword search knows by other words or in another scope"

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        for row, words in self._pairs(connection):
            right = (chunk_scope(row._mapping), index_text(row.chunk_text or ""))
            if words is not None and words != right:
                yield Fault(f"{row.source_record_type} {row.source_id}", row)


class OrphanTexts(Check):
    code = "orphan_texts"
    meaning = "keyword rows of chunks that do not exist"
    needs_extras = True

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        text, chunk = self.extras.text, self.tables.record_chunks
        there = sa.exists().where(chunk.c.chunk_id == text.c.rowid)
        for row in connection.execute(sa.select(text.c.rowid.label("chunk_id")).where(~there)):
            yield Fault(f"chunk {row.chunk_id}", row)


class VectorSizes(Check):
    code = "vector_sizes"
    meaning = "chunks whose vector has another dimension than the store (run memory_reembed)"
    repairable = False

    def __init__(self, tables: ManagedTables, extras: ExtraTables, dimension: int | None) -> None:
        super().__init__(tables, extras)
        self.dimension = dimension

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        chunk = self.tables.record_chunks.c
        size = sa.func.length(sa.type_coerce(chunk.embedding, sa.LargeBinary))
        odd = sa.select(chunk.source_record_type, chunk.source_id).where(
            chunk.embedding.is_not(None), size != 4 * (self.dimension or 0)
        )
        for row in connection.execute(odd.order_by(chunk.chunk_id)):
            yield Fault(f"{row.source_record_type} {row.source_id}", row)


class MissingParents(Check):
    code = "missing_parents"
    meaning = "records that name a thread, message or memory that does not exist"
    repairable = False

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        for table in self.tables.record_tables:
            rows = connection.exec_driver_sql(f"PRAGMA foreign_key_check({table.name})")
            for name, number, parent, _ in rows:
                yield Fault(f"row {number} of {name}, parent {parent}", None)


class DamagedFile(Check):
    code = "damaged_file"
    meaning = "faults in the database file itself (restore a backup)"
    repairable = False
    alone = True

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        for line in connection.exec_driver_sql("PRAGMA quick_check").scalars():
            if line != "ok":
                yield Fault(str(line), None)


_CHUNK_FIELDS = ("chunk_id", "source_id", "source_record_type", "user_id", "chunk_text")
#: Before the checks of every store, and after them.
FIRST_CHECKS: tuple[type[Check], ...] = (DamagedFile, SequenceBehind)
LAST_CHECKS: tuple[type[Check], ...] = (OrphanTexts, MissingTexts, WrongTexts, MissingParents)
