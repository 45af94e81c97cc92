"""What a SQLite database has of a store, compared with what the store needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex

from oracleagentmemory.storage.extras import EXTRAS_VERSION, ExtraTables
from oracleagentmemory.storage.kinds import KINDS
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.registry import StoreConfig
from oracleagentmemory.storage.upgrades import version_of


@dataclass
class SchemaState:
    """What was found.

    Attributes:
        config: The registry row, None when there is none.
        present: Names of the store that something in the database has.
        missing: Tables that are not there, by name.
        strangers: What has a name of the store and is no table of it, with the reason.
        indexes: Indexes that are missing.
        other_indexes: Indexes on other columns than they should be.
        has_sequence: Whether the sequence has its row.
    """

    config: StoreConfig | None
    present: set[str] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)
    strangers: dict[str, str] = field(default_factory=dict)
    indexes: list[sa.Index] = field(default_factory=list)
    other_indexes: list[sa.Index] = field(default_factory=list)
    has_sequence: bool = True

    @property
    def is_complete(self) -> bool:
        """Whether the store can be worked on as it is."""
        return self.config is not None and not self.lacking

    @property
    def lacking(self) -> list[str]:
        """What keeps the store from being complete, in words."""
        found = [] if self.config is not None else ["its registry row"]
        if self.config is not None and version_of(self.config) < EXTRAS_VERSION:
            found.append(
                f"the upgrade of its SDK-only tables from layout {version_of(self.config)} to "
                f"{EXTRAS_VERSION}"
            )
        found += [f"table {name}" for name in self.missing]
        found += [f"table {name}: {reason}" for name, reason in self.strangers.items()]
        found += [f"index {index.name}" for index in self.indexes]
        if not self.has_sequence:
            found.append("the row of its sequence")
        return found


class SchemaInspection:
    """Looks at the tables and indexes of one store."""

    def __init__(self, tables: ManagedTables, extras: ExtraTables) -> None:
        self.tables = tables
        self.extras = extras

    @property
    def own_tables(self) -> list[sa.Table]:
        """Every table of this store alone, parents first; the registry belongs to all stores."""
        return [table for table in self.tables.metadata.sorted_tables if table is not self.registry]

    @property
    def registry(self) -> sa.Table:
        """The registry, shared by the stores of a database."""
        return self.tables.stores

    def look(self, connection: sa.Connection, config: StoreConfig | None) -> SchemaState:
        """Compare what is there with what the store needs."""
        state = SchemaState(config)
        things = {
            name.lower(): (kind, sql or "")
            for kind, name, sql in connection.exec_driver_sql(
                "SELECT type, name, sql FROM sqlite_master"
            )
        }
        for table in self.own_tables:
            self._look_at(connection, table, things, state)
        text = self.extras.text.name
        if text not in things:
            state.missing.append(text)
        else:
            state.present.add(text)
            if "fts5" not in things[text][1].lower():
                state.strangers[text] = "it is no full-text table"
        sequence = self.extras.sequence
        if sequence.name in state.present and sequence.name not in state.strangers:
            state.has_sequence = connection.execute(sa.select(sequence.c.last)).first() is not None
        return state

    def _look_at(
        self,
        connection: sa.Connection,
        table: sa.Table,
        things: dict[str, tuple[str, str]],
        state: SchemaState,
    ) -> None:
        if table.name not in things:
            state.missing.append(table.name)
            return
        state.present.add(table.name)
        lacking = _lacking_columns(connection, table)
        if things[table.name][0] != "table":
            state.strangers[table.name] = f"it is a {things[table.name][0]}"
        elif lacking:
            state.strangers[table.name] = f"it has no column {', '.join(lacking)}"
        else:
            for index in sorted(table.indexes, key=lambda one: str(one.name)):
                found = things.get(str(index.name))
                if found is None:
                    state.indexes.append(index)
                elif _plain(found[1]) != _plain(index_ddl(connection, index)):
                    state.other_indexes.append(index)

    def rows_lost_with(self, connection: sa.Connection, missing: str) -> bool:
        """Tell whether rows are left that belong to rows of a missing managed table."""
        return any(
            connection.execute(sa.select(sa.literal(1)).where(condition).limit(1)).first()
            is not None
            for condition in self._left_behind(connection, missing)
        )

    def _left_behind(
        self, connection: sa.Connection, missing: str
    ) -> Iterator[sa.ColumnElement[bool]]:
        present = set(sa.inspect(connection).get_table_names())
        chunks, state = self.tables.record_chunks, self.extras.record_state
        if missing == chunks.name and self.extras.chunk_token.name in present:
            yield sa.exists(sa.select(self.extras.chunk_token.c.chunk_id))
        if missing == chunks.name and self.extras.text.name in present:
            yield sa.exists(sa.select(self.extras.text.c.rowid))
        for kind in KINDS:
            if kind.table(self.tables).name != missing:
                continue
            if state.name in present:
                yield sa.exists(
                    sa.select(state.c.record_id).where(state.c.record_kind == kind.name)
                )
            if chunks.name in present:
                of_types = chunks.c.source_record_type.in_(kind.types)
                yield sa.exists(sa.select(chunks.c.chunk_id).where(of_types))
        if missing == self.tables.thread.name:
            for table in (self.tables.message, self.tables.memory, self.tables.thread_summary):
                if table.name in present:
                    yield sa.exists(
                        sa.select(table.c.thread_id).where(table.c.thread_id.is_not(None))
                    )

    def neighbours_on(self, connection: sa.Connection) -> list[str]:
        """Return tables of others that refer to a table of this store by a foreign key."""
        mine = {table.name for table in self.own_tables}
        names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")
        others = [name for name in names.scalars() if name.lower() not in mine]
        return [
            name
            for name in others
            if {
                row[2].lower()
                for row in connection.exec_driver_sql(f"PRAGMA foreign_key_list({_quoted(name)})")
            }
            & mine
        ]


def index_ddl(connection: sa.Connection, index: sa.Index) -> str:
    """Return the statement that makes an index."""
    return str(CreateIndex(index).compile(dialect=connection.dialect))


def _lacking_columns(connection: sa.Connection, table: sa.Table) -> list[str]:
    rows = connection.exec_driver_sql(f"PRAGMA table_info({_quoted(table.name)})")
    found = {row[1].lower() for row in rows}
    return [column.name for column in table.columns if column.name not in found]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(sql: str) -> str:
    return "".join(sql.replace('"', "").lower().split())
