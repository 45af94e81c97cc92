"""Column types of the store: one Python value, two databases.

Oracle's own types are spelled by hand (`_Spelled`) so that DDL and RETURNING match the reference
layout to the letter; everything that the two databases disagree on is settled in a type here.
"""

from __future__ import annotations

import array
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.elements import BindParameter, ColumnElement
from sqlalchemy.sql.type_api import TypeEngine
from sqlalchemy.types import TypeDecorator, UserDefinedType

from oracleagentmemory.storage.constructs import from_utc, to_utc

Binder = Callable[[Any], Any]
_BLANK = " "


class _Spelled(UserDefinedType[Any]):
    """An Oracle type by its exact spelling; naming the driver type keeps RETURNING working."""

    cache_ok = True

    def __init__(self, spelling: str, driver_type: str) -> None:
        self.spelling = spelling
        self.driver_type = driver_type

    def get_col_spec(self, **_: Any) -> str:
        return self.spelling

    def get_dbapi_type(self, dbapi: Any) -> Any:
        return getattr(dbapi, self.driver_type)


class StoreType(TypeDecorator[Any]):
    """A type with a spelling for each database."""

    impl: type[TypeEngine[Any]] = sa.String
    cache_ok = True
    #: The driver type sent as input size on Oracle; None leaves the driver's choice.
    input_size: str | None = None

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        """Return the SQLite type and the Oracle type."""
        raise NotImplementedError

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        sqlite, oracle = self.spellings()
        return dialect.type_descriptor(oracle if dialect.name == "oracle" else sqlite)


class Text(StoreType):
    """Short text of at most `length` bytes; `''` is refused, since Oracle reads it back as NULL."""

    cache_ok = True

    def __init__(self, length: int = 128) -> None:
        super().__init__()
        self.length = length

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        return sa.String(self.length), _Spelled(f"VARCHAR2({self.length})", "DB_TYPE_VARCHAR")

    def bind_processor(self, dialect: Dialect) -> Binder:
        return _refuse_blank


class BlankableText(Text):
    """Required short text that may be empty: `''` travels as one space (roles)."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Binder:
        return lambda value: _BLANK if value == "" else value

    def result_processor(self, dialect: Dialect, coltype: object) -> Binder:
        return lambda value: "" if value == _BLANK else value


class LongText(StoreType):
    """Nullable long text: `''` is stored as NULL on both databases, NULL reads back as `''`."""

    cache_ok = True
    impl = sa.Text
    input_size = "DB_TYPE_CLOB"

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        return sa.Text(), _Spelled("CLOB", "DB_TYPE_CLOB")

    def bind_processor(self, dialect: Dialect) -> Binder:
        return lambda value: value or None

    def result_processor(self, dialect: Dialect, coltype: object) -> Binder:
        return lambda value: "" if value is None else value


class RequiredLongText(LongText):
    """NOT NULL long text: `''` travels as one space, as roles do."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Binder:
        return lambda value: value or _BLANK

    def result_processor(self, dialect: Dialect, coltype: object) -> Binder:
        return lambda value: "" if value in (None, _BLANK) else value


class Number(StoreType):
    """A whole number (order numbers, counters)."""

    cache_ok = True
    impl = sa.Integer

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        return sa.Integer(), _Spelled("NUMBER", "DB_TYPE_NUMBER")

    def result_processor(self, dialect: Dialect, coltype: object) -> Binder | None:
        return _whole if dialect.name == "oracle" else None


class Json(StoreType):
    """JSON text on SQLite, native JSON on Oracle; an empty object stays an object.

    Args:
        none_as_null: Store None as SQL NULL (metadata) instead of JSON null (content).
    """

    cache_ok = True
    impl = sa.Text
    input_size = "DB_TYPE_CLOB"  # text over 32 KB cannot be bound as VARCHAR

    def __init__(self, *, none_as_null: bool = True) -> None:
        super().__init__()
        self.none_as_null = none_as_null

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        return sa.JSON(), _Spelled("JSON", "DB_TYPE_JSON")

    def bind_processor(self, dialect: Dialect) -> Binder:
        # Not through the impl: SQLAlchemy's JSON type would encode our text a second time.
        def encode(value: Any) -> str | None:
            return None if value is None and self.none_as_null else dump_json(value)

        return encode

    def result_processor(self, dialect: Dialect, coltype: object) -> Binder:
        return _decode_json


