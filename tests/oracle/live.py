"""Stores on a live Oracle database, for whoever has one: never run where this was written.

``MEMORY_TEST_ORACLE_DSN=user/password@host:port/service`` switches it on. Each test folder gets a
store name of its own, whose objects are dropped at the end.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import Any

import oracledb

from oracleagentmemory.core import OracleDBMemoryStore, SchemaPolicy
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.registry import table_prefix

DSN_VARIABLE = "MEMORY_TEST_ORACLE_DSN"


def configured() -> bool:
    """Say whether a live database is configured."""
    return bool(os.environ.get(DSN_VARIABLE))


@cache
def pool() -> oracledb.ConnectionPool:
    """Return the pool of this run."""
    account, _, dsn = os.environ[DSN_VARIABLE].rpartition("@")
    user, _, password = account.partition("/")
    return oracledb.create_pool(user=user, password=password, dsn=dsn, min=1, max=8)


def store_id(folder: Path) -> str:
    """Return the name of a test folder's store."""
    return f"T{hashlib.sha256(str(folder).encode()).hexdigest()[:12].upper()}"


def open_live(folder: Path, **options: Any) -> OracleDBMemoryStore:
    """Open the store of a folder, made the first time."""
    options.setdefault("schema_policy", SchemaPolicy.CREATE_IF_NECESSARY)
    embedder = options.pop("embedder", None)
    return OracleDBMemoryStore(embedder, pool(), memory_store_id=store_id(folder), **options)


def drop_live(folder: Path) -> None:
    """Drop every object of a folder's store and its registry row."""
    name = store_id(folder)
    managed = ManagedTables(table_prefix(name), dimension=1)
    extras = ExtraTables(managed)
    with pool().acquire() as connection, connection.cursor() as cursor:
        with contextlib.suppress(oracledb.DatabaseError):
            cursor.execute(f"DROP PROPERTY GRAPH {managed.prefix}memory_graph")
        for table in reversed([*managed.record_tables, *extras.tables]):
            with contextlib.suppress(oracledb.DatabaseError):
                cursor.execute(f"DROP TABLE {table.name} CASCADE CONSTRAINTS PURGE")
        delete = "DELETE FROM agent_memory_stores WHERE memory_store_name = :name"
        cursor.execute(delete, {"name": name})
        connection.commit()
