"""Check the values and input sizes that go to the driver with a statement."""

from __future__ import annotations

import array
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import oracledb
from sqlalchemy.types import TypeEngine

from tests.oracle.answers import Var, column_type
from tests.oracle.sqlcheck import SqlFaultError
from tests.oracle.tokens import bind_names

_EXPANDED = re.compile(r"(?:_\d+){1,2}$")
_MAX_BINDS = 65_535
_TIMES = {oracledb.DB_TYPE_TIMESTAMP, oracledb.DB_TYPE_TIMESTAMP_TZ}
# What a bind of a column's type needs as input size: without it the driver guesses from the value,
# wrong for NULL, for text over 32 KB and for vectors.
_SIZES: Mapping[Any, set[Any]] = {
    oracledb.DB_TYPE_VECTOR: {oracledb.DB_TYPE_VECTOR},
    oracledb.DB_TYPE_CLOB: {oracledb.DB_TYPE_CLOB},
    oracledb.DB_TYPE_JSON: {oracledb.DB_TYPE_CLOB},
    oracledb.DB_TYPE_BLOB: {oracledb.DB_TYPE_BLOB},
    oracledb.DB_TYPE_TIMESTAMP_TZ: _TIMES,
}
_VALUES: Mapping[Any, tuple[type, ...]] = {
    oracledb.DB_TYPE_VECTOR: (array.array,),
    oracledb.DB_TYPE_CLOB: (str,),
    oracledb.DB_TYPE_BLOB: (bytes,),
    oracledb.DB_TYPE_TIMESTAMP: (datetime,),
    oracledb.DB_TYPE_TIMESTAMP_TZ: (datetime,),
}
# Words in braces: anything else in an Oracle Text query may be an operator.
_TEXT_QUERY = re.compile(r"CONTAINS\([^,]+, :(\w+), 1\)")
_ESCAPED = re.compile(r"\{[^{}\\]+\}(?: (?:ACCUM|AND) \{[^{}\\]+\})*")
_PLAIN = (str, int, float, Decimal, bytes, Var)


def check_binds(
    compiled: Any, sql: str, rows: Sequence[Mapping[str, Any]], sizes: Mapping[str, Any]
) -> None:
    """Raise ``SqlFaultError`` for a bind whose value or size the driver would take wrongly."""
    names = bind_names(sql)
    faults = [*_size_faults(compiled, sql, names, sizes)]
    if len(names) > _MAX_BINDS:
        faults.append(f"{len(names)} binds")
    text_queries = _TEXT_QUERY.findall(sql)
    for row in rows:
        faults += _value_faults(row, sizes)
        faults += [
            f"{row[name]!r} is no query of words in braces"
            for name in text_queries
            if not _ESCAPED.fullmatch(row[name])
        ]
    if faults:
        raise SqlFaultError(faults, sql)


def _size_faults(
    compiled: Any, sql: str, names: set[str], sizes: Mapping[str, Any]
) -> Iterator[str]:
    for name in sorted(names):
        type_ = _bound_type(compiled, name)
        if type_ is None:
            continue
        wanted = _SIZES.get(column_type(type_))
        if wanted and sizes.get(name) not in wanted:
            yield f"{name} of {type_!r} has the input size {sizes.get(name)}"
        if wanted is _TIMES and f"FROM_TZ(:{name}, 'UTC')" not in sql:
            yield f"{name} is a time without a zone"


def _bound_type(compiled: Any, name: str) -> TypeEngine[Any] | None:
    """Return the type of a bind that goes in; None for one that comes out."""
    plain = name.strip('"')
    parameter = compiled.binds.get(plain, compiled.binds.get(_EXPANDED.sub("", plain)))
    if parameter is None or parameter.isoutparam:
        return None
    return parameter.type


def _value_faults(row: Mapping[str, Any], sizes: Mapping[str, Any]) -> Iterator[str]:
    for name, value in row.items():
        if value is None:
            continue
        size = sizes.get(name)
        allowed = _VALUES.get(size, _PLAIN)
        if not isinstance(value, allowed) or isinstance(value, bool):
            yield f"{name}={value!r} cannot be bound as {size or 'a plain value'}"
        elif value == "":
            yield f"{name} is '', which is NULL on Oracle"
        elif isinstance(value, array.array) and value.typecode != "f":
            yield f"{name} is a vector of {value.typecode!r}, not of float32"
        elif isinstance(value, datetime) and value.tzinfo is not None:
            yield f"{name} is an aware time, whose zone the driver drops"
