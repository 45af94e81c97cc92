"""SQL that the two databases spell differently, one construct each.

The client's clock is a context variable: a compiled statement keeps the first callable it saw, so
the callable has to ask for the clock at every execution. Inside an executemany it would be asked
once a row; inserts therefore bind one time a transaction and leave `utc_now()` to conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.functions import FunctionElement, GenericFunction

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the present time in UTC."""
    return datetime.now(UTC)


_clock: ContextVar[Clock] = ContextVar("oracleagentmemory_clock", default=system_clock)


def read_clock() -> datetime:
    """Return the time of the clock in force."""
    return _clock.get()()


@contextmanager
def clock_in_force(clock: Clock) -> Iterator[None]:
    """Let `utc_now()` and `read_clock()` ask `clock` inside the block."""
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)


class utc_now(FunctionElement[Any]):
    """The present time: our clock on SQLite, the database's on Oracle."""

    inherit_cache = True
    name = "utc_now"

    def __init__(self) -> None:
        from oracleagentmemory.storage.types import UtcTime

        self.type = UtcTime()
        super().__init__()


@compiles(utc_now)
def _utc_now(element: utc_now, compiler: SQLCompiler, **kw: Any) -> str:
    parameter = sa.bindparam("utc_now_", callable_=read_clock, type_=element.type)
    return compiler.process(parameter, **kw)


@compiles(utc_now, "oracle")
def _utc_now_oracle(element: utc_now, compiler: SQLCompiler, **kw: Any) -> str:
    return "SYSTIMESTAMP"


class created_now(FunctionElement[Any]):
    """The server default of creation times (DDL knows no parameters)."""

    inherit_cache = True
    name = "created_now"


@compiles(created_now)
def _created_now(element: created_now, compiler: SQLCompiler, **kw: Any) -> str:
    return "(strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now'))"


@compiles(created_now, "oracle")
def _created_now_oracle(element: created_now, compiler: SQLCompiler, **kw: Any) -> str:
    return "SYSTIMESTAMP"


class random_uid(FunctionElement[Any]):
    """The server default of a store's random name."""

    inherit_cache = True
    name = "random_uid"


@compiles(random_uid)
def _random_uid(element: random_uid, compiler: SQLCompiler, **kw: Any) -> str:
    return "(randomblob(16))"


@compiles(random_uid, "oracle")
def _random_uid_oracle(element: random_uid, compiler: SQLCompiler, **kw: Any) -> str:
    return "SYS_GUID()"


class _Wrapped(FunctionElement[Any]):
    """A function of one argument that keeps a given type."""

    inherit_cache = True

    def __init__(self, inner: ColumnElement[Any], *, type_: Any = None) -> None:
        self.type = inner.type if type_ is None else type_
        super().__init__(inner)


class from_utc(_Wrapped):
    """Read a bound time as UTC whatever the session's zone is."""

    inherit_cache = True
    name = "from_utc"


class to_utc(_Wrapped):
    """Answer a stored time in UTC; the driver drops the stored zone."""

    inherit_cache = True
    name = "to_utc"


@compiles(from_utc)
@compiles(to_utc)
def _plain_time(element: _Wrapped, compiler: SQLCompiler, **kw: Any) -> str:
    return compiler.process(element.clauses.clauses[0], **kw)


@compiles(from_utc, "oracle")
def _from_utc_oracle(element: from_utc, compiler: SQLCompiler, **kw: Any) -> str:
    return f"FROM_TZ({compiler.process(element.clauses.clauses[0], **kw)}, 'UTC')"


@compiles(to_utc, "oracle")
def _to_utc_oracle(element: to_utc, compiler: SQLCompiler, **kw: Any) -> str:
    return f"SYS_EXTRACT_UTC({compiler.process(element.clauses.clauses[0], **kw)})"


class vector_distance(GenericFunction[float]):
    """Cosine distance of a stored vector and a bound one, 0 to 2."""

    inherit_cache = True
    type = sa.Float()
    name = "vector_distance"


@compiles(vector_distance)
def _vector_distance(element: vector_distance, compiler: SQLCompiler, **kw: Any) -> str:
    return f"oam_cosine({compiler.process(element.clauses, **kw)})"


@compiles(vector_distance, "oracle")
def _vector_distance_oracle(element: vector_distance, compiler: SQLCompiler, **kw: Any) -> str:
    return f"VECTOR_DISTANCE({compiler.process(element.clauses, **kw)}, COSINE)"


class unindexed(_Wrapped):
    """A column that must not choose the query's index (SQLite's unary plus)."""

    inherit_cache = True
    name = "unindexed"


@compiles(unindexed)
def _unindexed(element: unindexed, compiler: SQLCompiler, **kw: Any) -> str:
    return f"+{compiler.process(element.clauses.clauses[0], **kw)}"


@compiles(unindexed, "oracle")
def _unindexed_oracle(element: unindexed, compiler: SQLCompiler, **kw: Any) -> str:
    return compiler.process(element.clauses.clauses[0], **kw)


class byte_length(FunctionElement[int]):
    """How many bytes a stored image has; none of them is read for it."""

    inherit_cache = True
    type = sa.Integer()
    name = "byte_length"


@compiles(byte_length)
def _byte_length(element: byte_length, compiler: SQLCompiler, **kw: Any) -> str:
    return f"LENGTH({compiler.process(element.clauses, **kw)})"


@compiles(byte_length, "oracle")
def _byte_length_oracle(element: byte_length, compiler: SQLCompiler, **kw: Any) -> str:
    return f"DBMS_LOB.GETLENGTH({compiler.process(element.clauses, **kw)})"


class text_matches(FunctionElement[float]):
    """Whether the text index finds a query in a column: more than 0."""

    inherit_cache = True
    type = sa.Float()
    name = "text_matches"


class text_score(FunctionElement[float]):
    """How well the row that `text_matches` of the same arguments found fits, up to 100."""

    inherit_cache = True
    type = sa.Float()
    name = "text_score"


@compiles(text_matches)
@compiles(text_score)
def _text_score(element: FunctionElement[float], compiler: SQLCompiler, **kw: Any) -> str:
    return f"oam_score({compiler.process(element.clauses, **kw)})"


@compiles(text_matches, "oracle")
def _text_matches_oracle(element: text_matches, compiler: SQLCompiler, **kw: Any) -> str:
    return f"CONTAINS({compiler.process(element.clauses, **kw)}, 1)"


@compiles(text_score, "oracle")
def _text_score_oracle(element: text_score, compiler: SQLCompiler, **kw: Any) -> str:
    return "SCORE(1)"
