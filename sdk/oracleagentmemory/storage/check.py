"""What can be wrong with a store's rows, how it is found and how it is put right.

Records are the truth: what stands beside them (chunks, tokens, keyword rows, states, sources) is
compared with them and made to agree. Each class below is one sort of fault.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.apis.upkeep import Finding
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.fingerprints import (
    UNKNOWN_BYTES,
    ImageMark,
    fingerprint,
    marked_image,
)
from oracleagentmemory.storage.kinds import IMAGE, KINDS, PROFILE, Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.registry import Registry
from oracleagentmemory.storage.statements import bind, columns_of

#: Faults of one sort that a report names; it counts all.
EXAMPLES = 5
SEARCHED_KINDS = tuple(kind for kind in KINDS if kind.text is not None)


@dataclass(frozen=True, slots=True)
class Fault:
    """One row that is wrong: what it concerns, and what is needed to put it right."""

    about: str
    row: Any


class Check(abc.ABC):
    """One sort of fault.

    Attributes:
        needs_extras: It is about the SDK-only tables.
        alone: With a fault of this sort nothing else can be told.
    """

    code: ClassVar[str]
    meaning: ClassVar[str]
    repairable: ClassVar[bool] = True
    needs_extras: ClassVar[bool] = False
    alone: ClassVar[bool] = False

    def __init__(self, tables: ManagedTables, extras: ExtraTables) -> None:
        self.tables = tables
        self.extras = extras

    @abc.abstractmethod
    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        """Yield every fault."""

    def finding(self, connection: sa.Connection) -> Finding | None:
        """Count the faults and keep a few; None when there is none."""
        faults = self.faults(connection)
        first = [fault.about for fault in islice(faults, EXAMPLES)]
        count = len(first) + sum(1 for _ in faults)
        if not count:
            return None
        return Finding(self.code, self.meaning, count, tuple(first), self.repairable)


# -- chunks -------------------------------------------------------------------------------------


class OrphanChunks(Check):
    code = "orphan_chunks"
    meaning = "chunks of records that do not exist"

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        chunks = self.tables.record_chunks.c
        columns = (chunks.chunk_id, chunks.source_id, chunks.source_record_type, chunks.user_id)
        statement = sa.select(*columns).where(orphaned(self.tables)).order_by(chunks.chunk_id)
        for row in connection.execute(statement):
            yield Fault(f"{row.source_record_type} {row.source_id}", row)


class MisplacedChunks(Check):
    code = "misplaced_chunks"
    meaning = "chunks whose type, status or scope is not their record's"

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        for kind in SEARCHED_KINDS:
            for row in connection.execute(self._select(kind)):
                yield Fault(f"{row.source_record_type} {row.source_id}", row)

    def _select(self, kind: Kind) -> sa.Select[Any]:
        """Select chunks that differ, with the values that their record has."""
        chunk, record = self.tables.record_chunks.c, kind.table(self.tables)
        right: dict[str, ColumnElement[Any]] = {"status": record.c.status}
        if kind is not PROFILE:
            right |= {name: record.c[name] for name in ("thread_id", "user_id", "agent_id")}
        if kind.type_column is not None and kind is not PROFILE:
            right["source_record_type"] = record.c[kind.type_column]
        differs = sa.or_(*(_differ(chunk[name], value) for name, value in right.items()))
        own = (chunk.chunk_id, chunk.source_id, chunk.source_record_type, chunk.user_id)
        found = sa.select(*own, *(value.label(f"right_{name}") for name, value in right.items()))
        return found.where(
            chunk.source_record_type.in_(kind.types),
            record.c[kind.key] == chunk.source_id,
            differs,
        )


def orphaned(tables: ManagedTables) -> ColumnElement[bool]:
    """Return the condition that a chunk names no record that exists."""
    chunk, profile = tables.record_chunks.c, tables.actor_profile.c
    owned = []
    for kind in SEARCHED_KINDS:
        for types in [kind.types] if kind is not PROFILE else [(one,) for one in kind.types]:
            key = kind.table(tables).c[kind.key]
            of_type = [profile.actor_type == kind.stored_type(types[0])] if kind is PROFILE else []
            there = sa.exists().where(key == chunk.source_id, *of_type)
            owned.append(sa.and_(chunk.source_record_type.in_(types), there))
    return sa.not_(sa.or_(*owned))


def _differ(left: ColumnElement[Any], right: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that two columns differ, NULL being a value."""
    return sa.or_(
        left != right,
        sa.and_(left.is_(None), right.is_not(None)),
        sa.and_(left.is_not(None), right.is_(None)),
    )


# -- tokens -------------------------------------------------------------------------------------


class OrphanTokens(Check):
    code = "orphan_tokens"
    meaning = "token lists of chunks that do not exist"
    needs_extras = True

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        token, chunk = self.extras.chunk_token.c, self.tables.record_chunks.c
        there = sa.exists().where(chunk.chunk_id == token.chunk_id)
        for row in connection.execute(sa.select(token.chunk_id).where(~there)):
            yield Fault(f"chunk {row.chunk_id}", row)


