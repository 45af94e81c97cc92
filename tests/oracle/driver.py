"""A recording driver: the Oracle path runs without a server, every statement checked.

``Recorder`` stands for the database. Its connections take the SQL, the binds and the input sizes
that SQLAlchemy's Oracle dialect sends, check them, and run the Core statement behind them on a
SQLite file with the same tables; the rows go back in the shapes of python-oracledb. Text that has
no Core statement (DDL, PL/SQL, dictionary queries) is refused unless a test registered an answer
for exactly that text.

What only a live server can tell: that Oracle parses the 23ai parts of a statement, the semantics
of JSON paths and Oracle Text, plans, locks between sessions, and the session's time zone.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from oracleagentmemory.storage.engine import register_functions
from tests.oracle import lint
from tests.oracle.binds import check_binds
from tests.oracle.cursor import Cursor
from tests.oracle.locks import LockBook
from tests.oracle.replay import (
    Answer,
    Identities,
    Row,
    raise_driver,
    raise_ora,
    replay,
    sqlite_copies,
    sqlite_engine,
    words,
)
from tests.oracle.sqlcheck import SqlChecker
from tests.oracle.texts import text_score

Handler = Callable[["Connection", Mapping[str, Any]], Answer]
_PENDING = "recorder_statement"
_SAVEPOINT = re.compile(r"(ROLLBACK TO )?SAVEPOINT (\S+)")
_LOST = {28, 3113, 3114, 3135}


@dataclass(frozen=True)
class Recorded:
    """One execution: the text, its rows of binds, the sizes set for them."""

    sql: str
    rows: Sequence[Row]
    sizes: Mapping[str, Any]


class Recorder:
    """The database behind the recorded connections.

    Args:
        path: The SQLite file that holds the data.
        tables: The tables that statements may name.
        locked: Names of tables whose rows must be locked before they are changed.
        create: Make the tables at once.
    """

    version = "23.26.0.0.0"

    def __init__(
        self,
        path: Path,
        tables: Sequence[sa.Table],
        locked: Sequence[str] = (),
        *,
        create: bool = True,
    ) -> None:
        self.sqlite = sqlite_engine(str(path), _register)
        self._tables = tables
        for table in tables if create else []:
            self.create(table.name)
        self.checker = SqlChecker(tables)
        self.identities = Identities()
        self.must_lock = frozenset(locked)
        #: Tables of which another session holds the rows, and will not let go.
        self.busy_tables: set[str] = set()
        #: Code and text of the error that the next statement meets, once.
        self.next_error: tuple[int, str] | None = None
        self.statements: list[Recorded] = []
        self._handlers: dict[str, Handler] = {}
        self._lock = threading.Lock()
        for sql, rows in _SESSION_ANSWERS.items():
            self.answer(sql, rows)
        self.handle("SELECT table_name FROM user_tables", _table_names)

    def engine(self) -> sa.Engine:
        """Return an engine whose connections are recorded and whose statements are linted."""
        engine = sa.create_engine(
            "oracle+oracledb://",
            creator=self.connect,
            poolclass=sa.NullPool,
            hide_parameters=True,
        )
        lint.watch(engine)
        watch(engine)
        return engine

    @cached_property
    def _copies(self) -> dict[str, sa.Table]:
        return sqlite_copies(self._tables)

    def create(self, name: str) -> None:
        """Make a table, as its DDL would."""
        self._copies[name].create(self.sqlite)

    def connect(self, **_: Any) -> Connection:
        """Open a session, as ``oracledb.connect`` and ``pool.acquire`` do."""
        return Connection(self)

    def handle(self, sql: str, handler: Handler) -> None:
        """Answer exactly this text by calling ``handler`` with the session and the binds."""
        self._handlers[words(sql)] = handler

    def answer(self, sql: str, rows: Sequence[tuple[Any, ...]] = ()) -> None:
        """Answer exactly this text with fixed rows."""
        columns = [(f"C{number}", None) for number in range(len(rows[0]) if rows else 0)]
        answer = Answer(columns, [list(rows)])
        self.handle(sql, lambda session, binds: answer)

    def handler_of(self, sql: str) -> Handler:
        """Return the answer registered for this text.

        Raises:
            AssertionError: Nothing is known about this text.
        """
        try:
            return self._handlers[words(sql)]
        except KeyError:
            raise AssertionError(f"no answer is registered for this text: {sql}") from None

    def record(self, recorded: Recorded) -> None:
        with self._lock:
            self.statements.append(recorded)


def _table_names(session: Connection, _: Mapping[str, Any]) -> Answer:
    rows = session.read_sqlite("SELECT upper(name) FROM sqlite_master WHERE type = 'table'")
    return Answer([("TABLE_NAME", None)], [rows])


def _register(raw: Any) -> None:
    register_functions(raw)
    raw.create_function("sys_context", 2, _sys_context)
    raw.create_function("oam_score", 2, text_score, deterministic=True)


def _sys_context(namespace: str, name: str) -> str:
    return _CONTEXT[namespace, name]


_CONTEXT = {("USERENV", "CURRENT_USERID"): "105"}
_SESSION_ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "SELECT 1.1 FROM DUAL": [("1.1",)],
    "select sys_context( 'userenv', 'current_schema' ) from dual": [("MEMORY",)],
    "SELECT value FROM v$parameter WHERE name = 'compatible'": [("23.6.0",)],
    # Django's backend, for each new connection.
    "ALTER SESSION SET NLS_TERRITORY = 'AMERICA'": [],
    "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS'"
    " NLS_TIMESTAMP_FORMAT = 'YYYY-MM-DD HH24:MI:SS.FF' TIME_ZONE = 'UTC'": [],
    "SELECT 1 FROM DUAL WHERE DUMMY LIKE TRANSLATE(:arg0 USING NCHAR_CS)"
    " ESCAPE TRANSLATE('\\' USING NCHAR_CS)": [(1,)],
}


def watch(engine: sa.Engine) -> None:
    """Tell the cursors of ``engine`` which Core statement their SQL was compiled from.

    It is the one given to ``before_execute``: the compiled one may be an earlier statement of the
    same shape, with its values.
    """

    @event.listens_for(engine, "before_execute")
    def before_execute(
        connection: sa.Connection, statement: object, multi: Any, single: Any, options: object
    ) -> None:
        rows = list(multi) or ([single] if single else [])
        connection.info[_PENDING] = (statement, rows)

    @event.listens_for(engine, "before_cursor_execute")
    def before_cursor_execute(
        connection: sa.Connection, cursor: Any, sql: str, rows: Any, context: Any, many: bool
    ) -> None:
        pending = connection.info.pop(_PENDING, None)
        # A driver's text has no compiled form: a statement left from a failed one is not its.
        cursor.core = pending if context is not None and context.compiled is not None else None
        cursor.compiled = context.compiled if cursor.core else None


class Connection:
    """One session. It has at most one SQLite connection, from its first statement to its end."""

    thin = True
    version = Recorder.version
    max_identifier_length = 128
    username = "MEMORY"

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.autocommit = False
        self.outputtypehandler: Any = None
        self.stmtcachesize = 20
        self.call_timeout = 0
        self.closed = False
        self.locks = LockBook(recorder.must_lock)
        self._sqlite: sa.Connection | None = None
        self._open = False
        self._in_use = threading.Lock()

    def cursor(self, *_: Any, **__: Any) -> Cursor:
        self._must_be_open()
        return Cursor(self)

    def ping(self) -> None:
        self._must_be_open()

    def commit(self) -> None:
        self._end("COMMIT")

    def rollback(self) -> None:
        self._end("ROLLBACK")

    def close(self) -> None:
        self._die()

    def run(self, cursor: Cursor, sql: str, rows: Sequence[Row]) -> Answer:
        """Check and execute one call of a cursor."""
        if not self._in_use.acquire(blocking=False):
            raise AssertionError("two threads use one connection at the same time")
        try:
            return self._run(cursor, sql, rows)
        finally:
            self._in_use.release()

    def _run(self, cursor: Cursor, sql: str, rows: Sequence[Row]) -> Answer:
        self._must_be_open()
        self.recorder.record(Recorded(sql, rows, dict(cursor.sizes)))
        if self.recorder.next_error is not None:
            (code, text), self.recorder.next_error = self.recorder.next_error, None
            if code in _LOST:
                self._die()
            raise_ora(code, text)
        if cursor.core is None or not _is_query(cursor.core[0]):
            return self._run_text(sql, rows)
        statement, core_rows = cursor.core
        self.recorder.checker.check(sql, rows)
        check_binds(cursor.compiled, sql, rows, cursor.sizes)
        self._take_locks(statement, sql)
        changes = isinstance(statement, sa.UpdateBase)
        if changes or self.locks.held:
            self._begin()
        answer = replay(self._session(), statement, core_rows, self.recorder.identities)
        if changes and self.autocommit:
            self.commit()
        return answer

    def _take_locks(self, statement: Any, sql: str) -> None:
        wanted = self.locks.taken_by(statement)
        if busy := wanted & self.recorder.busy_tables:
            if statement._for_update_arg.nowait:
                raise_ora(54, f"resource busy and acquire with NOWAIT specified ({busy})")
            if not self.call_timeout:
                raise AssertionError(f"waits for the rows of {busy} for ever")
            raise_driver(f"DPY-4024: call timeout of {self.call_timeout} ms exceeded")
        self.locks.check(statement, sql)
        self.locks.held |= wanted

    def _run_text(self, sql: str, rows: Sequence[Row]) -> Answer:
        if match := _SAVEPOINT.fullmatch(sql):
            self._begin()
            self._session().exec_driver_sql(sql)
            self.locks.restore(match[2]) if match[1] else self.locks.save(match[2])
            return Answer()
        answer = Answer()
        handler = self.recorder.handler_of(sql)
        for row in rows or [{}]:
            answer = handler(self, row)
        return answer

    def execute_sqlite(self, sql: str, parameters: Any = ()) -> None:
        """Run SQLite text inside this session's transaction; for handlers of plain tables."""
        self._begin()
        self._session().exec_driver_sql(sql, parameters)
        if self.autocommit:
            self.commit()

    def read_sqlite(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """Return the rows of SQLite text, as this session sees them."""
        return [tuple(row) for row in self._session().exec_driver_sql(sql, parameters)]

    def _session(self) -> sa.Connection:
        if self._sqlite is None:
            # Our own text begins and ends transactions; SQLAlchemy's would not see them.
            self._sqlite = self.recorder.sqlite.connect()
        return self._sqlite

    def _begin(self) -> None:
        if not self._open:
            self._session().exec_driver_sql("BEGIN IMMEDIATE")
            self._open = True

    def _die(self) -> None:
        """End the session; what it had not committed is gone."""
        self.closed, self._open = True, False
        self.locks.release()
        if self._sqlite is not None:
            self._sqlite.close()
            self._sqlite = None

    def _end(self, word: str) -> None:
        self._must_be_open()
        self.locks.release()
        if self._open:
            self._open = False
            self._session().exec_driver_sql(word)

    def _must_be_open(self) -> None:
        if self.closed:
            raise_ora(3114, "not connected to ORACLE")


def _is_query(statement: Any) -> bool:
    """Say whether a statement is a tree that SQLite can run as well; text and DDL are not."""
    return isinstance(statement, sa.Select | sa.CompoundSelect | sa.UpdateBase)
