"""Selects that skip SQLAlchemy's call: the same rows as Core gives, and the same errors."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import sqlalchemy as sa

from oracleagentmemory.storage.constructs import clock_in_force, utc_now
from oracleagentmemory.storage.ready_select import ReadySelect
from oracleagentmemory.storage.types import Json, UtcTime
from tests.sdk.search.stores import Clock

NOTES = sa.Table(
    "notes",
    sa.MetaData(),
    sa.Column("id", sa.String(), primary_key=True),
    sa.Column("body", Json(none_as_null=True)),
    sa.Column("at", UtcTime()),
)


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://")
    NOTES.metadata.create_all(engine)
    with engine.connect() as opened:
        rows = [
            {"id": "a", "body": {"x": [1, None, "é"]}, "at": Clock().now},
            {"id": "b", "body": None, "at": None},
        ]
        opened.execute(sa.insert(NOTES), rows)
        yield opened
    engine.dispose()


def test_values_are_written_and_read_by_their_types(connection: sa.Connection) -> None:
    statement = sa.select(NOTES).where(NOTES.c.id.in_([sa.bindparam("one"), "b"]))
    ready = ReadySelect(statement.order_by(NOTES.c.id))
    for one in ("a", "missing", "b"):
        plain = connection.execute(ready.statement, {"one": one}).all()
        assert [tuple(row) for row in ready.rows(connection, {"one": one})] == plain


def test_the_clock_is_asked_at_every_call(connection: sa.Connection) -> None:
    past = ReadySelect(sa.select(NOTES.c.id).where(NOTES.c.at < utc_now()))
    clock = Clock()
    with clock_in_force(clock):
        assert list(past.rows(connection, {})) == []
        clock.now += timedelta(seconds=1)
        assert [tuple(row) for row in past.rows(connection, {})] == [("a",)]


def test_errors_are_those_of_core(connection: sa.Connection) -> None:
    ready = ReadySelect(sa.select(NOTES.c.id))
    connection.execute(sa.text("DROP TABLE notes"))
    with pytest.raises(sa.exc.OperationalError, match="no such table"):
        ready.rows(connection, {})
