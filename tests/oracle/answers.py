"""Values as python-oracledb hands them out, made from what SQLite holds.

The shapes are those of thin mode: TIMESTAMP WITH TIME ZONE as a naive datetime in the stored
offset, JSON as Python objects with Decimal numbers, CLOB and BLOB as LOB objects unless a type
handler asks for something else, VECTOR as ``array('f')``, ``''`` as None.
"""

from __future__ import annotations

import array
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

import oracledb
from sqlalchemy.dialects import oracle
from sqlalchemy.types import Float, Integer, NullType, String, Text, TypeDecorator, TypeEngine

_DIALECT = oracle.oracledb.dialect()
_DIALECT.dbapi = oracledb
# What SYSTIMESTAMP of a server outside UTC stores: a reader that forgets it is wrong by this.
SERVER_OFFSET = timedelta(hours=9)

_STRINGS = {oracledb.DB_TYPE_VARCHAR, oracledb.DB_TYPE_NVARCHAR, oracledb.DB_TYPE_LONG}
_TEXT_LOBS = {oracledb.DB_TYPE_CLOB, oracledb.DB_TYPE_NCLOB}


class Lob:
    """A LOB locator: its value costs a round trip, and a forgotten ``read`` shows."""

    def __init__(self, value: str | bytes) -> None:
        self._value = value

    def read(self) -> str | bytes:
        return self._value

    def __repr__(self) -> str:
        return f"<LOB of {len(self._value)}>"


class Var:
    """A bind variable of ``cursor.var``: an OUT parameter, or the way a column is fetched."""

    def __init__(
        self,
        typ: Any,
        size: int = 0,
        arraysize: int = 1,
        outconverter: Callable[[Any], Any] | None = None,
        **_: Any,
    ) -> None:
        self.type = _database_type(typ)
        self.values: list[Any] = [None] * arraysize
        self._outconverter = outconverter

    def fetched(self, value: Any) -> Any:
        """Return a fetched value as this variable hands it out."""
        if value is None:
            return None
        value = _cast(value, self.type)
        return value if self._outconverter is None else self._outconverter(value)

    def getvalue(self, position: int = 0) -> Any:
        return self.values[position]

    def setvalue(self, position: int, value: Any) -> None:
        self.values[position] = value


@lru_cache(maxsize=4096)
def column_type(type_: TypeEngine[Any]) -> Any:
    """Return the driver's type of a Core type, None when only the value tells it."""
    inner = type_.load_dialect_impl(_DIALECT) if isinstance(type_, TypeDecorator) else type_
    if isinstance(inner, NullType):
        return None
    if isinstance(inner, Float):
        return oracledb.DB_TYPE_BINARY_DOUBLE
    if isinstance(inner, Integer):
        return oracledb.DB_TYPE_NUMBER
    if isinstance(inner, Text):
        return oracledb.DB_TYPE_CLOB
    if isinstance(inner, String):
        return oracledb.DB_TYPE_VARCHAR
    return _database_type(inner.dialect_impl(_DIALECT).get_dbapi_type(oracledb))


def reads_utc(type_: TypeEngine[Any]) -> bool:
    """Say whether selecting this type converts to UTC in the database."""
    return type_._has_column_expression


def stored_as(value: Any, type_: TypeEngine[Any]) -> tuple[Any, Any]:
    """Return the driver's type and value of what SQLite answered for a column of ``type_``."""
    database = column_type(type_)
    if value is None or value == "":
        return database or oracledb.DB_TYPE_VARCHAR, None
    if database is None:
        return _by_value(value)
    if database is oracledb.DB_TYPE_JSON:
        return database, _json(value)
    if database is oracledb.DB_TYPE_TIMESTAMP_TZ:
        moment = datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None)
        return database, moment if reads_utc(type_) else moment + SERVER_OFFSET
    if database is oracledb.DB_TYPE_VECTOR:
        return database, array.array("f", value)
    if database in {oracledb.DB_TYPE_NUMBER, oracledb.DB_TYPE_BINARY_DOUBLE}:
        return database, value if database is oracledb.DB_TYPE_NUMBER else float(value)
    if database in _STRINGS | _TEXT_LOBS and isinstance(value, str):
        return database, value
    if database in {oracledb.DB_TYPE_BLOB, oracledb.DB_TYPE_RAW} and isinstance(value, bytes):
        return database, value
    raise AssertionError(f"no Oracle answer known for {value!r} of {type_!r}")


def without_handler(value: Any, database: Any) -> Any:
    """Return a fetched value as the driver hands it out when nobody asks otherwise."""
    if value is not None and database in _TEXT_LOBS | {oracledb.DB_TYPE_BLOB}:
        return Lob(value)
    return value


def _by_value(value: Any) -> tuple[Any, Any]:
    if isinstance(value, str):
        return oracledb.DB_TYPE_VARCHAR, value
    if isinstance(value, int | float):
        return oracledb.DB_TYPE_NUMBER, value
    raise AssertionError(f"a column without a type answered {value!r}")


def _json(text: str) -> Any:
    # The database does not keep 1.0 apart from 1.
    def number(digits: str) -> Decimal:
        return Decimal(digits).normalize()

    return json.loads(text, parse_float=number, parse_int=number)


def _database_type(typ: Any) -> Any:
    plain = {
        int: oracledb.DB_TYPE_NUMBER,
        float: oracledb.DB_TYPE_NUMBER,
        Decimal: oracledb.DB_TYPE_NUMBER,
        str: oracledb.DB_TYPE_VARCHAR,
        oracledb.STRING: oracledb.DB_TYPE_VARCHAR,
        oracledb.NUMBER: oracledb.DB_TYPE_NUMBER,
    }
    return plain.get(typ, typ)


def _cast(value: Any, wanted: Any) -> Any:
    if isinstance(value, Lob):
        value = value.read()
    if wanted in _STRINGS:
        return value if isinstance(value, str) else str(value)
    if wanted in _TEXT_LOBS | {oracledb.DB_TYPE_BLOB}:
        return Lob(value)
    if wanted is oracledb.DB_TYPE_RAW and isinstance(value, bytes):
        return value
    if wanted in {oracledb.DB_TYPE_BINARY_DOUBLE, oracledb.NATIVE_FLOAT}:
        return float(value)
    if wanted is oracledb.DB_TYPE_NUMBER:
        return value
    if wanted in {oracledb.DB_TYPE_TIMESTAMP_TZ, oracledb.DB_TYPE_TIMESTAMP} and isinstance(
        value, datetime
    ):
        return value
    if wanted in {oracledb.DB_TYPE_JSON, oracledb.DB_TYPE_VECTOR}:
        return value
    raise AssertionError(f"no conversion known from {value!r} to {wanted}")
