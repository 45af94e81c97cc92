"""The store in Oracle AI Database."""

from __future__ import annotations

import hashlib
import re
import warnings
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from oracleagentmemory._notset import NOT_SET_MARKER, _NotSetMarker
from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.apis.validation import RESERVED_KEY
from oracleagentmemory.core.dbschemapolicy import SchemaPolicy
from oracleagentmemory.core.dbsearch import SearchIndexSyncMode, SearchStrategy
from oracleagentmemory.core.retention import MemoryRetentionConfig
from oracleagentmemory.core.sqlmemorystore import (
    SQLMemoryStore,
    check_policy,
    check_retention,
    check_search,
)
from oracleagentmemory.errors import InvalidInputError, NotYetError, StateError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.filters import metadata_matches, parse_filter
from oracleagentmemory.storage.fusion import with_lent_scores
from oracleagentmemory.storage.keyword_sql import (
    Match,
    keyword_matches,
    keyword_shape,
    matches_statement,
)
from oracleagentmemory.storage.kinds import MEMORY, Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.lifecycle import BY_HAND
from oracleagentmemory.storage.oracle_connections import oracle_engine
from oracleagentmemory.storage.registry import (
    Registry,
    StoreConfig,
    check_store_id,
    check_vector_dim,
    new_config,
    store_name,
    table_prefix,
)
from oracleagentmemory.storage.removals import Selector
from oracleagentmemory.storage.retrieval import Hit, SearchRequest
from oracleagentmemory.storage.schema_oracle import OWNER, OracleSchema, read_config
from oracleagentmemory.storage.statements import CHANGEABLE
from oracleagentmemory.storage.textsearch import oracle_query
from oracleagentmemory.storage.vector_sql import vector_hits

_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,16}")
_OWNER = re.compile(r"[A-Za-z][A-Za-z0-9_$#]{0,127}")
_BY_HAND = parse_filter({RESERVED_KEY: BY_HAND})


