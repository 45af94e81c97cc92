"""The lint finds each planted fault and nothing in statements that Oracle takes."""

from __future__ import annotations

import numpy as np
import pytest
import sqlalchemy as sa

from oracleagentmemory.storage.constructs import utc_now, vector_distance
from oracleagentmemory.storage.layout import ManagedTables
from tests.oracle.lint import LintFaultError, faults_of, watch

TABLES = ManagedTables(dimension=3)
memory, message, chunks = TABLES.memory, TABLES.message, TABLES.record_chunks
m = memory.c

FAULTS = {
    "for update with a limit": (
        sa.select(m.record_id).with_for_update().limit(1),
        "ORA-02014",
    ),
    "for update with distinct": (
        sa.select(m.record_id).distinct().with_for_update(),
        "ORA-02014",
    ),
    "for update with group by": (
        sa.select(m.user_id).group_by(m.user_id).with_for_update(),
        "ORA-02014",
    ),
    "for update of an aggregate": (
        sa.select(sa.func.count()).select_from(memory).with_for_update(),
        "ORA-02014",
    ),
    "for update of a subquery": (
        sa.select(sa.select(m.record_id).subquery()).with_for_update(),
        "ORA-02014",
    ),
    "for update of a union": (
        sa.union_all(sa.select(m.record_id), sa.select(message.c.record_id)).with_for_update(),
        "ORA-02014",
    ),
    "distinct on text": (sa.select(m.content).distinct(), "DISTINCT"),
    "distinct on json": (sa.select(m.user_id, m.metadata).distinct(), "DISTINCT"),
    "group by text": (sa.select(sa.func.count()).group_by(m.content), "GROUP BY"),
    "order by text": (sa.select(m.record_id).order_by(m.content.desc()), "ORDER BY"),
    "equality on text": (sa.select(m.record_id).where(m.content == "x"), "comparison"),
    "equality on json": (sa.delete(memory).where(m.metadata == {}), "comparison"),
    "in on text": (sa.select(m.record_id).where(m.content.in_(["x"])), "comparison"),
    "max of text": (sa.select(sa.func.max(m.content)), "max()"),
    "union of text": (
        sa.union(sa.select(m.content), sa.select(chunks.c.chunk_text)),
        "UNION ALL",
    ),
    "a column that is not grouped": (
        sa.select(m.user_id, m.agent_id, sa.func.count()).group_by(m.user_id),
        "ORA-00979",
    ),
    "a column beside an aggregate": (
        sa.select(m.user_id, sa.func.count()),
        "ORA-00979",
    ),
    "order by a column that is not grouped": (
        sa.select(m.user_id, sa.func.count()).group_by(m.user_id).order_by(m.agent_id),
        "ORA-00979",
    ),
    "a fault inside a common table expression": (
        sa.select(sa.select(m.user_id, sa.func.count()).cte("counted").c.user_id),
        "ORA-00979",
    ),
    "row values compared": (
        sa.select(m.record_id).where(sa.tuple_(m.created_at, m.record_id) < ("a", "b")),
        "row values",
    ),
    "true": (sa.select(m.record_id).where(sa.or_(sa.true(), m.user_id == "u")), "true()"),
    "false": (sa.select(m.record_id).where(sa.false()), "false()"),
    "exists as a column": (
        sa.select(sa.exists().where(m.user_id == "u")),
        "condition",
    ),
    "a comparison as a column": (sa.select(m.user_id == m.agent_id), "condition"),
    "comparison with the empty text": (
        sa.select(m.record_id).where(m.user_id != ""),
        "''",
    ),
    "the empty text in a list": (
        sa.select(m.record_id).where(m.user_id.in_(["a", ""])),
        "''",
    ),
}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_planted_fault_is_found(name: str) -> None:
    statement, named = FAULTS[name]
    assert any(named in fault for fault in faults_of(statement)), faults_of(statement)


def test_a_bound_empty_text_and_a_bound_null_are_found_by_their_row() -> None:
    statement = sa.select(m.record_id).where(m.user_id == sa.bindparam("user"))
    assert faults_of(statement, [{"user": "u"}]) == []
    assert "''" in faults_of(statement, [{"user": ""}])[0]
    assert "never true" in faults_of(statement, [{"user": None}])[0]


def test_numpy_scalars_and_sparse_rows_are_found() -> None:
    insert = sa.insert(memory)
    assert "numpy" in faults_of(insert, [{"record_id": np.str_("x")}])[0]
    rows = [{"record_id": "a"}, {"record_id": "b", "user_id": "u"}]
    assert "different keys" in faults_of(insert, rows)[0]


RIGHT = {
    "a locked row": sa.select(m.record_id, m.content).where(m.record_id == "x").with_for_update(),
    "a page": sa.select(memory).where(m.user_id == "u").order_by(m.order_seq.desc()).limit(5),
    "null by its own operator": sa.select(m.record_id).where(m.content.is_(None)),
    "a grouped search": (
        sa.select(
            chunks.c.source_id,
            sa.func.min(vector_distance(chunks.c.embedding, sa.bindparam("qv"))).label("distance"),
        )
        .where(sa.or_(m.expires_at.is_(None), m.expires_at > utc_now()))
        .group_by(chunks.c.source_id)
        .order_by(sa.text("distance"), chunks.c.source_id)
    ),
    "ordered by a label": (
        sa.select(m.user_id, sa.func.count().label("number"))
        .group_by(m.user_id)
        .order_by(sa.desc("number"))
    ),
    "a grouped expression": (
        sa.select(sa.func.lower(m.user_id), sa.func.count()).group_by(sa.func.lower(m.user_id))
    ),
    "pairs by membership": sa.select(m.record_id).where(
        sa.tuple_(m.record_id, m.user_id).in_([("a", "b")])
    ),
    "union all of text": sa.union_all(sa.select(m.content), sa.select(chunks.c.chunk_text)),
    "exists as a condition": sa.select(m.record_id).where(
        sa.exists().where(chunks.c.source_id == m.record_id)
    ),
    "setting text and null": sa.update(memory).values(content="x", user_id=None),
    "a window": sa.select(
        m.record_id, sa.func.row_number().over(partition_by=m.user_id, order_by=m.order_seq)
    ),
    "a count beside a scalar subquery": sa.select(
        sa.func.count(), sa.select(sa.func.max(m.order_seq)).scalar_subquery()
    ),
}


@pytest.mark.parametrize("name", sorted(RIGHT))
def test_a_statement_that_oracle_takes_has_no_fault(name: str) -> None:
    assert faults_of(RIGHT[name]) == []


def test_a_watched_engine_raises_before_the_statement_runs() -> None:
    engine = sa.create_engine("sqlite://", poolclass=sa.StaticPool)
    memory.create(engine)
    watch(engine)
    with engine.connect() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(memory)).scalar() == 0
        with pytest.raises(LintFaultError, match="ORA-02014"):
            connection.execute(sa.select(m.record_id).with_for_update().limit(1))
    engine.dispose()
