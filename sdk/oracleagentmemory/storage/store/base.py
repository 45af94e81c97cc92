"""What every part of the SQL store stands on, and the few steps that differ by database."""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from oracleagentmemory._threaded import TwinOwner, TwinPool
from oracleagentmemory.apis.embedders.embedder import IEmbedder
from oracleagentmemory.apis.message import ImageMimeType
from oracleagentmemory.errors import (
    ConflictError,
    DuplicateIdError,
    InvalidInputError,
    NotFoundError,
    RetryableError,
    StateError,
)
from oracleagentmemory.storage.embedding import embedded
from oracleagentmemory.storage.engine import StoreEngine, WriteTransaction
from oracleagentmemory.storage.extras import ExtraTables, scope_key
from oracleagentmemory.storage.fingerprints import (
    ImageMark,
    fingerprint,
    marked_image,
    noted_content,
)
from oracleagentmemory.storage.kinds import IMAGE, THREAD, Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.readpool import ReadPool
from oracleagentmemory.storage.registry import Registry, StoreConfig
from oracleagentmemory.storage.removals import Removals, Selector
from oracleagentmemory.storage.retention import Retention
from oracleagentmemory.storage.rows import effective_time, mime_type_of
from oracleagentmemory.storage.statements import Statements, in_lists
from oracleagentmemory.storage.writes import Prepared, in_order

if TYPE_CHECKING:
    from oracleagentmemory.storage.keyword_sql import Match
    from oracleagentmemory.storage.retrieval import Hit, SearchRequest

T = TypeVar("T")


