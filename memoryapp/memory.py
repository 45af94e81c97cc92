"""The one place that builds client, store and inspector from settings."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from django.conf import settings

from memoryapp.joined import joined_engine
from memoryapp.scheduler import CeleryScheduler
from oracleagentmemory._notset import NOT_SET_MARKER
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.core.dbschemapolicy import SchemaPolicy
from oracleagentmemory.core.dbsearch import SearchStrategy
from oracleagentmemory.core.embedders import Embedder, LocalEmbedder
from oracleagentmemory.core.extractors import MemoryExtractionConfig, MemoryExtractionMode
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.core.sqlitememorystore import SQLiteMemoryStore
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import StoreInspector

if TYPE_CHECKING:
    from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore


@functools.cache
def store() -> SQLMemoryStore:
    """The store on Django's own connection; creates its tables when they are missing."""
    engine = joined_engine("default")
    policy = SchemaPolicy(settings.MEMORY_SCHEMA_POLICY)
    strategy = SearchStrategy(settings.MEMORY_SEARCH_STRATEGY)
    if engine.dialect.name != "sqlite":
        # Loads the Oracle driver, which an installation on SQLite never needs.
        from oracleagentmemory.core.oracledbmemorystore import OracleDBMemoryStore

        return OracleDBMemoryStore(
            embedder(), engine, schema_policy=policy, search_strategy=strategy
        )
    built = SQLiteMemoryStore(
        engine=engine, embedder=embedder(), schema_policy=policy, search_strategy=strategy
    )
    built.vector_cache.budget_bytes = settings.MEMORY_VECTOR_CACHE_BYTES
    return built


def embedder() -> Any:
    """Make the embedder that MEMORY_EMBEDDER names.

    One that names no model of its own gets the setting's value as its name, so that the store
    can tell its vectors from another one's.

    Raises: InvalidInputError when the setting names nothing that embeds.
    """
    name: str = settings.MEMORY_EMBEDDER
    if name == "local":
        return LocalEmbedder()
    if "/" in name:
        key = settings.MEMORY_EMBEDDER_API_KEY
        return Embedder(
            name,
            api_base=settings.MEMORY_EMBEDDER_API_BASE,
            api_key=None if key is None else key.get_secret_value(),
        )
    module, _, factory = name.partition(":")
    try:
        make = getattr(importlib.import_module(module), factory)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(f"MEMORY_EMBEDDER={name} cannot be loaded: {error}") from error
    made = make()
    if not callable(getattr(made, "embed", None)):
        raise InvalidInputError(
            f"MEMORY_EMBEDDER={name} must be a function that returns an IEmbedder; it returned "
            f"{type(made).__name__}"
        )
    if getattr(made, "embedder_id", None) is None:
        made.embedder_id = name
    return made


@functools.cache
def llm() -> Llm | None:
    """The model that MEMORY_LLM names; None where nothing is learnt."""
    if settings.MEMORY_LLM is None:
        return None
    key, vision = settings.MEMORY_LLM_API_KEY, settings.MEMORY_LLM_VISION
    return Llm(
        settings.MEMORY_LLM,
        api_base=settings.MEMORY_LLM_API_BASE,
        api_key=None if key is None else key.get_secret_value(),
        supports_vision=NOT_SET_MARKER if vision is None else vision,
        timeout=settings.MEMORY_LLM_TIMEOUT_S,
    )


@functools.cache
def scheduler() -> CeleryScheduler:
    """What takes the client's background work to the workers."""
    return CeleryScheduler(llm())


@functools.cache
def client() -> OracleAgentMemory:
    """The documented client on :func:`store`; it learns from messages once there is an LLM."""
    model = llm()
    learning = MemoryExtractionConfig(
        extract_memories=model is not None, extraction_mode=MemoryExtractionMode.BACKGROUND
    )
    return OracleAgentMemory(
        store=store(),
        memory_extraction_config=learning,
        scheduler=scheduler(),
        llm=NOT_SET_MARKER if model is None else model,
    )


@functools.cache
def inspector() -> StoreInspector:
    """The read side for pages."""
    return StoreInspector(store())


def open_store() -> None:
    """Build everything now. Called at process start, never first inside a request or a test."""
    client()
    inspector()
