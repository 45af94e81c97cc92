"""Making, repairing, upgrading and dropping the tables of a SQLite store.

All of it happens inside one BEGIN IMMEDIATE (an upgrade: one for each step), since several
processes may open a file at once. Nothing but the store's own names is made or dropped.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, DropIndex, DropTable

from oracleagentmemory.errors import StateError
from oracleagentmemory.storage.engine import StoreEngine
from oracleagentmemory.storage.extras import EXTRAS_VERSION, ExtraTables
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.registry import Registry, StoreConfig
from oracleagentmemory.storage.schema_state import SchemaInspection, SchemaState
from oracleagentmemory.storage.upgrades import steps_for, version_of

if TYPE_CHECKING:
    from oracleagentmemory.core.dbschemapolicy import SchemaPolicy

#: The registry's owner column; a SQLite file has no users.
OWNER = "main"
logger = logging.getLogger(__name__)


class SQLiteSchema:
    """The schema of one store in a SQLite database.

    Attributes:
        repairs: What opening an existing store made again, upgraded or corrected, in words.
    """

    def __init__(
        self, engine: StoreEngine, tables: ManagedTables, extras: ExtraTables, registry: Registry
    ) -> None:
        self.engine = engine
        self.tables = tables
        self.extras = extras
        self.registry = registry
        self.repairs: list[str] = []
        self._inspection = SchemaInspection(tables, extras)

    def open(self, policy: SchemaPolicy, new_config: dict[str, Any]) -> StoreConfig:
        """Do what the policy asks and return the store's registry row.

        Args:
            policy: What to check, create or drop.
            new_config: The registry row's JSON for a store that is created.

        Raises:
            StateError: If the policy does not allow what would be needed, or it is not safe.
        """
        if policy.value == "no_check":
            raise StateError("schema_policy=NO_CHECK needs an end-user security context of Oracle")
        # Most openings find everything: a read does not wait for a writer.
        with self.engine.read() as connection:
            state = self._look(connection)
        if state.config is not None and policy.value != "recreate":
            state.config.check_state()
        if policy.value == "require_existing" and not state.is_complete:
            raise StateError(self._refusal(state, "CREATE_IF_NECESSARY makes or upgrades it"))
        wanted = policy.value == "create_if_necessary" and state.other_indexes
        if policy.value == "recreate" or wanted or not state.is_complete:
            if self.engine.in_transaction:
                raise StateError(
                    "a store cannot be made, repaired or dropped inside an open transaction"
                )
            return self._make(policy, new_config)
        assert state.config is not None  # noqa: S101 - it is complete
        return state.config

    def _make(self, policy: SchemaPolicy, new_config: dict[str, Any]) -> StoreConfig:
        if policy.value == "recreate":
            with self.engine.write() as transaction:
                self._drop(transaction.connection)
                return self._create(transaction.connection, new_config)
        if policy.value == "create_if_necessary":
            self._upgrade()
        with self.engine.write() as transaction:
            connection = transaction.connection
            state = self._look(connection)  # again: another process may have been faster
            if state.config is None and not state.present:
                return self._create(connection, new_config)
            if policy.value == "create_if_empty" and not state.is_complete:
                raise StateError(self._refusal(state, "CREATE_IF_EMPTY completes nothing"))
            return self._repair(connection, state, new_config)

    def _create(self, connection: sa.Connection, new_config: dict[str, Any]) -> StoreConfig:
        self.tables.metadata.create_all(connection)
        self._create_text(connection)
        connection.execute(sa.insert(self.extras.sequence).values(last=0))
        self.registry.insert(connection, new_config)
        return self._registered(connection)

    def _upgrade(self) -> None:
        """Take the steps that the store lacks, each with its number in one transaction."""
        while True:
            with self.engine.write() as transaction:
                config = self._read(transaction.connection)
                if config is None:
                    return
                step = next(steps_for(version_of(config)), None)
                if step is None:
                    return
                for statement in step.statements(self.extras):
                    transaction.execute(statement)
                config = config.with_extras_version(step.version)
                self.registry.save(transaction.connection, config.saved)
            self._note(f"upgraded to layout {step.version}: {step.what}")

    def _repair(
        self, connection: sa.Connection, state: SchemaState, new_config: dict[str, Any]
    ) -> StoreConfig:
        """Make what is missing, where no stored record is lost by going on without it."""
        if state.strangers:
            raise StateError(self._refusal(state, "nothing was changed"))
        lost = [name for name in state.missing if self._inspection.rows_lost_with(connection, name)]
        if lost:
            raise StateError(
                f"the table {', '.join(lost)} is gone and records were stored in it: restore a "
                "backup, or start anew with schema_policy=RECREATE"
            )
        for index in state.other_indexes:
            connection.execute(DropIndex(index))
        self.tables.metadata.create_all(connection)
        for index in (*state.indexes, *state.other_indexes):
            connection.execute(CreateIndex(index, if_not_exists=True))
        self._create_text(connection)
        if self.extras.sequence.name in state.missing or not state.has_sequence:
            last = self._highest_number(connection)
            connection.execute(sa.insert(self.extras.sequence).values(last=last))
        if state.config is None:
            dimension = self._stored_dimension(connection) or new_config["embedding_dimension"]
            saved = {**new_config, "embedding_dimension": dimension}
            self.registry.insert(connection, saved)
        lacking = [part for part in state.lacking if not part.startswith("the upgrade")]
        for what in (*lacking, *(f"index {index.name}" for index in state.other_indexes)):
            self._note(f"made again: {what}")
        return self._registered(connection)

    def _create_text(self, connection: sa.Connection) -> None:
        """Create the one table that no `Table` describes."""
        connection.exec_driver_sql(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {self.extras.text.name} "
            "USING fts5(scope, body, tokenize='porter unicode61')"
        )

    def _highest_number(self, connection: sa.Connection) -> int:
        """Return the highest number any row has: what a lost sequence goes on from."""
        tables = self.tables
        numbers = [
            *(one.c.order_seq for one in (tables.message, tables.memory, tables.actor_profile)),
            tables.document.c.order_seq,
            tables.record_chunks.c.chunk_id,
            self.extras.change.c.change_id,
        ]
        highest = (connection.execute(sa.select(sa.func.max(one))).scalar() for one in numbers)
        return max(number or 0 for number in highest)

    def _stored_dimension(self, connection: sa.Connection) -> int | None:
        embedding = self.tables.record_chunks.c.embedding
        stored = sa.select(sa.func.length(embedding)).where(embedding.is_not(None)).limit(1)
        size = connection.execute(stored).scalar()
        return None if size is None else size // 4

    def _drop(self, connection: sa.Connection) -> None:
        """Drop every table of this store and forget it; refuse what is not ours alone."""
        state = self._look(connection)
        if state.config is None and state.strangers:
            raise StateError(self._refusal(state, "another owner's tables are not dropped"))
        if state.config is not None and version_of(state.config) > EXTRAS_VERSION:
            state.config.check_state()
        neighbours = self._inspection.neighbours_on(connection)
        if neighbours:
            raise StateError(
                f"the table {neighbours[0]} refers to this store, and dropping the store would "
                "change its rows; nothing was dropped"
            )
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {self.extras.text.name}")
        for table in reversed(self._inspection.own_tables):
            connection.execute(DropTable(table, if_exists=True))
        if state.config is not None:
            self.registry.delete(connection)

    def _look(self, connection: sa.Connection) -> SchemaState:
        return self._inspection.look(connection, self._read(connection))

    def _read(self, connection: sa.Connection) -> StoreConfig | None:
        """Return the registry row, None when there is no registry or no such row."""
        if not sa.inspect(connection).has_table(self.registry.table.name):
            return None
        return self.registry.read(connection)

    def _registered(self, connection: sa.Connection) -> StoreConfig:
        config = self.registry.read(connection)
        assert config is not None  # noqa: S101 - this transaction has written it
        return config

    def _refusal(self, state: SchemaState, what_then: str) -> str:
        return (
            f"this database holds no complete, up-to-date memory store {self.registry.name!r} "
            f"(it lacks: {'; '.join(state.lacking)}); schema_policy: {what_then}"
        )

    def _note(self, what: str) -> None:
        self.repairs.append(what)
        logger.warning("memory store %s: %s", self.registry.name, what)
