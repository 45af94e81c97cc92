"""Column types: one Python value on both databases, and the traps between them."""

from __future__ import annotations

import array
import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import oracle, sqlite

from oracleagentmemory.storage.constructs import clock_in_force, utc_now
from oracleagentmemory.storage.types import (
    BlankableText,
    Json,
    LongText,
    Number,
    RequiredLongText,
    Text,
    Uid,
    UtcTime,
    Vector,
)

ORACLE = oracle.oracledb.dialect()
SQLITE = sqlite.dialect()
DIALECTS = pytest.mark.parametrize("dialect", [SQLITE, ORACLE], ids=["sqlite", "oracle"])


def bound(kind: sa.types.TypeEngine[Any], dialect: Any, value: Any) -> Any:
    process = kind.dialect_impl(dialect).bind_processor(dialect)
    return value if process is None else process(value)


def read(kind: sa.types.TypeEngine[Any], dialect: Any, value: Any) -> Any:
    process = kind.dialect_impl(dialect).result_processor(dialect, None)
    return value if process is None else process(value)


@DIALECTS
def test_empty_text_is_never_left_to_the_database(dialect: Any) -> None:
    with pytest.raises(ValueError, match="empty string"):
        bound(Text(), dialect, "")
    assert bound(Text(), dialect, None) is None
    assert bound(LongText(), dialect, "") is None
    assert read(LongText(), dialect, None) == ""
    for required in (BlankableText(30), RequiredLongText()):
        assert bound(required, dialect, "") == " "
        assert read(required, dialect, " ") == ""
        assert read(required, dialect, "x ") == "x "


@DIALECTS
def test_none_is_null_in_metadata_and_json_null_in_content(dialect: Any) -> None:
    assert bound(Json(), dialect, None) is None
    assert bound(Json(none_as_null=False), dialect, None) == "null"
    assert bound(Json(), dialect, {}) == "{}"
    value = {"ü": [1, 2.5, None, True, "空"], "n": 2**70}
    assert json.loads(bound(Json(), dialect, value)) == value
    with pytest.raises(ValueError, match="JSON"):
        bound(Json(), dialect, {"a": float("nan")})


def test_json_of_oracle_comes_back_as_plain_numbers() -> None:
    stored = {"a": Decimal("1"), "b": [Decimal("2.50"), {"c": Decimal("1e3")}], "d": None}
    plain = read(Json(), ORACLE, stored)
    assert plain == {"a": 1, "b": [2.5, {"c": 1000}], "d": None}
    assert [type(plain["a"]), type(plain["b"][0]), type(plain["b"][1]["c"])] == [int, float, int]


def test_times_are_utc_text_of_one_width_on_sqlite() -> None:
    tokyo = timezone(timedelta(hours=9))
    time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=tokyo)
    text = bound(UtcTime(), SQLITE, time)
    assert text == "2026-01-01T18:04:05.000000+00:00"
    assert read(UtcTime(), SQLITE, text) == time
    assert len(bound(UtcTime(), SQLITE, datetime.max.replace(tzinfo=UTC))) == len(text)
    with pytest.raises(ValueError, match="zone"):
        bound(UtcTime(), SQLITE, datetime(2026, 1, 1))


def test_times_travel_to_oracle_as_naive_utc_and_back() -> None:
    time = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=9)))
    assert bound(UtcTime(), ORACLE, time) == datetime(2026, 1, 1, 18, 4, 5, 6)
    assert read(UtcTime(), ORACLE, datetime(2026, 1, 1, 18, 4, 5, 6)) == time
    column = sa.column("at", UtcTime())
    statement = sa.select(column).where(column < sa.bindparam("now", type_=UtcTime()))
    text = str(statement.compile(dialect=ORACLE))
    assert "SYS_EXTRACT_UTC(at)" in text
    assert "FROM_TZ(:now, 'UTC')" in text
    assert "UTC" not in str(statement.compile(dialect=SQLITE))


def test_vectors_are_float32_on_both_databases() -> None:
    vector = np.array([0.5, -1.25, 3.0])
    stored = bound(Vector(3), SQLITE, vector)
    assert stored == np.array([0.5, -1.25, 3.0], "<f4").tobytes()
    assert read(Vector(3), SQLITE, stored).tolist() == vector.tolist()
    sent = bound(Vector(3), ORACLE, vector)
    assert isinstance(sent, array.array)
    assert sent.typecode == "f"
    assert read(Vector(3), ORACLE, sent).tolist() == vector.tolist()
    assert bound(Vector(3), ORACLE, None) is None


def test_numbers_and_names_read_back_as_python_has_them() -> None:
    assert read(Number(), ORACLE, Decimal("7")) == 7
    assert type(read(Number(), ORACLE, Decimal("7"))) is int
    name = "00112233445566778899aabbccddeeff"
    assert read(Uid(), SQLITE, bound(Uid(), SQLITE, name)) == name


def test_the_clock_is_asked_at_every_execution_of_a_cached_statement() -> None:
    engine = sa.create_engine("sqlite://")
    statement = sa.select(utc_now())
    times = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
    with engine.connect() as connection:
        for time in times:
            with clock_in_force(lambda time=time: time):
                assert connection.execute(statement).scalar_one() == time
    assert str(statement.compile(dialect=ORACLE)).startswith("SELECT SYS_EXTRACT_UTC(SYSTIMESTAMP)")
    engine.dispose()
