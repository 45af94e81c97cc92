"""The embedded store: one SQLite file, no server, no extension."""

from __future__ import annotations

import os
import sqlite3
import threading
from typing import Any

import sqlalchemy as sa

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe, _NotSetMarker
from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.core.dbschemapolicy import SchemaPolicy
from oracleagentmemory.core.dbsearch import SearchIndexSyncMode, SearchStrategy
from oracleagentmemory.core.retention import MemoryRetentionConfig
from oracleagentmemory.core.sqlmemorystore import (
    SQLMemoryStore,
    check_policy,
    check_retention,
    check_search,
)
from oracleagentmemory.errors import InvalidInputError, StateError, WrongTypeError
from oracleagentmemory.storage.engine import (
    StoreEngine,
    WriteTransaction,
    own_sqlite_engine,
    shared_sqlite_engine,
)
from oracleagentmemory.storage.keyword_sql import (
    Match,
    keyword_matches,
    keyword_shape,
    matches_statement,
)
from oracleagentmemory.storage.kinds import Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.registry import (
    Registry,
    check_store_id,
    check_vector_dim,
    new_config,
    store_name,
    table_prefix,
)
from oracleagentmemory.storage.removals import Selector
from oracleagentmemory.storage.retrieval import Hit, SearchRequest, VectorSearch
from oracleagentmemory.storage.schema_sqlite import OWNER, SQLiteSchema
from oracleagentmemory.storage.textsearch import fts_query, query_words, scope_token
from oracleagentmemory.storage.vector_cache import VectorCache
from oracleagentmemory.storage.vector_reads import VectorReads


