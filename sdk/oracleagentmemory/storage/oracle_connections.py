"""SQLAlchemy engines over what callers of the Oracle store hand in."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from oracleagentmemory.errors import WrongTypeError
from oracleagentmemory.storage.engine import StoreEngine


class LentConnection:
    """A caller's raw connection: its life is the caller's, and so is its type handler.

    SQLAlchemy's dialect sets an output type handler and, at its first connect, rolls back; neither
    may reach the caller.
    """

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.outputtypehandler: Any = None
        self.writing = False

    def cursor(self, *args: Any, **kwargs: Any) -> Any:
        """Open a cursor that fetches as SQLAlchemy expects."""
        cursor = self.raw.cursor(*args, **kwargs)
        if self.outputtypehandler is not None:
            cursor.outputtypehandler = self.outputtypehandler
        return cursor

    def commit(self) -> None:
        """Commit a write transaction of ours."""
        if self.writing:
            self.writing = False
            self.raw.commit()

    def rollback(self) -> None:
        """Roll a write transaction of ours back."""
        if self.writing:
            self.writing = False
            self.raw.rollback()

    def close(self) -> None:
        """Do nothing: the caller closes."""

    @property
    def call_timeout(self) -> int:
        """Milliseconds that a call of the caller's connection may take, 0 for no end."""
        return int(self.raw.call_timeout)

    @call_timeout.setter
    def call_timeout(self, milliseconds: int) -> None:
        self.raw.call_timeout = milliseconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self.raw, name)


def oracle_engine(pool: Any, schema_owner: str | None = None) -> StoreEngine:
    """Return the engine of a store.

    Args:
        pool: An oracledb pool; an oracledb connection, which one thread at a time uses; or a
            SQLAlchemy engine that joins a caller's transactions.
        schema_owner: Upper-case name of the user whose tables they are; None for the connected
            user's.

    Raises:
        WrongTypeError: If it is none of these.
    """
    if isinstance(pool, sa.Engine):
        if pool.dialect.name != "oracle":
            raise WrongTypeError("the engine of an Oracle store must speak to Oracle")
        return StoreEngine(_of_owner(pool, schema_owner))
    if hasattr(pool, "acquire"):
        return StoreEngine(_of_owner(_engine(pool.acquire), schema_owner))
    if not hasattr(pool, "cursor"):
        raise WrongTypeError(
            f"pool must be an oracledb connection or pool, not {type(pool).__name__}"
        )
    lent = LentConnection(pool)
    engine = _engine(lambda: lent, pool_reset_on_return=None)

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        lent.writing = bool(connection.get_execution_options().get("write"))

    return StoreEngine(_of_owner(engine, schema_owner), serialise=True)


def _of_owner(engine: sa.Engine, schema_owner: str | None) -> sa.Engine:
    """Let every table be named with its owner; statements stay the same objects."""
    if schema_owner is None:
        return engine
    name = sa.sql.quoted_name(schema_owner, quote=True)
    return engine.execution_options(schema_translate_map={None: name})


def _engine(creator: Any, **options: Any) -> sa.Engine:
    return sa.create_engine(
        "oracle+oracledb://",
        creator=creator,
        poolclass=sa.NullPool,
        hide_parameters=True,
        **options,
    )