class OracleDBMemoryStore(SQLMemoryStore):
    """A store in an Oracle schema, in the reference's own layout.

    Args:
        embedder: Turns texts into vectors; None stores text and explicit vectors only.
        pool: An oracledb pool, or a connection, which is used by one thread at a time; or a
            SQLAlchemy engine that joins a caller's transactions.
        schema_policy: REQUIRE_EXISTING changes nothing; CREATE_IF_NECESSARY makes what is
            missing and upgrades the SDK-only tables; CREATE_IF_EMPTY makes a store where nothing
            of it is and completes none; RECREATE drops the store with all its records and makes
            it anew.
        vector_dim: Numbers per vector; measured by the embedder when a store is created.
        table_name_prefix: Deprecated; use `memory_store_id`.
        search_strategy: VECTOR when omitted; KEYWORD and HYBRID need a text index, which
            CREATE_IF_NECESSARY adds.
        search_index_sync: When a text index that is made takes up changes: ON_COMMIT, MANUAL, or
            AUTO (HYBRID only), which here is ON_COMMIT.
        memory_retention_config: Rules for the life of records; omitted keeps the stored ones.
        memory_store_id: Name of one of several stores in a schema: a letter, then at most 15
            letters, digits or underscores; case does not count.
        schema_owner: The user whose store it is, unquoted, when the connected user may only use
            it; needs REQUIRE_EXISTING, and records are written as usual.

    Raises:
        StateError: If the schema policy forbids what would be needed.
        DimensionMismatchError: If the store has another dimension than `vector_dim`.
    """

    def __init__(
        self,
        embedder: IEmbedder | None,
        pool: Any,
        schema_policy: SchemaPolicy | str = SchemaPolicy.REQUIRE_EXISTING,
        vector_dim: int | None = None,
        table_name_prefix: str | _NotSetMarker = NOT_SET_MARKER,
        search_strategy: SearchStrategy | _NotSetMarker = NOT_SET_MARKER,
        search_index_sync: SearchIndexSyncMode | _NotSetMarker = NOT_SET_MARKER,
        memory_retention_config: MemoryRetentionConfig | _NotSetMarker = NOT_SET_MARKER,
        memory_store_id: str | _NotSetMarker = NOT_SET_MARKER,
        schema_owner: str | _NotSetMarker = NOT_SET_MARKER,
    ) -> None:
        policy = check_policy(schema_policy)
        strategy = check_search(search_strategy, search_index_sync, embedder)
        retention = check_retention(memory_retention_config)
        dimension = check_vector_dim(vector_dim)
        owner = _check_owner(schema_owner, policy)
        name, prefix = _names(memory_store_id, table_name_prefix)
        engine = oracle_engine(pool, owner)
        found = read_config(engine, Registry(ManagedTables(prefix), name, OWNER))
        if found is not None and policy is not SchemaPolicy.RECREATE:
            if dimension is not None:
                found.check_vectors(dimension, None)
            dimension = found.dimension
            if isinstance(search_strategy, _NotSetMarker):
                strategy = _detected(found, policy)
        elif dimension is None and embedder is not None:
            dimension = embedder.embedding_dimension
        self.search_strategy = strategy
        index_sync = _index_sync(strategy, search_index_sync)
        tables = ManagedTables(prefix, dimension=dimension, with_embedding=dimension is not None)
        self._open_parts(engine, tables, embedder)
        self.registry = Registry(tables, name, OWNER)
        saved = new_config(
            dimension=dimension,
            embedder_id=self.embedder_id,
            retention=retention,
            index_sync=index_sync,
        )
        self._schema = schema = OracleSchema(engine, tables, self.extras, self.registry, index_sync)
        config = schema.open(policy, found, saved)
        self.has_extras = schema.has_extras
        self.config = self._open_retention(config, memory_retention_config, policy)
        self.repairs = tuple(schema.repairs)
        self._insert_chunk = sa.insert(tables.record_chunks).returning(
            tables.record_chunks.c.chunk_id, sort_by_parameter_order=True
        )

    def file_bytes(self) -> int | None:
        """Return None: an Oracle store is no file."""
        return None

    def _make_extras(self) -> list[str]:
        return self._schema.make_extras(self.current_config())

    def _check_new_dimension(self, dimension: int) -> None:
        if dimension != self.current_config().dimension:
            raise StateError(
                "the vector column of an Oracle store has a fixed dimension, and the embedder "
                f"makes {dimension} numbers: make a store with another memory_store_id and copy "
                "the records by dump and restore"
            )

    def _reserve(self, transaction: WriteTransaction, count: int) -> None:
        """Do nothing: identity columns number their rows."""

    def _number(
        self, transaction: WriteTransaction, rows: list[dict[str, Any]], column: str
    ) -> None:
        """Do nothing: identity columns number their rows."""

    def _insert_chunks(
        self, transaction: WriteTransaction, rows: list[dict[str, Any]]
    ) -> list[int]:
        if "embedding" not in self.tables.record_chunks.c:
            rows = [{key: row[key] for key in row if key != "embedding"} for row in rows]
        return [int(number) for number in transaction.execute(self._insert_chunk, rows).scalars()]

    def _insert_texts(self, transaction: WriteTransaction, rows: list[dict[str, Any]]) -> None:
        """Do nothing: an Oracle Text index reads the chunks themselves."""

    def _drop_texts(
        self, transaction: WriteTransaction, kind: Kind, selector: Selector, owner: Any
    ) -> None:
        """Do nothing: an Oracle Text index reads the chunks themselves."""

    def _after_unlinking(self, transaction: WriteTransaction) -> None:
        """Make memories invalid again that callers made so: the reference's trigger revives them.

        Their rows are then as they were noted, so that nothing is noted.
        """
        memory = self.tables.memory
        marked = metadata_matches(memory.c.metadata, _BY_HAND)
        revived = sa.select(memory).where(memory.c.status == "valid", marked).with_for_update()
        for row in transaction.execute(revived).all():
            values = {name: row._mapping[name] for name in CHANGEABLE[MEMORY.name]}
            update = self.statements.update(MEMORY)
            transaction.execute(update, {"id_": row.record_id, **values, "status": "invalid"})
            source = {"of_source_id": row.record_id, "source_type": row.memory_type}
            status = {"new_status": "invalid", **source}
            transaction.execute(self.statements.set_chunk_status, status)

    def _vector_hits(self, connection: sa.Connection, request: SearchRequest) -> list[Hit]:
        config = self._stored_config(connection)
        if config.dimension is None:
            return []
        if request.text is not None:
            config.check_embedder(self.embedder_id)
        if request.vector is None:
            # Query weighting would read every token of the scope: plain vectors here.
            vector = self._embed([request.text or ""], is_query=True)[0]
            request = replace(request, vector=vector)
        if not request.lent_share:
            return vector_hits(connection, self.tables, request)
        wide = replace(request, k=2 * request.k)
        similar = [
            Match(1.0 - distance, *key)
            for distance, *key in vector_hits(connection, self.tables, wide)
        ]
        messages = [one.record_id for one in similar if one.record_type == "message"]
        beside = self._messages_beside(connection, request, messages) if messages else {}
        lent = with_lent_scores(similar, beside, request.lent_share, unknown=False)
        return [Hit(1.0 - score, *key) for score, *key in lent[: request.k]]

    def _keyword_matches(self, connection: sa.Connection, request: SearchRequest) -> list[Match]:
        words = oracle_query(request.text or "")
        if not words:
            return []
        statement = self._built(
            keyword_shape(request),
            lambda: matches_statement(self.tables, self.extras, request, full_text=False),
        )
        return keyword_matches(connection, self.tables, statement, request, words)

    def _keyword_distance(self, score: float) -> float:
        return 1.0 - score / 100.0  # SCORE is 1 to 100