class SQLiteMemoryStore(SQLMemoryStore):
    """A store in a SQLite file. Thread-safe; several processes may use one file.

    Args:
        path: A file, made when it is missing; a `sqlite3.Connection` opened with
            `check_same_thread=False`, which is used by one thread at a time and never closed;
            None keeps the store in memory.
        engine: Instead of a path, a SQLAlchemy engine that joins a caller's transactions.
        embedder: Turns texts into vectors. Without one, records are stored and listed, and only
            explicit vectors are stored and searched.
        schema_policy: CREATE_IF_NECESSARY makes what is missing and upgrades an older store (see
            `repairs`), CREATE_IF_EMPTY makes a store where nothing of it is and completes none,
            REQUIRE_EXISTING changes nothing, RECREATE drops the store with all its records and
            makes it anew.
        vector_dim: Numbers per vector of a new store; else the first vector decides.
        memory_store_id: Name of one of several stores in a file: a letter, then at most 15
            letters, digits or underscores; case does not count.
        search_strategy: What searches of this object compare: VECTOR (the default) meanings,
            KEYWORD words, HYBRID both, fused as `hybrid_search` says. The file is the same.
        search_index_sync: ON_COMMIT or AUTO, which are the same here.
        memory_retention_config: Rules for the life of records; omitted keeps the stored ones.

    Raises:
        StoreUnavailableError: If the file cannot be opened or is no database.
        StateError: If the schema policy forbids what would be needed.
        DimensionMismatchError: If the store has another dimension than `vector_dim`.
    """

    keeps_texts = True

    def __init__(
        self,
        path: str | os.PathLike[str] | sqlite3.Connection | None = None,
        *,
        engine: sa.Engine | None = None,
        embedder: IEmbedder | None = None,
        schema_policy: SchemaPolicy | str = SchemaPolicy.CREATE_IF_NECESSARY,
        vector_dim: int | None = None,
        memory_store_id: Maybe[str] = NOT_SET_MARKER,
        search_strategy: Maybe[SearchStrategy] = NOT_SET_MARKER,
        search_index_sync: Maybe[SearchIndexSyncMode] = NOT_SET_MARKER,
        memory_retention_config: Maybe[MemoryRetentionConfig] = NOT_SET_MARKER,
    ) -> None:
        policy = check_policy(schema_policy)
        self.search_strategy = check_search(search_strategy, search_index_sync, embedder)
        if search_index_sync is SearchIndexSyncMode.MANUAL:
            raise InvalidInputError("a SQLite store is always current: use ON_COMMIT, not MANUAL")
        retention = check_retention(memory_retention_config)
        dimension = check_vector_dim(vector_dim)
        given_id = None if isinstance(memory_store_id, _NotSetMarker) else memory_store_id
        store_id = check_store_id(given_id)
        self._in_memory: sqlite3.Connection | None = None
        if path is None and engine is None:
            self._in_memory = path = sqlite3.connect(":memory:", check_same_thread=False)
        store_engine = _engine(path, engine)
        self._open_parts(store_engine, ManagedTables(table_prefix(store_id)), embedder)
        self.registry = Registry(self.tables, store_name(store_id), OWNER)
        schema = SQLiteSchema(self.engine, self.tables, self.extras, self.registry)
        try:
            saved = new_config(
                dimension=dimension, embedder_id=self.embedder_id, retention=retention
            )
            config = schema.open(policy, saved)
            if dimension is not None:
                config.check_vectors(dimension, None)
            self.config = self._open_retention(config, memory_retention_config, policy)
            self.repairs = tuple(schema.repairs)
            if self.repairs and policy is SchemaPolicy.CREATE_IF_NECESSARY:
                self.fill_extras()
        except BaseException:
            self.close()
            raise
        reads = VectorReads(self.tables, self.extras, self.registry.name)
        self.vector_cache = VectorCache(reads)
        self._vector_search = VectorSearch(reads, self.vector_cache)

    def close(self) -> None:
        """Close the store's own connections; one that a caller handed in stays open."""
        super().close()
        if self._in_memory is not None:
            self._in_memory.close()

    def file_bytes(self) -> int | None:
        """Return the size of the database file with its write-ahead log."""
        with self.engine.read() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            size = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
            names = connection.exec_driver_sql("PRAGMA database_list").all()
        path = next((row[2] for row in names if row[1] == "main"), "")
        log = f"{path}-wal"
        has_log = bool(path) and os.path.exists(log)  # noqa: PTH110 - may race with a checkpoint
        return int(pages) * int(size) + (os.path.getsize(log) if has_log else 0)  # noqa: PTH202

    def _make_extras(self) -> list[str]:
        return []  # a SQLite store that is open has them all

    def _reserve(self, transaction: WriteTransaction, count: int) -> None:
        taken = transaction.execute(self.statements.take_numbers, {"count": count})
        last = taken.scalar_one()
        transaction.numbers = iter(range(last - count + 1, last + 1))

    def _number(
        self, transaction: WriteTransaction, rows: list[dict[str, Any]], column: str
    ) -> None:
        for row in rows:
            row[column] = next(transaction.numbers)

    def _insert_chunks(
        self, transaction: WriteTransaction, rows: list[dict[str, Any]]
    ) -> list[int]:
        self._number(transaction, rows, "chunk_id")
        transaction.execute(self.statements.insert(self.tables.record_chunks), rows)
        return [row["chunk_id"] for row in rows]

    def _insert_texts(self, transaction: WriteTransaction, rows: list[dict[str, Any]]) -> None:
        transaction.execute(self.statements.insert(self.extras.text), rows)

    def _drop_texts(
        self, transaction: WriteTransaction, kind: Kind, selector: Selector, owner: Any
    ) -> None:
        transaction.execute(self.removals.texts(kind, selector), {"owner": owner})

    def _vector_hits(self, connection: sa.Connection, request: SearchRequest) -> list[Hit]:
        user_id, version = request.user_id, None
        if not isinstance(user_id, _NotSetMarker):
            version = self.vector_cache.version(connection, user_id)
        config = self.config
        if version is None or config.dimension is None or version.name != config.incarnation:
            config = self._stored_config(connection)
        if config.dimension is None:
            return []
        if request.vector is not None:
            # Made before this connection saw the store, which may have been re-embedded since.
            embedder_id = None if request.text is None else self.embedder_id
            config.check_vectors(len(request.vector), embedder_id)
        elif self.embedder is not None:
            config.check_vectors(self.embedder.embedding_dimension, self.embedder_id)
        return self._vector_search.hits(
            connection,
            request,
            dimension=config.dimension,
            embedder=self.embedder,
            version=version,
        )

    def _keyword_matches(self, connection: sa.Connection, request: SearchRequest) -> list[Match]:
        words = query_words(request.text or "")
        if not words:
            return []
        statement = self._built(
            keyword_shape(request),
            lambda: matches_statement(self.tables, self.extras, request, full_text=True),
        )
        user_id = request.user_id
        scope = None if isinstance(user_id, _NotSetMarker) else scope_token(user_id)
        asked = fts_query(words, scope)
        return keyword_matches(connection, self.tables, statement, request, asked)

    def _keyword_distance(self, score: float) -> float:
        return 1.0 / (1.0 + score)  # BM25 has no upper bound

    def _messages_beside(
        self, connection: sa.Connection, request: SearchRequest, message_ids: list[str]
    ) -> dict[str, list[str]]:
        dimension = self.config.dimension
        if dimension is not None:
            beside = self._vector_search.beside(
                connection, request, message_ids, dimension=dimension
            )
            if beside is not None:
                return beside
        return super()._messages_beside(connection, request, message_ids)


def _engine(path: Any, engine: sa.Engine | None) -> StoreEngine:
    if engine is not None:
        if path is not None:
            raise InvalidInputError("give a path or an engine, not both")
        if not isinstance(engine, sa.Engine) or engine.dialect.name != "sqlite":
            raise WrongTypeError("engine must be a SQLAlchemy engine of a SQLite database")
        return StoreEngine(engine)
    if isinstance(path, sqlite3.Connection):
        _require_any_thread(path)
        return StoreEngine(shared_sqlite_engine(path), serialise=True)
    if not isinstance(path, str | os.PathLike):
        raise WrongTypeError(f"path must be a path or a connection, not {type(path).__name__}")
    return StoreEngine(own_sqlite_engine(os.fspath(path)))


def _require_any_thread(raw: sqlite3.Connection) -> None:
    """Refuse a connection that only its own thread may use, by trying another thread."""
    problems: list[Exception] = []

    def try_it() -> None:
        try:
            raw.execute("SELECT 1").close()
        except sqlite3.ProgrammingError as problem:
            problems.append(problem)

    thread = threading.Thread(target=try_it)
    thread.start()
    thread.join()
    if problems:
        raise StateError(
            "open the connection with check_same_thread=False, or pass the path of its file"
        ) from problems[0]
