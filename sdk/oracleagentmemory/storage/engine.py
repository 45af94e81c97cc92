"""The one way to the database: short reads, one write transaction at a time, no slow work inside.

An *own* engine opens its connections and transactions itself. A *joined* engine lends the
connection of a caller who also owns the transaction; it carries the execution option
``oam_lender`` (:class:`Lender`) and turns our ``write`` option into the caller's transaction.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.sql.dml import UpdateBase

from oracleagentmemory.errors import RetryableError, StateError, StoreUnavailableError
from oracleagentmemory.storage.constructs import (
    Clock,
    clock_in_force,
    read_clock,
    system_clock,
    utc_now,
)
from oracleagentmemory.storage.filters import matches_text
from oracleagentmemory.storage.oracle_waits import TIMED_OUT, bound_waits
from oracleagentmemory.storage.types import StoreType

if TYPE_CHECKING:
    from oracleagentmemory.storage.registry import StoreConfig

BUSY_TIMEOUT_S = 20.0
LENDER_OPTION = "oam_lender"
#: What SQLite and Oracle say when another transaction is in the way.
_BUSY = (
    "database is locked",
    "database table is locked",
    "busy",
    "ORA-00054",
    "ORA-00060",
    TIMED_OUT,
)
_HOST = socket.gethostname()[:64]
_NOW = sa.select(utc_now())
_Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


class Lender(Protocol):
    """What a joined engine knows about its caller's transaction."""

    def in_transaction(self) -> bool:
        """Say whether any transaction of the caller is open on this thread."""

    def in_callers_transaction(self) -> bool:
        """Say the same, not counting the block a test case rolls back."""

    def close_thread(self) -> None:
        """Close what this thread has opened; called on pool threads only."""


@dataclass
class WriteTransaction:
    """An open write transaction: its connection and the one time all its rows carry."""

    connection: sa.Connection
    now: datetime
    process: str = field(default_factory=lambda: f"{_HOST}:{os.getpid()}")
    #: Numbers of the sequence taken for this transaction and not yet given to a row (SQLite).
    numbers: Iterator[int] = field(default_factory=lambda: iter(()))
    #: The store's registry row as the transaction found it, once it was asked for.
    config: StoreConfig | None = None

    def execute(self, statement: sa.Executable, parameters: _Parameters = None) -> Any:
        """Run a statement; a list of parameters runs it once a row."""
        return self.connection.execute(statement, parameters)


class _Local(threading.local):
    write: WriteTransaction | None = None


