"""Making and checking the tables of an Oracle store.

Tables and plain indexes come from the same `Table` objects as on SQLite; what no library can
write is a short list of literal DDL. DDL commits, so nothing here runs inside a transaction.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from oracleagentmemory.errors import NotYetError, StateError
from oracleagentmemory.storage.engine import StoreEngine
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.layout import SCHEMA_VERSION, ManagedTables
from oracleagentmemory.storage.registry import Registry, StoreConfig

if TYPE_CHECKING:
    from oracleagentmemory.core.dbschemapolicy import SchemaPolicy

#: The registry's owner column: the schema's user id, as text.
OWNER = sa.func.sys_context("USERENV", "CURRENT_USERID")
TABLE_NAMES = "SELECT table_name FROM user_tables"
_RETRIED = ("ORA-00054", "ORA-00060", "ORA-51906")
_ATTEMPTS = 5
_LIFECYCLE = "'supersedes', 'refines', 'duplicates'"
_MEMORY_TYPES = "'memory', 'guideline', 'fact', 'preference'"


def special_ddl(prefix: str, *, with_embedding: bool) -> list[str]:
    """Return the DDL that no `Table` describes: vector index, trigger, property graph."""
    statements = [_TRIGGER.format(p=prefix), _GRAPH.format(p=prefix)]
    return [_VECTOR_INDEX.format(p=prefix), *statements] if with_embedding else statements


_VECTOR_INDEX = (
    "CREATE VECTOR INDEX {p}record_chunks_embedding_vec_i ON {p}record_chunks (embedding) "
    "ORGANIZATION INMEMORY NEIGHBOR GRAPH DISTANCE COSINE WITH TARGET ACCURACY 95 "
    "PARAMETERS (TYPE HNSW, M 16, EFCONSTRUCTION 200)"
)
# Unlike the reference's, ours leaves alone what somebody made invalid by hand.
_TRIGGER = f"""CREATE OR REPLACE TRIGGER {{p}}memory_link_delete_trg
AFTER DELETE ON {{p}}memory_link
BEGIN
  UPDATE {{p}}memory m SET m.status = 'valid', m.metadata = JSON_TRANSFORM(m.metadata,
    REMOVE '$."$agent_memory"."invalidation_reason"' IGNORE ON MISSING)
  WHERE m.status = 'invalid'
    AND (m.metadata IS NULL OR NOT JSON_EXISTS(m.metadata, '$."$agent_memory".invalidated_by'))
    AND NOT EXISTS (SELECT 1 FROM {{p}}memory_link l WHERE l.target_memory_id = m.record_id
      AND l.relation_type IN ({_LIFECYCLE}));
  UPDATE {{p}}record_chunks c SET c.status = 'valid'
  WHERE c.status = 'invalid' AND c.source_record_type IN ({_MEMORY_TYPES})
    AND EXISTS (SELECT 1 FROM {{p}}memory m WHERE m.record_id = c.source_id
      AND m.status = 'valid');
END;"""  # noqa: S608 - the prefix is a checked store id
_GRAPH = (
    "CREATE PROPERTY GRAPH {p}memory_graph "
    "VERTEX TABLES ({p}memory AS memory KEY (record_id) PROPERTIES ARE ALL COLUMNS) "
    "EDGE TABLES ({p}memory_link AS memory_link KEY (relation_id) "
    "SOURCE KEY (source_memory_id) REFERENCES memory (record_id) "
    "DESTINATION KEY (target_memory_id) REFERENCES memory (record_id) "
    "PROPERTIES ARE ALL COLUMNS)"
)


def read_config(engine: StoreEngine, registry: Registry) -> StoreConfig | None:
    """Return a store's registry row; None when it, or the registry table, is missing."""
    with engine.read() as connection:
        existing = _table_names(connection)
        return registry.read(connection) if registry.table.name in existing else None


