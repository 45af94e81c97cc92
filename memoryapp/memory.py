"""The one place that builds client, store and inspector from settings."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from django.conf import settings

from memoryapp.joined import joined_engine
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.core.dbschemapolicy import SchemaPolicy
from oracleagentmemory.core.embedders import LocalEmbedder
from oracleagentmemory.core.extractors import MemoryExtractionConfig
from oracleagentmemory.core.sqlitememorystore import SQLiteMemoryStore
from oracleagentmemory.inspection import StoreInspector

if TYPE_CHECKING:
    from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore


@functools.cache
def store() -> SQLMemoryStore:
    """The store on Django's own connection; creates its tables when they are missing."""
    engine = joined_engine("default")
    policy = SchemaPolicy(settings.MEMORY_SCHEMA_POLICY)
    if engine.dialect.name != "sqlite":
        # Loads the Oracle driver, which an installation on SQLite never needs.
        from oracleagentmemory.core.oracledbmemorystore import OracleDBMemoryStore

        return OracleDBMemoryStore(LocalEmbedder(), engine, schema_policy=policy)
    built = SQLiteMemoryStore(engine=engine, embedder=LocalEmbedder(), schema_policy=policy)
    built.vector_cache.budget_bytes = settings.MEMORY_VECTOR_CACHE_BYTES
    return built


@functools.cache
def client() -> OracleAgentMemory:
    """The documented client on :func:`store`; extraction is off until an LLM is configured."""
    return OracleAgentMemory(
        store=store(), memory_extraction_config=MemoryExtractionConfig(extract_memories=False)
    )


@functools.cache
def inspector() -> StoreInspector:
    """The read side for pages."""
    return StoreInspector(store())


def open_store() -> None:
    """Build everything now. Called at process start, never first inside a request or a test."""
    client()
    inspector()