class StoreEngine:
    """Reads and writes of one store.

    Args:
        engine: A SQLAlchemy engine; its `oam_lender` option says that it is joined.
        clock: The time that new rows carry and expiry is compared with (SQLite only).
        serialise: Only one thread at a time may use it (one raw connection).
    """

    def __init__(
        self, engine: sa.Engine, *, clock: Clock = system_clock, serialise: bool = False
    ) -> None:
        self.engine = engine
        self.clock = clock
        self.lender: Lender | None = engine.get_execution_options().get(LENDER_OPTION)
        self._local = _Local()
        # SQLite has one writer: waiting for it here is fairer than its busy handler.
        own_file = engine.dialect.name == "sqlite" and self.lender is None
        lock = threading.RLock()
        self._read_lock: AbstractContextManager[Any] = lock if serialise else nullcontext()
        self._write_lock: AbstractContextManager[Any] = lock if own_file else self._read_lock
        _listen(engine)

    @property
    def dialect_name(self) -> str:
        """`sqlite` or `oracle`."""
        return self.engine.dialect.name

    @property
    def joined(self) -> bool:
        """Whether connection and transactions belong to a caller."""
        return self.lender is not None

    @property
    def in_transaction(self) -> bool:
        """Whether a write transaction, ours or a caller's, is open on this thread."""
        if self._local.write is not None:
            return True
        return self.lender is not None and self.lender.in_transaction()

    @property
    def in_callers_transaction(self) -> bool:
        """Whether slow work on this thread would hold an open write transaction.

        Unlike `in_transaction` it does not count the block that a test case rolls back.
        """
        if self._local.write is not None:
            return True
        return self.lender is not None and self.lender.in_callers_transaction()

    def refuse_in_transaction(self, what: str) -> None:
        """Raise when slow work would run while a write transaction holds its locks.

        Args:
            what: The work, such as `"embedding a text"`.

        Raises:
            StateError: If a write transaction, ours or a caller's, is open on this thread.
        """
        if self.in_callers_transaction:
            raise StateError(
                f"{what} is slow and must not run inside an open write transaction; "
                "call the prepare_ method first and store.write() inside the transaction"
            )

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """Lend a connection for reading; inside a write transaction, that of the transaction."""
        if self._local.write is not None:
            yield self._local.write.connection
            return
        with (
            clock_in_force(self.clock),
            self._read_lock,
            _translated(self.engine),
            self.engine.connect() as connection,
        ):
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """Lend a connection whose reads all see the store of one moment.

        Inside an open transaction they are reads of that one, which on Oracle see what others
        commit meanwhile.
        """
        if self.in_transaction:
            with self.read() as connection:
                yield connection
        elif self.dialect_name == "oracle":
            with self._read_lock, _translated(self.engine), self.engine.connect() as connection:
                connection = connection.execution_options(write=True)
                with connection.begin():
                    connection.exec_driver_sql("SET TRANSACTION READ ONLY")
                    yield connection
        else:
            with self.read() as connection:
                raw: Any = connection.connection.driver_connection
                if raw.in_transaction:  # of the owner of a shared connection
                    yield connection
                    return
                connection.exec_driver_sql("BEGIN")
                try:
                    yield connection
                finally:
                    connection.exec_driver_sql("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[WriteTransaction]:
        """Open a write transaction, or join the one that this thread has open."""
        if self._local.write is not None:
            yield self._local.write
            return
        with (
            clock_in_force(self.clock),
            self._write_lock,
            _translated(self.engine),
            self.engine.connect() as connection,
        ):
            connection = connection.execution_options(write=True)
            with connection.begin():
                self._local.write = WriteTransaction(connection, self._now(connection))
                try:
                    yield self._local.write
                finally:
                    self._local.write = None

    def _now(self, connection: sa.Connection) -> datetime:
        if self.dialect_name == "sqlite":
            return read_clock()
        now: datetime = connection.execute(_NOW).scalar_one()
        return now

    def dispose(self) -> None:
        """Close the connections that are ours."""
        if not self.joined:
            self.engine.dispose()


@contextmanager
def _translated(engine: sa.Engine) -> Iterator[None]:
    """Raise the SDK's errors for a database that is busy, gone or unreadable."""
    try:
        yield
    except sa.exc.DBAPIError as error:
        cause = str(error.orig)
        if any(sign in cause for sign in _BUSY):
            raise RetryableError("the database is busy with another writer; try again") from error
        # python-oracledb reports a lost connection as a plain DatabaseError, SQLite a file that
        # is no database.
        plain = type(error) is sa.exc.DatabaseError
        gone = plain or isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError)
        if gone or error.connection_invalidated:
            raise StoreUnavailableError(f"{_place(engine)} cannot be used: {cause}") from error
        raise
    except sqlite3.DatabaseError as error:  # raised while a new connection is set up
        raise StoreUnavailableError(f"{_place(engine)} cannot be used: {error}") from error


def _place(engine: sa.Engine) -> str:
    return f"the database {engine.url.database}" if engine.url.database else "the database"


def _listen(engine: sa.Engine) -> None:
    if not event.contains(engine, "before_execute", _refuse_write_in_read):
        event.listen(engine, "before_execute", _refuse_write_in_read)
    if engine.dialect.name == "oracle":
        bound_waits(engine)
        if not event.contains(engine, "do_setinputsizes", _set_input_sizes):
            event.listen(engine, "do_setinputsizes", _set_input_sizes)


def _refuse_write_in_read(
    connection: sa.Connection, statement: object, multi: object, params: object, options: object
) -> None:
    # Begun as a read, a write could not wait for the lock and would be committed row by row.
    if isinstance(statement, UpdateBase) and not connection.get_execution_options().get("write"):
        raise StateError("a statement that changes rows needs a write transaction")


