"""Making and checking the tables of an Oracle store.

Tables and plain indexes come from the same `Table` objects as on SQLite; what no library can
write is a short list of literal DDL. DDL commits, so nothing here runs inside a transaction.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.schema import CreateIndex, CreateTable

from oracleagentmemory.errors import StateError
from oracleagentmemory.storage.engine import StoreEngine
from oracleagentmemory.storage.extras import EXTRAS_VERSION, ExtraTables
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.registry import Registry, StoreConfig
from oracleagentmemory.storage.upgrades import steps_for, version_of

if TYPE_CHECKING:
    from oracleagentmemory.core.dbschemapolicy import SchemaPolicy

#: The registry's owner column: the schema's user id, as text.
OWNER = sa.func.sys_context("USERENV", "CURRENT_USERID")
TABLE_NAMES = "SELECT table_name FROM user_tables"
#: Another user may offer views of the tables under their names.
OWNED_NAMES = (
    "SELECT table_name FROM all_tables WHERE owner = :owner "
    "UNION SELECT view_name FROM all_views WHERE owner = :owner"
)
_RETRIED = ("ORA-00054", "ORA-00060", "ORA-51906")
#: Another process, or this one before it was interrupted, has made the object.
_EXISTS = "ORA-00955"
_ATTEMPTS = 5
logger = logging.getLogger(__name__)
_LIFECYCLE = "'supersedes', 'refines', 'duplicates'"
_MEMORY_TYPES = "'memory', 'guideline', 'fact', 'preference'"


def special_ddl(prefix: str, *, with_embedding: bool, index_sync: str | None = None) -> list[str]:
    """Return the DDL that no `Table` describes: special indexes, trigger, property graph.

    Args:
        with_embedding: Whether there are vectors, and so an index of them.
        index_sync: When the text index takes up changes, `on_commit` or `manual`; None makes none.
    """
    indexes = [_VECTOR_INDEX.format(p=prefix)] if with_embedding else []
    if index_sync is not None:
        indexes.append(text_index_ddl(prefix, index_sync))
    return [*indexes, _TRIGGER.format(p=prefix), _GRAPH.format(p=prefix)]


def text_index_ddl(prefix: str, index_sync: str) -> str:
    """Return the DDL of the index that CONTAINS asks."""
    return _TEXT_INDEX.format(p=prefix, sync=_SYNC[index_sync])


_VECTOR_INDEX = (
    "CREATE VECTOR INDEX {p}record_chunks_embedding_vec_i ON {p}record_chunks (embedding) "
    "ORGANIZATION INMEMORY NEIGHBOR GRAPH DISTANCE COSINE WITH TARGET ACCURACY 95 "
    "PARAMETERS (TYPE HNSW, M 16, EFCONSTRUCTION 200)"
)
_TEXT_INDEX = (
    "CREATE INDEX {p}record_chunks_chunk_text_txt_i ON {p}record_chunks (chunk_text) "
    "INDEXTYPE IS CTXSYS.CONTEXT PARAMETERS ('SYNC ({sync})')"
)
_SYNC = {"on_commit": "ON COMMIT", "manual": "MANUAL"}
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


def drop_ddl(prefix: str, tables: list[str]) -> list[str]:
    """Return the DDL that drops a store's graph and those of its tables that exist.

    Indexes and the trigger go with their tables; `tables` come children first.
    """
    return [
        f"DROP PROPERTY GRAPH IF EXISTS {prefix}memory_graph",
        *(f"DROP TABLE {name} CASCADE CONSTRAINTS PURGE" for name in tables),
    ]


def read_config(engine: StoreEngine, registry: Registry) -> StoreConfig | None:
    """Return a store's registry row; None when it, or the registry table, is missing."""
    with engine.read() as connection:
        existing = _table_names(connection)
        return registry.read(connection) if registry.table.name in existing else None