class JsonText(Json):
    """JSON in a CLOB column (the registry's `store_config`), its keys sorted as the reference's."""

    cache_ok = True

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        return sa.Text(), _Spelled("CLOB", "DB_TYPE_CLOB")

    def bind_processor(self, dialect: Dialect) -> Binder:
        return lambda value: json.dumps(value, sort_keys=True, separators=(",", ":"))


class UtcTime(StoreType):
    """An aware UTC time; on SQLite text of fixed width, so that it compares as text."""

    cache_ok = True
    impl = sa.String
    input_size = "DB_TYPE_TIMESTAMP"

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        oracle = _Spelled("TIMESTAMP(6) WITH TIME ZONE", "DB_TYPE_TIMESTAMP_TZ")
        return sa.String(35), oracle

    def bind_processor(self, dialect: Dialect) -> Binder:
        return _naive_utc if dialect.name == "oracle" else _TimeText()

    def result_processor(self, dialect: Dialect, coltype: object) -> Binder:
        return _read_time

    def bind_expression(self, bindparam: BindParameter[Any]) -> ColumnElement[Any]:
        return from_utc(bindparam, type_=self)

    def column_expression(self, column: ColumnElement[Any]) -> ColumnElement[Any]:
        return sa.type_coerce(to_utc(column), self)


class Vector(StoreType):
    """A float32 vector of `dimension` numbers: little-endian bytes on SQLite."""

    cache_ok = True
    impl = sa.LargeBinary
    input_size = "DB_TYPE_VECTOR"

    def __init__(self, dimension: int | None = None) -> None:
        super().__init__()
        self.dimension = dimension

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        size = "*" if self.dimension is None else str(self.dimension)
        spelling = "VECTOR" if self.dimension is None else f"VECTOR({size})"
        return sa.LargeBinary(), _Spelled(spelling, "DB_TYPE_VECTOR")

    def bind_processor(self, dialect: Dialect) -> Binder:
        return _vector_array if dialect.name == "oracle" else _vector_bytes

    def result_processor(self, dialect: Dialect, coltype: object) -> Binder:
        return _read_vector


class Blob(StoreType):
    """Raw bytes of any length."""

    cache_ok = True
    impl = sa.LargeBinary
    input_size = "DB_TYPE_BLOB"

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        return sa.LargeBinary(), _Spelled("BLOB", "DB_TYPE_BLOB")


class Uid(StoreType):
    """Sixteen random bytes that name a store's incarnation; read as 32 hex digits."""

    cache_ok = True
    impl = sa.LargeBinary

    def spellings(self) -> tuple[TypeEngine[Any], TypeEngine[Any]]:
        return sa.LargeBinary(), _Spelled("RAW(16)", "DB_TYPE_RAW")

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else uuid.UUID(value).bytes

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else bytes(value).hex()


_DECODER = json.JSONDecoder()
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def dump_json(value: Any) -> str:
    """Return the JSON text of `value` as both databases store it."""
    return _ENCODER.encode(value)


class _TimeText:
    """Writes times as text; the rows of a batch share their time, so the last text is kept."""

    def __init__(self) -> None:
        self._last: tuple[datetime | None, str | None] = (None, None)

    def __call__(self, value: datetime | None) -> str | None:
        known, text = self._last
        if value is not known:
            text = None if value is None else _in_utc(value).isoformat(timespec="microseconds")
            self._last = (value, text)
        return text


def _in_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("a time without a zone cannot be stored")
    return value.astimezone(UTC)


def _naive_utc(value: datetime | None) -> datetime | None:
    return None if value is None else _in_utc(value).replace(tzinfo=None)


def _read_time(value: Any) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return datetime.fromisoformat(value)


def _refuse_blank(value: Any) -> Any:
    if value == "":
        raise ValueError("an empty string cannot be stored in a short text column")
    return value


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal | float) else value


def _vector_bytes(value: Any) -> bytes | None:
    return None if value is None else np.ascontiguousarray(value, dtype="<f4").tobytes()


def _vector_array(value: Any) -> array.array[float] | None:
    return None if value is None else array.array("f", _vector_bytes(value) or b"")


def _read_vector(value: Any) -> NDArray[np.float32] | None:
    if value is None:
        return None
    if isinstance(value, bytes | memoryview):
        return np.frombuffer(value, dtype="<f4")
    return np.asarray(value, dtype=np.float32)


def _decode_json(value: Any) -> Any:
    if isinstance(value, str):
        return _DECODER.decode(value)
    return _plain(value)


def _plain(value: Any) -> Any:
    # Oracle's native JSON answers numbers as Decimal, whole ones too.
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(inner) for inner in value]
    return value
