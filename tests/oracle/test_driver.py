"""The recording driver answers as Oracle would, checks what it is sent and refuses the unknown."""

from __future__ import annotations

import array
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import oracledb
import pytest
import sqlalchemy as sa

from oracleagentmemory.storage.constructs import utc_now
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.types import StoreType
from tests.oracle.driver import Recorder
from tests.oracle.sqlcheck import SqlFaultError

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
MANAGED = ManagedTables(dimension=3)
EXTRA = ExtraTables(MANAGED)
TABLES = [*MANAGED.record_tables, *EXTRA.tables]
LOCKED = ("thread", "message", "memory", "actor_profile", "document")
memory, thread, chunks = MANAGED.memory, MANAGED.thread, MANAGED.record_chunks


class _TimestampTz(sa.types.UserDefinedType[Any]):
    """The bare column type, as it would be if our conversion were lost."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "TIMESTAMP(6) WITH TIME ZONE"

    def get_dbapi_type(self, dbapi: Any) -> Any:
        return dbapi.DB_TYPE_TIMESTAMP_TZ


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(tmp_path / "oracle.sqlite3", TABLES, LOCKED)
    yield recorder
    recorder.sqlite.dispose()


@pytest.fixture
def engine(recorder: Recorder) -> Iterator[sa.Engine]:
    engine = recorder.engine()
    sa.event.listen(engine, "do_setinputsizes", _sizes)
    yield engine
    engine.dispose()


def _sizes(sizes: dict[Any, Any], *_: Any) -> None:
    for parameter in sizes:
        if isinstance(parameter.type, StoreType) and parameter.type.input_size:
            sizes[parameter] = getattr(oracledb, parameter.type.input_size)


def a_memory(record_id: str, **values: Any) -> dict[str, Any]:
    return {
        "record_id": record_id,
        "memory_type": "fact",
        "content": "text",
        "metadata": None,
        "created_at": NOW,
        **values,
    }


def a_chunk(**values: Any) -> dict[str, Any]:
    return {
        "source_id": "m1",
        "source_record_type": "fact",
        "source_emb_column": "content",
        "embedding": np.array([1, 0, 0.5], dtype=np.float32),
        **values,
    }


def test_values_come_back_through_the_dialect_as_they_went_in(engine: sa.Engine) -> None:
    metadata = {"a": 1, "b": [1.5, None, True, "x"], "c": {"d": 2**53 + 1}}
    with engine.begin() as connection:
        connection.execute(sa.insert(memory), [a_memory("m1", content="é" * 50_000)])
        connection.execute(sa.insert(memory).values(a_memory("m2", content="", metadata=metadata)))
    with engine.connect() as connection:
        first, second = connection.execute(sa.select(memory).order_by(memory.c.order_seq)).all()
    assert (first.content, first.metadata, first.created_at) == ("é" * 50_000, None, NOW)
    assert (second.content, second.metadata, second.status) == ("", metadata, "valid")
    assert (first.order_seq, second.order_seq) == (1, 2)


def test_vectors_travel_as_float32_arrays(recorder: Recorder, engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.insert(chunks), [a_chunk()])
        stored = connection.execute(sa.select(chunks.c.embedding)).scalar_one()
    assert stored.tolist() == [1, 0, 0.5]
    insert = next(each for each in recorder.statements if each.sql.startswith("INSERT"))
    assert insert.rows[0]["embedding"] == array.array("f", [1, 0, 0.5])
    assert insert.sizes["embedding"] is oracledb.DB_TYPE_VECTOR


def test_every_execution_replays_its_own_values_and_not_the_cached_ones(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.insert(memory), [a_memory("a"), a_memory("b")])
    with engine.connect() as connection:
        for wanted in ("a", "b"):
            query = sa.select(memory.c.record_id).where(memory.c.record_id == wanted)
            assert connection.execute(query).scalar_one() == wanted


def test_returning_answers_one_number_a_row_in_order(engine: sa.Engine) -> None:
    insert = sa.insert(chunks).returning(chunks.c.chunk_id, sort_by_parameter_order=True)
    with engine.begin() as connection:
        many = connection.execute(insert, [a_chunk(chunk_seq=1), a_chunk(chunk_seq=2)]).scalars()
        assert many.all() == [1, 2]
        one = connection.execute(sa.insert(chunks).values(a_chunk()).returning(chunks.c.chunk_id))
        assert one.scalar_one() == 3


def test_an_identity_number_is_never_given_twice_and_never_taken(engine: sa.Engine) -> None:
    insert = sa.insert(memory).returning(memory.c.order_seq)
    with engine.connect() as connection:
        connection.execute(insert, [a_memory("gone")])
        connection.rollback()
        with connection.begin():
            assert connection.execute(insert, [a_memory("kept")]).scalar_one() == 2
        with pytest.raises(sa.exc.DatabaseError, match="ORA-32795"), connection.begin():
            connection.execute(sa.insert(memory), [a_memory("own", order_seq=7)])


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"record_id": "taken"}, "ORA-00001"),
        ({"thread_id": "nobody's"}, "ORA-02291"),
        ({"memory_type": None}, "ORA-01400"),
        ({"status": "odd"}, "ORA-02290"),
    ],
)
def test_a_broken_constraint_is_the_drivers_integrity_error(
    engine: sa.Engine, values: dict[str, Any], code: str
) -> None:
    with engine.connect() as connection, connection.begin():
        connection.execute(sa.insert(memory), [a_memory("taken")])
        with pytest.raises(sa.exc.IntegrityError, match=code) as caught:
            connection.execute(sa.insert(memory), [a_memory("new") | values])
        assert isinstance(caught.value.orig, oracledb.IntegrityError)
        assert caught.value.orig.args[0].full_code == code
        left = connection.execute(sa.select(memory.c.record_id)).scalars().all()
    assert left == ["taken"]


def test_a_text_longer_than_its_column_is_refused_by_bytes(engine: sa.Engine) -> None:
    with engine.connect() as connection, connection.begin():
        connection.execute(sa.insert(memory), [a_memory("空" * 42)])
        with pytest.raises(sa.exc.DatabaseError, match="ORA-12899"):
            connection.execute(sa.insert(memory), [a_memory("空" * 43)])


def test_a_transaction_commits_or_leaves_nothing(engine: sa.Engine) -> None:
    count = sa.select(sa.func.count()).select_from(memory)
    with engine.connect() as writer, engine.connect() as reader:
        writer.execute(sa.insert(memory), [a_memory("m1")])
        assert writer.execute(count).scalar_one() == 1
        assert reader.execute(count).scalar_one() == 0
        writer.rollback()
        assert writer.execute(count).scalar_one() == 0
        writer.execute(sa.insert(memory), [a_memory("m1")])
        writer.commit()
        assert reader.execute(count).scalar_one() == 1


def test_a_savepoint_undoes_its_part(engine: sa.Engine) -> None:
    with engine.connect() as connection, connection.begin():
        connection.execute(sa.insert(memory), [a_memory("kept")])
        nested = connection.begin_nested()
        connection.execute(sa.insert(memory), [a_memory("gone")])
        nested.rollback()
        assert connection.execute(sa.select(memory.c.record_id)).scalars().all() == ["kept"]


def test_a_change_of_an_unlocked_row_is_a_lost_lock(engine: sa.Engine) -> None:
    update = sa.update(memory).values(content="new").where(memory.c.record_id == "m1")
    lock = sa.select(memory.c.record_id).where(memory.c.record_id == "m1").with_for_update()
    with engine.connect() as connection:
        connection.execute(lock)
        connection.execute(update)
        connection.commit()
        with pytest.raises(AssertionError, match="lost lock"):
            connection.execute(update)
        with pytest.raises(AssertionError, match="lost lock"):
            connection.execute(sa.delete(thread).where(thread.c.record_id == "t"))


def test_a_lock_is_gone_with_the_savepoint_it_was_taken_after(engine: sa.Engine) -> None:
    lock = sa.select(memory.c.record_id).where(memory.c.record_id == "m1").with_for_update()
    with engine.connect() as connection, connection.begin():
        nested = connection.begin_nested()
        connection.execute(lock)
        nested.rollback()
        with pytest.raises(AssertionError, match="lost lock"):
            connection.execute(sa.delete(memory).where(memory.c.record_id == "m1"))


def test_a_row_that_another_session_holds_is_waited_for_no_longer_than_said(
    recorder: Recorder, engine: sa.Engine
) -> None:
    recorder.busy_tables.add("memory")
    lock = sa.select(memory.c.record_id)
    with engine.connect() as connection:
        with pytest.raises(sa.exc.DatabaseError, match="ORA-00054"):
            connection.execute(lock.with_for_update(nowait=True))
        with pytest.raises(AssertionError, match="for ever"):
            connection.execute(lock.with_for_update())
        connection.connection.dbapi_connection.call_timeout = 50
        with pytest.raises(sa.exc.DatabaseError, match="DPY-4024"):
            connection.execute(lock.with_for_update())


@pytest.mark.parametrize(
    "sql",
    [
        "BEGIN DBMS_SCHEDULER.DROP_JOB('X'); END;",
        "CREATE TABLE x (a NUMBER)",
        "SELECT 1 FROM memory",
        "COMMIT",
    ],
)
def test_text_without_a_registered_answer_is_refused(
    recorder: Recorder, engine: sa.Engine, sql: str
) -> None:
    with engine.connect() as connection:
        for run in (
            lambda: connection.exec_driver_sql(sql),
            lambda: connection.execute(sa.text(sql)),
        ):
            with pytest.raises(AssertionError, match="no answer is registered"):
                run()
        recorder.answer(sql, [(7,)])
        assert connection.exec_driver_sql(sql).scalar() == 7


def test_ddl_is_text_too(engine: sa.Engine) -> None:
    with engine.connect() as connection, pytest.raises(AssertionError, match="CREATE TABLE"):
        memory.create(connection, checkfirst=False)


def test_a_statement_with_a_fault_fails_where_it_runs(engine: sa.Engine) -> None:
    elsewhere = sa.table("memory", sa.column("record_idd"))
    with engine.connect() as connection, pytest.raises(SqlFaultError, match="RECORD_IDD"):
        connection.execute(sa.select(elsewhere.c.record_idd))


def test_a_size_that_nobody_set_and_a_time_without_a_zone_are_faults(recorder: Recorder) -> None:
    bare = recorder.engine()
    with bare.connect() as connection:
        with pytest.raises(SqlFaultError, match="embedding of Vector"):
            connection.execute(sa.insert(chunks), [a_chunk()])
        with pytest.raises(SqlFaultError, match="metadata of Json"):
            connection.execute(sa.insert(memory), [a_memory("m")])
        unzoned = sa.table("memory", sa.column("created_at", _TimestampTz()))
        query = sa.select(unzoned).where(unzoned.c.created_at > NOW.replace(tzinfo=None))
        with pytest.raises(SqlFaultError, match="a time without a zone"):
            connection.execute(query)
    bare.dispose()


def test_an_empty_text_is_a_fault_wherever_it_is_bound(engine: sa.Engine) -> None:
    with engine.connect() as connection, pytest.raises(SqlFaultError, match="NULL on Oracle"):
        connection.execute(sa.select(memory.c.record_id, sa.literal("", sa.String).label("x")))


def test_a_column_read_without_conversion_comes_in_the_servers_zone(engine: sa.Engine) -> None:
    bare = sa.table("memory", sa.column("created_at", _TimestampTz()))
    with engine.begin() as connection:
        connection.execute(sa.insert(memory), [a_memory("m1")])
        naive = connection.execute(sa.select(bare.c.created_at)).scalar_one()
    assert naive == NOW.replace(tzinfo=None) + timedelta(hours=9)


def test_without_type_handlers_large_text_is_a_locator_and_json_holds_decimals(
    recorder: Recorder, engine: sa.Engine
) -> None:
    with engine.begin() as connection:
        connection.execute(sa.insert(memory), [a_memory("m1", metadata={"a": 1.0, "b": 0.1})])
    cursor = recorder.connect().cursor()
    query = sa.select(memory.c.content, memory.c.metadata)
    cursor.core, cursor.compiled = (query, []), query.compile(dialect=engine.dialect)
    cursor.execute(str(cursor.compiled))
    content, metadata = cursor.fetchone() or (None, None)
    assert content.read() == "text"
    assert metadata == {"a": Decimal(1), "b": Decimal("0.1")}
    assert str(metadata["a"]) == "1"


def test_the_present_time_is_the_databases(recorder: Recorder, engine: sa.Engine) -> None:
    with engine.connect() as connection:
        now = connection.execute(sa.select(utc_now())).scalar_one()
    assert abs(now - datetime.now(UTC)) < timedelta(minutes=1)
    assert "SYSTIMESTAMP" in recorder.statements[-1].sql


def test_a_closed_session_is_a_disconnect(recorder: Recorder) -> None:
    session = recorder.connect()
    session.close()
    with pytest.raises(oracledb.Error, match="not connected"):
        session.cursor()
