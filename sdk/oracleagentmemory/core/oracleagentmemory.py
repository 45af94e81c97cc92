"""The client of the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker, given
from oracleagentmemory._observed import observed
from oracleagentmemory._threaded import TwinPool
from oracleagentmemory._warn import warn_caller
from oracleagentmemory.apis.agentmemory import IAgentMemory
from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.core.background import BackgroundScheduler
from oracleagentmemory.core.backgroundwork import BackgroundWork
from oracleagentmemory.core.client.connection import open_store
from oracleagentmemory.core.client.images import ClientImages
from oracleagentmemory.core.client.lifecycle import ClientLifecycle
from oracleagentmemory.core.client.memories import ClientMemories
from oracleagentmemory.core.client.messages import ClientMessages
from oracleagentmemory.core.client.profiles import ClientProfiles
from oracleagentmemory.core.client.relations import ClientRelations
from oracleagentmemory.core.client.search import ClientSearch
from oracleagentmemory.core.client.threads import ClientThreads
from oracleagentmemory.core.dbschemapolicy import SchemaPolicy
from oracleagentmemory.core.dbsearch import SearchIndexSyncMode, SearchStrategy
from oracleagentmemory.core.extractors.memoryextractionconfig import MemoryExtractionConfig
from oracleagentmemory.core.extractors.settings import merge_inline
from oracleagentmemory.core.imageinputlimitconfig import ImageInputLimitConfig
from oracleagentmemory.core.memoryinput import only_given
from oracleagentmemory.core.retention import MemoryRetentionConfig
from oracleagentmemory.core.searchconfig import MemorySearchConfig, PruningMemorySearchConfig
from oracleagentmemory.core.threadsettings import given_layer
from oracleagentmemory.errors import InvalidInputError

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore


@observed("agent_memory", IAgentMemory)
class OracleAgentMemory(
    ClientThreads,
    ClientProfiles,
    ClientMemories,
    ClientMessages,
    ClientSearch,
    ClientImages,
    ClientRelations,
    ClientLifecycle,
):
    """A memory client on a store of its own or of the caller.

    Thread-safe. Every method that writes has a ``prepare_`` twin that does all but the write;
    :meth:`write` applies its result.

    Args:
        store: A store that is open already; the options of a connection then cannot be given.
        connection: A path, a ``sqlite:///`` URL, a ``sqlite3.Connection`` opened with
            ``check_same_thread=False``, or an oracledb connection or pool.
        embedder: Turns texts into vectors; without one, vector search needs vectors of the caller.
        llm: The model that extracts memories; ``create_thread`` and ``get_thread`` may name
            another.
        memory_extraction_config: What threads inherit; omitted fields have SDK defaults.
        image_input_limit_config: What threads inherit; omitted fields have SDK defaults.
        schema_policy: Whether opening may create or change tables. Omitted: ``REQUIRE_EXISTING``
            on Oracle, ``CREATE_IF_NECESSARY`` on SQLite.
        memory_store_id: Names one of several stores of a database: a letter, then letters, digits
            and underscores, at most 16, case ignored.
        table_name_prefix: Deprecated since 26.6.0; use ``memory_store_id``.
        schema_owner: Oracle only: the schema that holds the store.
        extract_memories: Deprecated since 26.6.0, as is
            ``memory_extraction_custom_instructions``: use ``memory_extraction_config``.
        memory_retention_config: Defaults for the life of records.
        search_config: What threads and the client's searches inherit.
        pruner_llm: Short for a ``PruningMemorySearchConfig`` with this model.
        scheduler: Takes the background work; its caller closes it. Omitted: threads of the
            client's own. An extension of the documented signature.

    Raises:
        ValueError: If neither or both of store and connection are given, or options conflict.
        TypeError: If a configuration or the connection has the wrong type.
    """

    def __init__(
        self,
        *,
        store: Maybe[OracleMemoryStore] = NOT_SET_MARKER,
        connection: Maybe[object] = NOT_SET_MARKER,
        embedder: Maybe[IEmbedder | str] = NOT_SET_MARKER,
        llm: Maybe[ILlm] = NOT_SET_MARKER,
        memory_extraction_config: Maybe[MemoryExtractionConfig] = NOT_SET_MARKER,
        image_input_limit_config: Maybe[ImageInputLimitConfig] = NOT_SET_MARKER,
        schema_policy: Maybe[SchemaPolicy | str] = NOT_SET_MARKER,
        memory_store_id: Maybe[str] = NOT_SET_MARKER,
        table_name_prefix: Maybe[str] = NOT_SET_MARKER,
        schema_owner: Maybe[str] = NOT_SET_MARKER,
        search_strategy: Maybe[SearchStrategy] = NOT_SET_MARKER,
        search_index_sync: Maybe[SearchIndexSyncMode] = NOT_SET_MARKER,
        extract_memories: Maybe[bool] = NOT_SET_MARKER,
        memory_extraction_custom_instructions: Maybe[str] = NOT_SET_MARKER,
        memory_retention_config: Maybe[MemoryRetentionConfig] = NOT_SET_MARKER,
        search_config: Maybe[MemorySearchConfig] = NOT_SET_MARKER,
        pruner_llm: Maybe[ILlm] = NOT_SET_MARKER,
        scheduler: Maybe[BackgroundScheduler] = NOT_SET_MARKER,
    ) -> None:
        self._settings_layer = given_layer(
            extraction=merge_inline(
                memory_extraction_config,
                {
                    "extract_memories": extract_memories,
                    "memory_extraction_custom_instructions": memory_extraction_custom_instructions,
                },
            ),
            image_limits=image_input_limit_config,
            search_config=_search_config(search_config, pruner_llm),
        )
        options = only_given(
            schema_policy=schema_policy,
            memory_store_id=memory_store_id,
            table_name_prefix=table_name_prefix,
            schema_owner=schema_owner,
            search_strategy=search_strategy,
            search_index_sync=search_index_sync,
            memory_retention_config=memory_retention_config,
        )
        self._owns_store = isinstance(store, _NotSetMarker)
        if not isinstance(store, _NotSetMarker):
            if not isinstance(connection, _NotSetMarker):
                raise InvalidInputError("give store or connection, not both")
            if options:
                raise InvalidInputError(f"{', '.join(options)} cannot be given with a store")
            self._store = store
        elif isinstance(connection, _NotSetMarker):
            raise InvalidInputError("give a store or a connection")
        else:
            _warn_of_prefix(options)
            self._store = open_store(connection, embedder, options)
        self._llm = given(llm, None)
        self._work = BackgroundWork(self._store, given(scheduler, None))
        self._twin_pool = TwinPool()


def _search_config(
    search_config: Maybe[MemorySearchConfig], pruner_llm: Maybe[ILlm]
) -> Maybe[MemorySearchConfig]:
    if pruner_llm is None or isinstance(pruner_llm, _NotSetMarker):
        return search_config
    if not isinstance(search_config, _NotSetMarker):
        raise InvalidInputError("give search_config or pruner_llm, not both")
    return PruningMemorySearchConfig(pruner=pruner_llm)


def _warn_of_prefix(options: dict[str, object]) -> None:
    if "table_name_prefix" in options:
        warn_caller(
            "table_name_prefix is deprecated since 26.6.0 and will be removed in 27.1; use "
            "memory_store_id",
            DeprecationWarning,
        )