def _detected(found: StoreConfig, policy: SchemaPolicy) -> SearchStrategy:
    """Return the strategy of a handle that names none: the store's own, as documented."""
    if policy is not SchemaPolicy.REQUIRE_EXISTING or found.indexing_mode == "vector":
        return SearchStrategy.VECTOR
    if found.indexing_mode == "hybrid":
        raise NotYetError(
            "the store has a hybrid vector index of the database, which this version does not "
            "search; name search_strategy=VECTOR to search its vectors"
        )
    return SearchStrategy.KEYWORD


def _index_sync(strategy: SearchStrategy, sync: object) -> str | None:
    """Return how a text index is kept, None for a strategy that needs none."""
    if sync is SearchIndexSyncMode.AUTO and strategy is not SearchStrategy.HYBRID:
        raise InvalidInputError("search_index_sync=AUTO needs search_strategy=HYBRID")
    if strategy is SearchStrategy.VECTOR:
        return None
    return "manual" if sync is SearchIndexSyncMode.MANUAL else "on_commit"


def _check_owner(schema_owner: Any, policy: SchemaPolicy) -> str | None:
    """Return the owner as Oracle stores it, None when omitted."""
    if isinstance(schema_owner, _NotSetMarker):
        return None
    if policy is not SchemaPolicy.REQUIRE_EXISTING:
        raise InvalidInputError("schema_owner needs schema_policy=REQUIRE_EXISTING")
    if not isinstance(schema_owner, str) or not _OWNER.fullmatch(schema_owner):
        raise InvalidInputError(
            f"schema_owner must be an unquoted name of letters, digits, _, $ and #, not "
            f"{schema_owner!r:.80}"
        )
    return schema_owner.upper()


def _names(memory_store_id: Any, table_name_prefix: Any) -> tuple[str, str]:
    """Return a store's name in the registry and the prefix of its tables."""
    if isinstance(table_name_prefix, _NotSetMarker):
        given = None if isinstance(memory_store_id, _NotSetMarker) else memory_store_id
        store_id = check_store_id(given)
        return store_name(store_id), table_prefix(store_id)
    warnings.warn(
        "table_name_prefix is deprecated and will be removed in 27.1; use memory_store_id",
        DeprecationWarning,
        stacklevel=3,
    )
    if not isinstance(memory_store_id, _NotSetMarker):
        raise InvalidInputError("give memory_store_id or table_name_prefix, not both")
    if not isinstance(table_name_prefix, str) or not _PREFIX.fullmatch(table_name_prefix):
        raise InvalidInputError(
            "table_name_prefix must be a letter followed by letters, digits or underscores, "
            f"17 in all, not {table_name_prefix!r:.80}"
        )
    prefix = table_name_prefix.upper()
    if prefix.endswith("_"):
        return prefix.removesuffix("_"), prefix.lower()
    digest = hashlib.sha1(prefix.encode(), usedforsecurity=False).hexdigest().upper()
    return f"__LEGACY_PREFIX_{digest}", prefix.lower()