class OracleSchema:
    """The schema of one store in the connected user's Oracle schema."""

    def __init__(
        self, engine: StoreEngine, tables: ManagedTables, extras: ExtraTables, registry: Registry
    ) -> None:
        self.engine = engine
        self.tables = tables
        self.extras = extras
        self.registry = registry
        #: Whether the store has the SDK-only tables, known once it is open.
        self.has_extras = True

    def open(
        self, policy: SchemaPolicy, config: StoreConfig | None, new_config: dict[str, Any]
    ) -> StoreConfig:
        """Do what the policy asks and return the store's registry row.

        Args:
            policy: What to check or create.
            config: The row as `read_config` found it.
            new_config: The row's JSON for a store that is created.

        Raises:
            StateError: If the store must exist and does not, or must not and does.
            NotYetError: If the policy is RECREATE.
        """
        if policy.value == "recreate":
            raise NotYetError("schema_policy=RECREATE is not in this version")
        if policy.value == "no_check":
            raise StateError("schema_policy=NO_CHECK needs an end-user security context")
        with self.engine.read() as connection:
            existing = _table_names(connection)
        ours = self._own_tables()
        missing = [table for table in ours if table.name not in existing]
        if policy.value == "create_if_empty" and len(missing) < len(ours):
            raise StateError("the store exists, in whole or in part; the policy is CREATE_IF_EMPTY")
        if policy.value == "require_existing":
            # A store of the reference has no SDK-only tables, and this policy adds none.
            missing = [table for table in missing if table not in self.extras.tables]
            self.has_extras = all(table.name in existing for table in self.extras.tables)
        if config is None or missing:
            config = self._create(policy, config, missing, new_config)
        return _checked(config)

    def _create(
        self,
        policy: SchemaPolicy,
        config: StoreConfig | None,
        missing: list[sa.Table],
        new_config: dict[str, Any],
    ) -> StoreConfig:
        if policy.value == "require_existing":
            names = ", ".join(table.name for table in missing) or "its registry row"
            raise StateError(
                f"this schema holds no complete memory store {self.registry.name!r} (missing: "
                f"{names}); schema_policy=CREATE_IF_NECESSARY makes one"
            )
        if self.engine.in_transaction:
            raise StateError("a store cannot be created inside an open transaction")
        self._create_tables(missing)
        if config is not None:
            return config
        for statement in special_ddl(self.tables.prefix, with_embedding=self._with_embedding):
            self._run_ddl(sa.text(statement.replace(":", r"\:")))
        with self.engine.write() as transaction:
            self.registry.insert(transaction.connection, new_config)
            created = self.registry.read(transaction.connection)
        assert created is not None  # noqa: S101 - it has just been written
        return created

    def _create_tables(self, missing: list[sa.Table]) -> None:
        with self.engine.read() as connection:
            has_registry = self.registry.table.name in _table_names(connection)
        if not has_registry:
            missing = [self.registry.table, *missing]
        for table in missing:
            self._run_ddl(CreateTable(table))
            for index in sorted(table.indexes, key=lambda one: str(one.name)):
                self._run_ddl(CreateIndex(index))

    def _own_tables(self) -> list[sa.Table]:
        return [*self.tables.record_tables, *self.extras.tables]

    @property
    def _with_embedding(self) -> bool:
        return "embedding" in self.tables.record_chunks.c

    def _run_ddl(self, statement: sa.Executable) -> None:
        """Run one DDL statement, again when another session is in its way."""
        pause_s = 0.5
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self.engine.engine.connect() as connection:
                    connection.execute(statement)
                return
            except sa.exc.DatabaseError as error:
                if attempt == _ATTEMPTS or not any(code in str(error.orig) for code in _RETRIED):
                    raise StateError(_explained(str(error.orig))) from error
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 8.0)


def _explained(cause: str) -> str:
    hint = ""
    if any(code in cause for code in ("ORA-51962", "ORA-51906", "ORA-51950")):
        hint = "; the vector index needs memory: set the database parameter vector_memory_size"
    return f"the store could not be created: {cause}{hint}"


def _table_names(connection: sa.Connection) -> set[str]:
    return {str(name).lower() for name in connection.execute(sa.text(TABLE_NAMES)).scalars()}


def _checked(config: StoreConfig) -> StoreConfig:
    if config.lifecycle_state != "CREATED" or config.schema_version != SCHEMA_VERSION:
        raise StateError(
            f"the store is in state {config.lifecycle_state} with schema version "
            f"{config.schema_version}; this version reads CREATED, {SCHEMA_VERSION}"
        )
    return config
