"""The store over SQLAlchemy Core, common to both databases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oracleagentmemory._notset import _NotSetMarker
from oracleagentmemory._observed import observed
from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.apis.memorystore import IMemoryStore
from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.core.dbschemapolicy import SchemaPolicy
from oracleagentmemory.core.dbsearch import SearchIndexSyncMode, SearchStrategy
from oracleagentmemory.core.images.validation import validate_image
from oracleagentmemory.core.oraclememorystore import OracleMemoryStore
from oracleagentmemory.core.retention import MemoryRetentionConfig
from oracleagentmemory.errors import InvalidInputError, WrongTypeError
from oracleagentmemory.storage.registry import StoreConfig
from oracleagentmemory.storage.retention import Retention
from oracleagentmemory.storage.store import SQLStoreMethods
from oracleagentmemory.storage.store.images import MOST_IMAGE_BYTES


@observed("memory_store", IMemoryStore)
class SQLMemoryStore(SQLStoreMethods, OracleMemoryStore):
    """All methods of a store; subclasses open it and add what their database does its own way."""

    search_strategy: SearchStrategy

    def _check_image(self, data: bytes, mime_type: ImageMimeType) -> None:
        validate_image(data, mime_type, max_bytes=MOST_IMAGE_BYTES)

    def _open_retention(self, config: StoreConfig, asked: Any, policy: SchemaPolicy) -> StoreConfig:
        """Return the row with the retention rules asked for, saved when that is allowed."""
        if isinstance(asked, _NotSetMarker) or Retention.of_config(asked) == config.retention:
            return config
        if policy is not SchemaPolicy.CREATE_IF_NECESSARY:
            raise InvalidInputError(
                "the store has another memory_retention_config, which schema_policy="
                f"{policy.name} does not change; omit it to keep the stored one"
            )
        rules = Retention.of_config(asked).to_saved()
        with self.engine.write() as transaction:
            stored = self.registry.read(transaction.connection, locked=True) or config
            saved = {**stored.saved, "memory_retention_config": rules}
            self.registry.save(transaction.connection, saved)
        return replace(stored, saved=saved)


def check_policy(policy: object) -> SchemaPolicy:
    """Return a `schema_policy` argument, which may be the policy's value."""
    try:
        return SchemaPolicy(str(policy))
    except ValueError:
        known = ", ".join(one.value for one in SchemaPolicy)
        raise InvalidInputError(
            f"schema_policy must be one of {known}, not {policy!r:.80}"
        ) from None


def check_search(strategy: object, sync: object, embedder: IEmbedder | None) -> SearchStrategy:
    """Return a `search_strategy` argument, VECTOR when omitted.

    Raises:
        WrongTypeError: If it is no SearchStrategy member, or `sync` no SearchIndexSyncMode.
        InvalidInputError: If it is HYBRID and there is no embedder.
    """
    if isinstance(strategy, _NotSetMarker):
        strategy = SearchStrategy.VECTOR
    if not isinstance(strategy, SearchStrategy):
        raise WrongTypeError(f"search_strategy must be a SearchStrategy, not {strategy!r:.80}")
    if not isinstance(sync, _NotSetMarker | SearchIndexSyncMode):
        raise WrongTypeError(f"search_index_sync must be a SearchIndexSyncMode, not {sync!r:.80}")
    if strategy is SearchStrategy.HYBRID and embedder is None:
        raise InvalidInputError("search_strategy=HYBRID needs an embedder; KEYWORD needs none")
    return strategy


def check_retention(config: object) -> Retention:
    """Return the rules of a `memory_retention_config` argument, none when omitted."""
    if isinstance(config, _NotSetMarker):
        return Retention()
    if not isinstance(config, MemoryRetentionConfig):
        raise WrongTypeError(
            f"memory_retention_config must be a MemoryRetentionConfig, not {config!r:.80}"
        )
    return Retention.of_config(config)