class MissingTokens(Check):
    code = "missing_tokens"
    meaning = "chunks without the token list that weighs queries"
    needs_extras = True

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        token, chunk = self.extras.chunk_token.c, self.tables.record_chunks.c
        there = sa.exists().where(token.chunk_id == chunk.chunk_id)
        columns = (chunk.chunk_id, chunk.source_id, chunk.source_record_type, chunk.user_id)
        lacking = sa.select(*columns, chunk.chunk_text).where(~there, chunk.embedding.is_not(None))
        for row in connection.execute(lacking.order_by(chunk.chunk_id)):
            yield Fault(f"{row.source_record_type} {row.source_id}", row)


# -- states and sources ---------------------------------------------------------------------------


class MissingStates(Check):
    code = "missing_states"
    meaning = "records without a row that counts their versions"
    needs_extras = True

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        state = self.extras.record_state.c
        for kind in KINDS:
            key = kind.table(self.tables).c[kind.key]
            there = sa.exists().where(state.record_kind == kind.name, state.record_id == key)
            for row in connection.execute(sa.select(key.label("id")).where(~there)):
                yield Fault(f"{kind.name} {row.id}", (kind, row.id))


class OrphanStates(Check):
    code = "orphan_states"
    meaning = "version rows of records that do not exist"
    needs_extras = True

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        state = self.extras.record_state.c
        kept = []
        for kind in KINDS:
            there = sa.exists().where(kind.table(self.tables).c[kind.key] == state.record_id)
            kept.append(sa.and_(state.record_kind == kind.name, there))
        orphans = sa.select(state.record_kind, state.record_id).where(sa.not_(sa.or_(*kept)))
        for row in connection.execute(orphans):
            yield Fault(f"{row.record_kind} {row.record_id}", row)


class ChangedOutside(Check):
    code = "changed_outside"
    meaning = "records that something other than this SDK has changed"
    needs_extras = True

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        state = self.extras.record_state.c
        for kind in KINDS:
            table = kind.table(self.tables)
            mine = (state.record_kind == kind.name, state.record_id == table.c[kind.key])
            own = columns_of(kind, table, with_bytes=False)
            notes = (
                state.fingerprint.label("noted_fingerprint"),
                state.content_hash.label("noted_content"),
            )
            for row in connection.execute(sa.select(*own, *notes).where(*mine)):
                if self._differs(connection, kind, row):
                    record_id = row._mapping[kind.key]
                    yield Fault(f"{kind.name} {record_id}", (kind, record_id))

    def _differs(self, connection: sa.Connection, kind: Kind, row: Any) -> bool:
        columns = dict(row._mapping)
        noted, content = columns.pop("noted_fingerprint"), columns.pop("noted_content")
        if kind is IMAGE:
            columns = marked_image(columns, content)
        if noted != fingerprint(kind.name, columns):
            return True
        if kind is not IMAGE or content == UNKNOWN_BYTES:
            return False
        # One after the other: all images of a store may be more than the memory holds.
        image = self.tables.document.c
        own = sa.select(image.blob).where(image.record_id == bind("id", image.record_id))
        data = connection.execute(own, {"id": row.record_id}).scalar_one()
        return ImageMark.of(bytes(data)).digest != str(content)


class OrphanSources(Check):
    code = "orphan_sources"
    meaning = "sources whose memory or message does not exist"
    needs_extras = True

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        source = self.extras.source.c
        memory = sa.exists().where(self.tables.memory.c.record_id == source.memory_id)
        message = sa.exists().where(self.tables.message.c.record_id == source.message_id)
        statement = sa.select(source.memory_id, source.message_id)
        for row in connection.execute(statement.where(sa.or_(~memory, ~message))):
            yield Fault(f"memory {row.memory_id} from message {row.message_id}", row)


# -- statuses -----------------------------------------------------------------------------------


class LivingTargets(Check):
    code = "living_targets"
    meaning = "valid memories that another one supersedes, refines or duplicates"

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        memory, link = self.tables.memory.c, self.tables.memory_link.c
        ended = sa.exists().where(
            link.target_memory_id == memory.record_id,
            link.relation_type.in_(("supersedes", "refines", "duplicates")),
        )
        statement = sa.select(memory.record_id).where(memory.status == "valid", ended)
        for row in connection.execute(statement):
            yield Fault(f"memory {row.record_id}", row.record_id)


class RegistryState(Check):
    code = "registry"
    meaning = "rows of the registry that do not say that the store is whole"
    repairable = False

    def __init__(self, tables: ManagedTables, extras: ExtraTables, registry: Registry) -> None:
        super().__init__(tables, extras)
        self.registry = registry

    def faults(self, connection: sa.Connection) -> Iterator[Fault]:
        config = self.registry.read(connection)
        state = "missing" if config is None else config.lifecycle_state
        at_work = config is not None and config.reembedding is not None
        if state != "CREATED" and not at_work:
            yield Fault(f"{self.registry.name} is {state}, not CREATED", None)


#: In the order in which faults are put right.
COMMON_CHECKS: tuple[type[Check], ...] = (
    OrphanChunks,
    LivingTargets,
    MisplacedChunks,
    OrphanTokens,
    MissingStates,
    OrphanStates,
    ChangedOutside,
    OrphanSources,
)
