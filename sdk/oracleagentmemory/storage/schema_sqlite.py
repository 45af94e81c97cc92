"""Making and checking the tables of a SQLite store.

All of it happens inside one BEGIN IMMEDIATE: several processes may open a new file at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from oracleagentmemory.errors import NotYetError, StateError
from oracleagentmemory.storage.engine import StoreEngine
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.layout import SCHEMA_VERSION, ManagedTables
from oracleagentmemory.storage.registry import Registry, StoreConfig

if TYPE_CHECKING:
    from oracleagentmemory.core.dbschemapolicy import SchemaPolicy

#: The registry's owner column; a SQLite file has no users.
OWNER = "main"


class SQLiteSchema:
    """The schema of one store in a SQLite database."""

    def __init__(
        self, engine: StoreEngine, tables: ManagedTables, extras: ExtraTables, registry: Registry
    ) -> None:
        self.engine = engine
        self.tables = tables
        self.extras = extras
        self.registry = registry

    def open(self, policy: SchemaPolicy, new_config: dict[str, Any]) -> StoreConfig:
        """Do what the policy asks and return the store's registry row.

        Args:
            policy: What to check or create.
            new_config: The registry row's JSON for a store that is created.

        Raises:
            StateError: If the store must exist and does not, or must not and does.
            NotYetError: If the policy is RECREATE.
        """
        if policy.value == "recreate":
            raise NotYetError("schema_policy=RECREATE is not in this version; delete the file")
        if policy.value == "no_check":
            raise StateError("schema_policy=NO_CHECK needs an end-user security context of Oracle")
        # Most openings find everything: a read does not wait for a writer.
        with self.engine.read() as connection:
            config, missing = self._read(connection), self._missing(connection)
        if policy.value == "create_if_empty" or config is None or missing:
            config = self._create(policy, new_config, missing)
        return self._checked(config)

    def _create(
        self, policy: SchemaPolicy, new_config: dict[str, Any], missing: list[str]
    ) -> StoreConfig:
        if policy.value == "require_existing":
            raise StateError(
                f"this database holds no complete memory store {self.registry.name!r} (missing: "
                f"{', '.join(missing) or 'its registry row'}); schema_policy=CREATE_IF_NECESSARY "
                "makes one"
            )
        if self.engine.in_transaction:
            raise StateError("a store cannot be created inside an open transaction")
        with self.engine.write() as transaction:
            connection = transaction.connection
            config = self._read(connection)
            existing = set(self._names()) - set(self._missing(connection))
            if policy.value == "create_if_empty" and (config is not None or existing):
                raise StateError(
                    "the store exists already, in whole or in part, and schema_policy is "
                    "CREATE_IF_EMPTY"
                )
            self.tables.metadata.create_all(connection)
            self._create_special(connection)
            if config is None:
                self.registry.insert(connection, new_config)
                config = self.registry.read(connection)
        assert config is not None  # noqa: S101 - it has just been written
        return config

    def _names(self) -> list[str]:
        shared = self.registry.table.name
        tables = [table.name for table in self.tables.metadata.sorted_tables]
        return [name for name in tables if name != shared] + [self.extras.text.name]

    def _missing(self, connection: sa.Connection) -> list[str]:
        existing = set(sa.inspect(connection).get_table_names())
        return [name for name in self._names() if name not in existing]

    def _create_special(self, connection: sa.Connection) -> None:
        """Create what no `Table` describes: the full-text table, and the sequence's one row."""
        text = self.extras.text.name
        connection.exec_driver_sql(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {text} "
            "USING fts5(scope, body, tokenize='porter unicode61')"
        )
        sequence = self.extras.sequence
        if connection.execute(sa.select(sequence.c.last)).first() is None:
            connection.execute(sa.insert(sequence).values(last=0))

    def _read(self, connection: sa.Connection) -> StoreConfig | None:
        """Return the registry row, None when there is no registry or no such row."""
        if not sa.inspect(connection).has_table(self.registry.table.name):
            return None
        return self.registry.read(connection)

    def _checked(self, config: StoreConfig) -> StoreConfig:
        if config.lifecycle_state != "CREATED" or config.schema_version != SCHEMA_VERSION:
            raise StateError(
                f"the store is in state {config.lifecycle_state} with schema version "
                f"{config.schema_version}; this version reads CREATED, {SCHEMA_VERSION}"
            )
        return config