class StoreParts(TwinOwner, abc.ABC):
    """The parts of an open store and the steps that a database does its own way.

    Attributes:
        engine: Reads and write transactions.
        tables: The managed tables.
        extras: The SDK-only tables.
        embedder: Turns texts into vectors; None stores and searches none.
        config: What the store's registry row said when it was last read.
        repairs: What opening the store made again or upgraded, in words.
        keeps_texts: Whether keyword rows are rows of ours (SQLite).
        has_extras: Whether the SDK-only tables exist; a store of the reference that we may not
            alter has none, and nothing is noted beside its records.
    """

    engine: StoreEngine
    tables: ManagedTables
    extras: ExtraTables
    embedder: IEmbedder | None
    config: StoreConfig
    registry: Registry
    has_extras: bool = True
    keeps_texts: ClassVar[bool] = False
    repairs: tuple[str, ...] = ()
    statements: Statements
    removals: Removals

    def _open_parts(
        self, engine: StoreEngine, tables: ManagedTables, embedder: IEmbedder | None
    ) -> None:
        self.engine = engine
        self.tables = tables
        self.extras = ExtraTables(tables)
        self.embedder = embedder
        self.statements = Statements(tables, self.extras)
        self.removals = Removals(tables, self.extras)
        self._shapes: dict[Hashable, sa.Select[Any]] = {}
        self._twin_pool = TwinPool()
        self._read_pool = ReadPool()

    @property
    def incarnation(self) -> str:
        """32 hexadecimal digits, new whenever the store or all its vectors were made anew."""
        return self.current_config().incarnation

    @property
    def retention(self) -> Retention:
        """The rules for the life of records that are stored with the store."""
        return self.current_config().retention

    def _by_retention(self, resolve: Callable[[Retention], T]) -> T:
        """Return what the stored rules make of arguments; bad ones are refused before any read."""
        known = self.config.retention
        resolved = resolve(known)
        stored = self.retention
        return resolved if stored == known else resolve(stored)

    def _built(self, shape: Hashable, build: Callable[[], sa.Select[Any]]) -> sa.Select[Any]:
        """Return the one statement of a shape, built at its first use."""
        if shape not in self._shapes:
            self._shapes[shape] = build()
        return self._shapes[shape]

    # -- writing ------------------------------------------------------------------------------

    def write(self, prepared: Prepared[T]) -> T:
        """Apply a prepared change in a write transaction and return its result.

        Inside a write transaction of this thread, ours or (on a joined engine) the caller's, the
        change becomes part of it.

        Raises:
            RetryableError: While the store is being re-embedded.
        """
        with self.engine.write() as transaction:
            transaction.config = config = self._stored_config(transaction.connection)
            if not prepared.maintains:
                config.refuse_writes()
            return prepared.apply(transaction)

    def write_all(self, prepared: Sequence[Prepared[Any]]) -> list[Any]:
        """Apply several prepared changes in one transaction, in order."""
        return self.write(in_order(list(prepared)))

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction, ours or a caller's, is open on this thread."""
        return self.engine.in_transaction

    @property
    def in_callers_transaction(self) -> bool:
        """Whether slow work on this thread would hold an open write transaction."""
        return self.engine.in_callers_transaction

    def read_together(self, reads: Sequence[Callable[[], T]], at_most: int) -> list[T]:
        """Run reads on threads of the store, so many at the same time; results in order.

        Inside a transaction they run one after another: other threads would not see it.
        """
        if at_most < 2 or len(reads) < 2 or self.engine.in_transaction:
            return [read() for read in reads]
        return self._read_pool.run(reads, at_most, self._after_twin)

    def refuse_in_transaction(self, what: str) -> None:
        """Raise StateError when a slow step would hold an open transaction of this thread."""
        self.engine.refuse_in_transaction(what)

    def close(self) -> None:
        """Close the connections that are the store's own; a joined store has none."""
        if self._twin_pool is not None:
            self._twin_pool.release()
        self._read_pool.release()
        self.engine.dispose()

    # -- what the databases do differently ------------------------------------------------------

    @abc.abstractmethod
    def _reserve(self, transaction: WriteTransaction, count: int) -> None:
        """Take `count` numbers of the sequence for this transaction."""

    @abc.abstractmethod
    def _number(
        self, transaction: WriteTransaction, rows: list[dict[str, Any]], column: str
    ) -> None:
        """Give each row its number where the database does not do it by itself."""

    @abc.abstractmethod
    def _insert_chunks(
        self, transaction: WriteTransaction, rows: list[dict[str, Any]]
    ) -> list[int]:
        """Insert chunk rows and return their numbers in order."""

    @abc.abstractmethod
    def _insert_texts(self, transaction: WriteTransaction, rows: list[dict[str, Any]]) -> None:
        """Insert keyword rows: chunk number (`rowid`), scope word and body."""

    @abc.abstractmethod
    def _drop_texts(
        self, transaction: WriteTransaction, kind: Kind, selector: Selector, owner: Any
    ) -> None:
        """Delete the keyword rows of a set of records, before their chunks go."""

    @abc.abstractmethod
    def _vector_hits(self, connection: sa.Connection, request: SearchRequest) -> list[Hit]:
        """Return the nearest records of a vector search, nearest first."""

    @abc.abstractmethod
    def _keyword_matches(self, connection: sa.Connection, request: SearchRequest) -> list[Match]:
        """Return the records that hold words of a request's text, best first."""

    @abc.abstractmethod
    def _keyword_distance(self, score: float) -> float:
        """Return the distance, 0 to 1, that a keyword search shows for a score."""

    @abc.abstractmethod
    def _check_image(self, data: bytes, mime_type: ImageMimeType) -> None:
        """Decode an image, and raise InvalidInputError unless it is a whole one of this format."""

    @abc.abstractmethod
    def file_bytes(self) -> int | None:
        """Return the size of the store's file with its log, None where there is no file."""

    def _check_picture(self, image_id: str, columns: Mapping[str, Any]) -> None:
        """Check the bytes that are about to be stored of an image, if there are any.

        Raises:
            InvalidInputError: If they are not an image of the format that is stored with them.
        """
        if "blob" not in columns:
            return
        try:
            self._check_image(columns["blob"], mime_type_of(columns["document_metadata"]))
        except InvalidInputError as error:
            raise InvalidInputError(f"image {image_id!r} cannot be stored: {error}") from error

    # -- shared steps -----------------------------------------------------------------------------

    @contextmanager
    def _integrity(
        self, transaction: WriteTransaction, kind: Kind, ids: Sequence[str]
    ) -> Iterator[None]:
        """Name the id that a unique key refused, or the thread that a foreign key missed."""
        try:
            yield
        except sa.exc.IntegrityError as error:
            taken = self._taken_ids(transaction, kind, list(ids))
            if taken:
                named = ", ".join(repr(one) for one in sorted(taken)[:3])
                raise DuplicateIdError(
                    f"another {kind.name.replace('_', ' ')} with the id {named} exists already"
                ) from error
            if "ORA-02291" in str(error.orig) or "FOREIGN KEY" in str(error.orig):
                raise NotFoundError("the thread that the record names does not exist") from error
            raise

    def _taken_ids(self, transaction: WriteTransaction, kind: Kind, ids: list[str]) -> list[str]:
        """Return which ids other records have, after an insert has failed half way."""
        # Rows of the failed insert have no state yet; rows of another SDK never have one.
        stated = [self.statements.with_state] if self.has_extras else []
        for statement in (*stated, self.statements.existing(kind)):
            for part in in_lists(ids):
                chosen = {"kind": kind.name, "ids": part}
                taken = transaction.execute(statement, chosen).scalars().all()
                if taken:
                    return list(taken)
        return []

    def _require_threads(self, transaction: WriteTransaction, thread_ids: Sequence[str]) -> None:
        """Lock the threads that new rows name, which also keeps their messages in order."""
        statement = self.statements.existing(THREAD, locked=True)
        for ids in in_lists(sorted(set(thread_ids))):
            found = set(transaction.execute(statement, {"ids": ids}).scalars())
            missing = [one for one in ids if one not in found]
            if missing:
                raise NotFoundError(f"there is no thread with the id {missing[0]!r}")

    def _remove(
        self, transaction: WriteTransaction, kind: Kind, selector: Selector, owner: Any
    ) -> list[Any]:
        """Delete a set of records with all that hangs on them; return what they were."""
        parameters = {"owner": owner}
        gone = transaction.execute(self.removals.lock(kind, selector), parameters).all()
        if gone:
            self._before_removal(transaction, kind, [row.id for row in gone])
            self._drop_chunks(transaction, kind, selector, owner)
            extras = self.removals.extra_rows(kind, selector) if self.has_extras else []
            for statement in (*extras, self.removals.records(kind, selector)):
                transaction.execute(statement, parameters)
        return list(gone)

    def _before_removal(
        self, transaction: WriteTransaction, kind: Kind, record_ids: Sequence[str]
    ) -> None:
        """Settle what other records are without these, which are locked."""

    def _after_unlinking(self, transaction: WriteTransaction) -> None:
        """Put right what the database itself does when relations are deleted."""

    def _drop_chunks(
        self, transaction: WriteTransaction, kind: Kind, selector: Selector, owner: Any
    ) -> None:
        """Delete the retrieval rows of a set of records."""
        if kind.text is not None:
            self._drop_texts(transaction, kind, selector, owner)
            tokens = [self.removals.tokens(kind, selector)] if self.has_extras else []
            for statement in (*tokens, self.removals.chunks(kind, selector)):
                transaction.execute(statement, {"owner": owner})

    def _record_changes(self, transaction: WriteTransaction, changes: list[dict[str, Any]]) -> None:
        """Append to `x_change`; each change has scope_key, kind, id, operation, fingerprint."""
        if not self.has_extras:
            return
        for change in changes:
            change["changed_at"] = transaction.now
            change["process"] = transaction.process
        self._number(transaction, changes, "change_id")
        transaction.execute(self.statements.insert(self.extras.change), changes)

    def _change(
        self, user_id: str | None, kind: Kind, record_id: str, operation: str, digest: str | None
    ) -> dict[str, Any]:
        return {
            "scope_key": scope_key(user_id),
            "record_kind": kind.name,
            "record_id": record_id,
            "operation": operation,
            "fingerprint": digest,
        }

    def _note_update(
        self,
        transaction: WriteTransaction,
        kind: Kind,
        row: Any,
        values: Mapping[str, Any],
        user_id: str | None,
    ) -> None:
        """Count the record's version up and append the change."""
        if not self.has_extras:
            return
        after = {**self._hashed(transaction.connection, kind, row), **values}
        if isinstance(after.get("blob"), bytes):
            after["blob"] = ImageMark.of(after["blob"])
        digest = fingerprint(kind.name, after)
        state = {
            "fingerprint": digest,
            "content_hash": noted_content(kind, after),
            "updated_at": transaction.now,
            "effective_at": effective_time(after.get("timestamp"), row.created_at),
        }
        record_id = row._mapping[kind.key]
        key = {"kind": kind.name, "id": record_id}
        if not transaction.execute(self.statements.update_state, {**state, **key}).rowcount:
            # A record that was not written by this SDK has no state yet.
            new = {"record_kind": kind.name, "record_id": record_id, "version": 1, **state}
            transaction.execute(self.statements.insert(self.extras.record_state), [new])
        change = self._change(user_id, kind, record_id, "update", digest)
        self._record_changes(transaction, [change])

    def _hashed(self, connection: sa.Connection, kind: Kind, row: Any) -> dict[str, Any]:
        """Return the columns of a row that its fingerprint counts; no image is read for them."""
        columns: dict[str, Any] = row._mapping
        if kind is not IMAGE:
            return dict(columns)
        noted = None
        if self.has_extras:
            key = {"kind": kind.name, "id": columns[kind.key]}
            noted = connection.execute(self.statements.noted_content, key).scalar()
        return marked_image(columns, noted)

    def _compare(
        self, transaction: WriteTransaction, wanted: str | None, kind: Kind, row: Any
    ) -> None:
        """Raise ConflictError if a row does not have the fingerprint that a caller names."""
        if wanted is not None:
            hashed = self._hashed(transaction.connection, kind, row)
            current = fingerprint(kind.name, hashed)
            self._check_fingerprint(wanted, current, row._mapping[kind.key])

    def _check_fingerprint(self, wanted: str | None, current: str, record_id: str) -> None:
        if wanted is not None and wanted != current:
            raise ConflictError(
                f"{record_id!r} has changed since it was read; read it again and repeat the change"
            )

    # -- vectors ------------------------------------------------------------------------------

    def _embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
        """Embed texts outside any write transaction; shape (N, D)."""
        assert self.embedder is not None  # noqa: S101 - callers ask first
        self.engine.refuse_in_transaction("embedding a text")
        self._agree(lambda config: config.check_embedder(self.embedder_id))
        vectors = embedded(self.embedder, texts, is_query=is_query)
        self._agree(lambda config: config.check_vectors(vectors.shape[1], self.embedder_id))
        return vectors

    def _check_explicit(self, vectors: list[NDArray[np.float32]]) -> None:
        dimension = one_dimension(vectors)
        if dimension is not None:
            self._agree(lambda config: config.check_vectors(dimension, None))

    def _agree(self, check: Callable[[StoreConfig], None]) -> None:
        """Raise what a check of the registry row raises, if the row as it is now does not pass.

        One that was read before and passes is enough: writes and searches see whether all vectors
        of the store were made anew since then.
        """
        try:
            check(self.config)
        except InvalidInputError:
            check(self.current_config())

    @property
    def embedder_id(self) -> str | None:
        """The name of the embedder in use, None when it has none."""
        return getattr(self.embedder, "embedder_id", None)

    def current_config(self) -> StoreConfig:
        """Return the registry row as it is now: another process may have changed it."""
        with self.engine.read() as connection:
            return self._stored_config(connection)

    def _stored_config(self, connection: sa.Connection) -> StoreConfig:
        config = self.registry.read(connection)
        if config is None:
            raise StateError("the store does not exist any more; open it anew")
        # What a transaction of ours has written may yet be rolled back.
        if not self.engine.in_transaction:
            self.config = config
        return config

    def _fix_vectors(
        self,
        transaction: WriteTransaction,
        vectors: NDArray[np.float32],
        made_for: str | None = None,
    ) -> None:
        """Note dimension and embedder of the first vectors that the store receives.

        Args:
            made_for: The store's incarnation when the vectors were made.

        Raises:
            RetryableError: If all vectors of the store were made anew since then.
        """
        config = transaction.config or self._stored_config(transaction.connection)
        dimension = vectors.shape[1]
        if config.dimension is None:
            config = self.registry.read(transaction.connection, locked=True) or config
        if config.dimension is None:
            saved = config.with_vectors(dimension, self.embedder_id).saved
            self.registry.save(transaction.connection, saved)
        elif made_for not in (None, config.incarnation):
            raise RetryableError(
                "the store was re-embedded or made anew after this change was prepared; "
                "prepare it again"
            )
        else:
            config.check_vectors(dimension, None)

    # -- async twins --------------------------------------------------------------------------

    def _before_twin(self, method_name: str) -> None:
        if self.engine.in_transaction:
            raise StateError(
                f"{method_name}_async works on another connection and would wait for the open "
                f"transaction of this one for ever; call {method_name}() here"
            )

    def _after_twin(self) -> None:
        if self.engine.lender is not None:
            self.engine.lender.close_thread()


def one_dimension(vectors: Sequence[NDArray[np.float32]]) -> int | None:
    """Return the dimension that all vectors have, None when there are none.

    Raises:
        InvalidInputError: If they have several.
    """
    dimensions = sorted({array.shape[1] for array in vectors})
    if len(dimensions) > 1:
        raise InvalidInputError(f"embeddings of one call differ in dimension: {dimensions}")
    return dimensions[0] if dimensions else None