class OracleSchema:
    """The schema of one store in the connected user's Oracle schema.

    Args:
        index_sync: When the text index takes up changes, `on_commit` or `manual`; None asks for
            no text index.

    Attributes:
        has_extras: Whether the store has the SDK-only tables, known once it is open.
        repairs: What opening an existing store made again or upgraded, in words.
    """

    def __init__(
        self,
        engine: StoreEngine,
        tables: ManagedTables,
        extras: ExtraTables,
        registry: Registry,
        index_sync: str | None = None,
    ) -> None:
        self.engine = engine
        self.tables = tables
        self.extras = extras
        self.registry = registry
        self.index_sync = index_sync
        self.has_extras = True
        self.repairs: list[str] = []

    def open(
        self, policy: SchemaPolicy, config: StoreConfig | None, new_config: dict[str, Any]
    ) -> StoreConfig:
        """Do what the policy asks and return the store's registry row.

        Args:
            policy: What to check, create or drop.
            config: The row as `read_config` found it.
            new_config: The row's JSON for a store that is created.

        Raises:
            StateError: If the policy does not allow what would be needed.
        """
        if policy.value == "no_check":
            raise StateError("schema_policy=NO_CHECK needs an end-user security context")
        if policy.value == "recreate":
            return self._recreate(config, new_config)
        if config is not None:
            config.check_state()
        existing = self._existing()
        lacking = self._lacking(config, existing)
        self.has_extras = any(table.name in existing for table in self.extras.tables)
        if policy.value == "create_if_necessary":
            may_make = True
        else:
            ours = [table for table in self._own_tables() if table.name in existing]
            may_make = policy.value == "create_if_empty" and config is None and not ours
        if lacking and not may_make:
            raise StateError(
                f"this schema holds no complete, up-to-date memory store {self.registry.name!r} "
                f"(it lacks: {'; '.join(lacking)}); schema_policy=CREATE_IF_NECESSARY makes or "
                "upgrades it"
            )
        if lacking or (may_make and not self.has_extras):
            config = self._make(config, existing, new_config)
        assert config is not None  # noqa: S101 - without a row something is lacking
        return config

    def make_extras(self, config: StoreConfig) -> list[str]:
        """Make the SDK-only tables that are missing; return what was made."""
        self._refuse_in_transaction()
        missing = [one for one in self.extras.tables if one.name not in self._existing()]
        self._create_tables(missing)
        if missing and config.extras_version is None:
            self._save(config.with_extras_version(EXTRAS_VERSION))
        return [f"table {table.name}" for table in missing]

    def _existing(self) -> set[str]:
        with self.engine.read() as connection:
            return _table_names(connection)

    def _lacking(self, config: StoreConfig | None, existing: set[str]) -> list[str]:
        """Return what keeps the store from being complete, in words.

        A store of the reference has no SDK-only table; one of ours has them all.
        """
        found = [] if config is not None else ["its registry row"]
        wanted = list(self.tables.record_tables)
        if any(table.name in existing for table in self.extras.tables):
            wanted += self.extras.tables
            if config is not None and version_of(config) < EXTRAS_VERSION:
                found.append(
                    f"the upgrade of its SDK-only tables from layout {version_of(config)} to "
                    f"{EXTRAS_VERSION}"
                )
        if config is not None and self._lacks_text_index(config):
            found.append("the text index that its search_strategy needs")
        return found + [f"table {table.name}" for table in wanted if table.name not in existing]

    def _make(
        self, config: StoreConfig | None, existing: set[str], new_config: dict[str, Any]
    ) -> StoreConfig:
        self._refuse_in_transaction()
        if config is not None and self.has_extras:
            config = self._upgrade(config)
            existing = self._existing()
        missing = [table for table in self._own_tables() if table.name not in existing]
        self._create_tables(missing)
        if config is None:
            return self._register(new_config)
        for table in missing:
            self._note(f"made again: table {table.name}")
        if not self.has_extras:
            config = self._save(config.with_extras_version(EXTRAS_VERSION))
        self.has_extras = True
        if self.index_sync is not None and self._lacks_text_index(config):
            self._run_ddl(sa.text(text_index_ddl(self.tables.prefix, self.index_sync)))
            config = self._save(config.with_text_index(self.index_sync))
            self._note("made: the text index of its chunks")
        return config

    def _lacks_text_index(self, config: StoreConfig) -> bool:
        if self.index_sync is None:
            return False
        if config.indexing_mode == "hybrid":
            raise StateError(
                "the store has a hybrid vector index, which leaves no place for the text index "
                "that keyword search needs here; open it with search_strategy=VECTOR"
            )
        return config.indexing_mode == "vector"

    def _register(self, new_config: dict[str, Any]) -> StoreConfig:
        statements = special_ddl(
            self.tables.prefix,
            with_embedding=self._with_embedding,
            index_sync=self.index_sync,
        )
        for statement in statements:
            self._run_ddl(sa.text(statement.replace(":", r"\:")))
        self.has_extras = True
        with self.engine.write() as transaction:
            config = self.registry.read(transaction.connection)
            if config is None:  # else another process has been faster
                self.registry.insert(transaction.connection, new_config)
                config = self.registry.read(transaction.connection)
        assert config is not None  # noqa: S101 - it has just been written
        return config

    def _upgrade(self, config: StoreConfig) -> StoreConfig:
        """Take the steps that the store lacks; DDL commits, so each number follows its step."""
        for step in steps_for(version_of(config)):
            for statement in step.statements(self.extras):
                self._run_ddl(statement)
            config = self._save(config.with_extras_version(step.version))
            self._note(f"upgraded to layout {step.version}: {step.what}")
        return config

    def _recreate(self, config: StoreConfig | None, new_config: dict[str, Any]) -> StoreConfig:
        """Drop the store and make it anew; interrupted, it can be repeated."""
        self._refuse_in_transaction()
        if config is not None:
            if version_of(config) > EXTRAS_VERSION:
                config.check_state()
            self._save(replace(config, lifecycle_state="DROPPING"))
        existing = self._existing()
        names = [table.name for table in reversed(self._own_tables()) if table.name in existing]
        for statement in drop_ddl(self.tables.prefix, names):
            self._run_ddl(sa.text(statement))
        if config is not None:
            with self.engine.write() as transaction:
                self.registry.delete(transaction.connection)
        return self._make(None, self._existing(), new_config)

    def _save(self, config: StoreConfig) -> StoreConfig:
        with self.engine.write() as transaction:
            self.registry.save_state(transaction.connection, config)
        return config

    def _refuse_in_transaction(self) -> None:
        if self.engine.in_transaction:
            raise StateError(
                "a store cannot be made, repaired or dropped inside an open transaction"
            )

    def _note(self, what: str) -> None:
        self.repairs.append(what)
        logger.warning("memory store %s: %s", self.registry.name, what)

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
                if _EXISTS in str(error.orig):
                    return
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
    owner = connection.get_execution_options().get("schema_translate_map", {}).get(None)
    if owner is None:
        names = connection.execute(sa.text(TABLE_NAMES))
    else:
        names = connection.execute(sa.text(OWNED_NAMES), {"owner": str(owner)})
    return {str(name).lower() for name in names.scalars()}
