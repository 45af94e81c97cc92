"""The SDK on Django's own connection: one transaction for records, audit and everything else.

A second connection inside ``transaction.atomic()`` would wait for the lock its own thread holds.
So one SQLAlchemy engine serves all threads and borrows each thread's Django connection, and a
write transaction of the SDK *is* an atomic block: savepoints, on_commit, reopening and closing
stay Django's business. Reads open no transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.transaction import Atomic, TransactionManagementError
from sqlalchemy import event

from oracleagentmemory.storage.engine import LENDER_OPTION, register_functions
from oracleagentmemory.storage.oracle_connections import LentConnection

_URLS = {"sqlite": "sqlite://", "oracle": "oracle+oracledb://"}
_LENT = "_memoryapp_lent"


class DjangoConnection(LentConnection):
    """Django's raw connection: not only its life but also its transactions are Django's."""

    def commit(self) -> None:
        """Do nothing: Django commits."""

    def rollback(self) -> None:
        """Do nothing: Django rolls back."""

    def create_function(self, *args: Any, **kwargs: Any) -> None:
        """Do nothing: the dialect would register its REGEXP at each checkout.

        SQLite refuses that while a SELECT of the connection is unfinished.
        """


class _Lenders(threading.local):
    """The Django connections of a thread by alias.

    Inside an event loop ``connections`` answers with other ones, and a block that the thread has
    open around the loop would go unseen.
    """

    def __init__(self) -> None:
        self.by_alias: dict[str, BaseDatabaseWrapper] = {}


_lenders = _Lenders()


class DjangoLender:
    """What the SDK may ask about the Django transaction of the calling thread."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    @property
    def _django(self) -> BaseDatabaseWrapper:
        return _lenders.by_alias.get(self._alias) or connections[self._alias]

    def in_transaction(self) -> bool:
        """Say whether any transaction is open, a test case's rollback block too."""
        django = self._django
        return django.in_atomic_block or _without_autocommit(django)

    def in_callers_transaction(self) -> bool:
        """Say whether a transaction is open that is not just a test case's rollback block."""
        django = self._django
        if django.in_atomic_block:
            return not all(
                getattr(block, "_from_testcase", False) for block in django.atomic_blocks
            )
        return _without_autocommit(django)

    def close_thread(self) -> None:
        """Close what this thread has opened; for pool threads, which Django does not know."""
        connections.close_all()


def _without_autocommit(django: BaseDatabaseWrapper) -> bool:
    # The attribute, since get_autocommit() is refused where an event loop runs.
    return django.connection is not None and not django.autocommit


def joined_engine(alias: str) -> sa.Engine:
    """Return an engine on Django's connection to the database ``alias``, good for all threads.

    Raises:
        ImproperlyConfigured: The database is neither SQLite nor Oracle.
    """
    vendor = connections[alias].vendor
    if vendor not in _URLS:
        raise ImproperlyConfigured(f"the memory store runs on SQLite or Oracle, not on {vendor}")
    engine = sa.create_engine(
        _URLS[vendor],
        creator=lambda: _lend(connections[alias]),
        poolclass=sa.NullPool,
        pool_reset_on_return=None,
        hide_parameters=True,
        execution_options={LENDER_OPTION: DjangoLender(alias)},
    )
    _follow_transactions(engine, alias)
    connection_created.connect(_lend_new, dispatch_uid="memoryapp.joined")
    return engine


def _lend_new(connection: BaseDatabaseWrapper, **_: Any) -> None:
    _lend(connection)


def _lend(django: BaseDatabaseWrapper) -> DjangoConnection:
    """Return the proxy of the thread's connection, a new one when Django has reopened it."""
    django.ensure_connection()
    _lenders.by_alias[django.alias] = django
    lent: DjangoConnection | None = vars(django).get(_LENT)
    if lent is None or lent.raw is not django.connection:
        if django.vendor == "sqlite":
            register_functions(django.connection)
        lent = vars(django)[_LENT] = DjangoConnection(django.connection)
    return lent


def _follow_transactions(engine: sa.Engine, alias: str) -> None:
    """Let the engine's transactions be atomic blocks, and its failures be known to Django."""
    # Not in connection.info: that is out of reach after a disconnect, when a block must end too.
    blocks: dict[sa.Connection, Atomic] = {}

    @event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        if connections[alias].needs_rollback:
            raise TransactionManagementError(
                "the surrounding atomic block has failed: nothing can be read or written "
                "before it ends"
            )
        if connection.get_execution_options().get("write"):
            block = transaction.atomic(using=alias)
            with _translated("BEGIN"):
                block.__enter__()
            blocks[connection] = block

    @event.listens_for(engine, "commit")
    def commit(connection: sa.Connection) -> None:
        if block := blocks.pop(connection, None):
            with _translated("COMMIT"):
                block.__exit__(None, None, None)

    @event.listens_for(engine, "rollback")
    def rollback(connection: sa.Connection) -> None:
        if block := blocks.pop(connection, None):
            error = RuntimeError("the write transaction of the store was rolled back")
            block.__exit__(RuntimeError, error, None)

    @event.listens_for(engine, "handle_error")
    def handle_error(context: sa.engine.ExceptionContext) -> None:
        # Django looks at this flag before it uses the connection for the next request.
        if context.is_disconnect:
            connections[alias].errors_occurred = True


@contextmanager
def _translated(statement: str) -> Iterator[None]:
    """Raise what Django's transaction meets in the database as the engine's other errors."""
    try:
        yield
    except DatabaseError as error:
        if error.__cause__ is None:
            raise
        raise sa.exc.DBAPIError.instance(
            statement, None, error.__cause__, Exception, hide_parameters=True
        ) from error