def _set_input_sizes(
    sizes: dict[sa.BindParameter[Any], Any],
    cursor: Any,
    statement: str,
    parameters: Any,
    context: Any,
) -> None:
    # SQLAlchemy sends no size for VECTOR and JSON; JSON text over 32 KB needs CLOB.
    driver = context.dialect.dbapi
    for parameter in sizes:
        size = getattr(parameter.type, "input_size", None)
        if isinstance(parameter.type, StoreType) and size is not None:
            sizes[parameter] = getattr(driver, size)


def own_sqlite_engine(path: str) -> sa.Engine:
    """Return an engine for a database file, its connections set up for several processes."""
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=path),
        hide_parameters=True,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
        pool_size=32,
        max_overflow=32,
    )
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


class SharedConnection:
    """One raw SQLite connection lent to an engine that neither owns nor closes it.

    Only transactions that the engine began are committed or rolled back: the rest are the
    owner's.
    """

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw
        self.writing = False

    def cursor(self, *args: Any, **kwargs: Any) -> sqlite3.Cursor:
        """Open a cursor that gives plain rows whatever the owner's row factory is."""
        cursor: sqlite3.Cursor = self.raw.cursor(*args, **kwargs)
        cursor.row_factory = None
        return cursor

    def begin(self) -> None:
        """Start our write transaction."""
        if self.raw.in_transaction:
            raise StateError("the connection has an open transaction of its own; end it first")
        self.raw.execute("BEGIN IMMEDIATE").close()
        self.writing = True

    def commit(self) -> None:
        """Commit our write transaction, if one is open."""
        if self.writing:
            self.writing = False
            self.raw.commit()

    def rollback(self) -> None:
        """Roll our write transaction back, if one is open."""
        if self.writing:
            self.writing = False
            self.raw.rollback()

    def close(self) -> None:
        """Do nothing: the owner closes."""

    def create_function(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the dialect would register its REGEXP at each checkout."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def shared_sqlite_engine(raw: sqlite3.Connection) -> sa.Engine:
    """Return an engine over one connection that stays open (memory, or a caller's)."""
    set_pragmas(raw)
    register_functions(raw)
    shared = SharedConnection(raw)
    engine = sa.create_engine(
        "sqlite://",
        creator=lambda: shared,
        hide_parameters=True,
        poolclass=sa.NullPool,
        pool_reset_on_return=None,
    )

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("write"):
            shared.begin()

    return engine


def _begin_sqlite(connection: sa.Connection) -> None:
    if connection.get_execution_options().get("write"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _set_up_sqlite(raw: Any, _record: object = None) -> None:
    raw.isolation_level = None  # we say BEGIN; the driver's own would be a deferred one
    set_pragmas(raw)
    register_functions(raw)


def set_pragmas(raw: Any) -> None:
    """Set what a connection of ours to a SQLite file needs."""
    for pragma in (
        f"busy_timeout = {int(BUSY_TIMEOUT_S * 1000)}",
        "journal_mode = WAL",
        "synchronous = NORMAL",
        "foreign_keys = ON",
        "secure_delete = ON",
    ):
        raw.execute(f"PRAGMA {pragma}").close()


def register_functions(raw: Any) -> None:
    """Register the SQL functions that our statements call on a raw SQLite connection.

    Call it when a connection is made, never at checkout: SQLite refuses while a SELECT of that
    connection is unfinished.
    """
    raw.create_function("oam_match", 2, matches_text, deterministic=True)
    raw.create_function("oam_cosine", 2, cosine_distance, deterministic=True)


def cosine_distance(left: bytes | None, right: bytes | None) -> float | None:
    """Return the cosine distance of two stored vectors; 1 when one of them is zero."""
    if left is None or right is None:
        return None
    a, b = np.frombuffer(left, dtype="<f4"), np.frombuffer(right, dtype="<f4")
    size = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return 1.0 if size == 0 else 1.0 - float(a @ b) / size
