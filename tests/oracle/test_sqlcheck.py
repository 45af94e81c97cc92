"""The checker lets statements of the reference's shapes pass and catches planted faults."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from tests.oracle.facts import TABLES
from tests.oracle.normalise import normalise
from tests.oracle.sqlcheck import SqlChecker, SqlFaultError
from tests.oracle.tokens import bind_names


@pytest.fixture(scope="module")
def checker() -> SqlChecker:
    metadata = sa.MetaData()
    return SqlChecker(
        sa.Table(name, metadata, *(sa.Column(column.name, sa.Text) for column in table.columns))
        for name, table in TABLES.items()
    )


SEARCH = """WITH src AS (SELECT 'message' AS record_type, message.record_id, message.metadata,
  message.user_id FROM message WHERE message.expires_at IS NULL OR message.expires_at > SYSTIMESTAMP
  UNION ALL SELECT memory.memory_type, memory.record_id, memory.metadata, memory.user_id FROM memory
  UNION ALL SELECT CASE WHEN (actor_profile.actor_type = :actor_type_1) THEN :param_1 ELSE :param_2
  END, actor_profile.actor_id, actor_profile.metadata, actor_profile.actor_id FROM actor_profile),
ranked AS (SELECT record_chunks.source_id, record_chunks.source_record_type,
  min(VECTOR_DISTANCE(record_chunks.embedding, :qv, COSINE)) AS distance
  FROM record_chunks JOIN src ON record_chunks.source_record_type = src.record_type
   AND src.record_id = record_chunks.source_id
  WHERE record_chunks.source_emb_column IN (:a, :b) AND record_chunks.embedding IS NOT NULL
   AND record_chunks.status != :s AND src.user_id = :u
   AND JSON_EXISTS(src.metadata, '$."tags"[*]?(@ == $v)' PASSING JSON(:p3) AS "v" ERROR ON ERROR)
   AND NOT JSON_EXISTS(src.metadata, '$."s(t"?(@ == $v || @ == $w)'
     PASSING JSON(:p4) AS "v", JSON(:p5) AS "w" ERROR ON ERROR)
   AND JSON_EXISTS(src.metadata, '$."x"?(@.type() == "object")' ERROR ON ERROR)
  GROUP BY record_chunks.source_id, record_chunks.source_record_type
  ORDER BY distance FETCH FIRST 5 ROWS ONLY)
SELECT memory.record_id, memory.content, memory.metadata, ranked.distance
FROM memory JOIN ranked ON memory.record_id = ranked.source_id ORDER BY ranked.distance"""
SEARCH_BINDS = "actor_type_1 param_1 param_2 qv a b s u p3 p4 p5"

RIGHT = [
    (SEARCH, SEARCH_BINDS),
    (
        "SELECT record_chunks.source_id, VECTOR_DISTANCE(record_chunks.embedding, :qv, COSINE)"
        " AS distance FROM record_chunks WHERE record_chunks.user_id = :u"
        " ORDER BY distance FETCH APPROX FIRST 5 ROWS ONLY",
        "qv u",
    ),
    (
        "SELECT JSON_SERIALIZE(content RETURNING CLOB) AS content,"
        " SYS_EXTRACT_UTC(created_at) AS created_at FROM message WHERE record_id = :id FOR UPDATE",
        "id",
    ),
    (
        "SELECT record_id FROM thread_summary WHERE thread_id = :t AND"
        """ JSON_VALUE(metadata, '$."$agent_memory".revision' RETURNING NUMBER) = :revision""",
        "t revision",
    ),
    (
        "INSERT INTO message (record_id, message_role, content, expires_at)"
        " VALUES (:record_id, :role, :content, FROM_TZ(:expires_at, 'UTC'))"
        " RETURNING message.order_seq INTO :ret_0",
        "record_id role content expires_at ret_0",
    ),
    (
        "UPDATE memory SET expires_at=CASE WHEN :e IS NOT NULL THEN :e ELSE SYSTIMESTAMP +"
        " NUMTODSINTERVAL(:ttl, 'DAY') END, metadata=JSON_TRANSFORM(memory.metadata,"
        """ REMOVE '$."$agent_memory"."invalidation_reason"' IGNORE ON MISSING)"""
        " WHERE memory.record_id = :id",
        "e ttl id",
    ),
    (
        "DELETE FROM record_chunks WHERE record_chunks.source_id = :id AND NOT (EXISTS"
        " (SELECT 1 FROM memory WHERE memory.record_id = record_chunks.source_id))",
        "id",
    ),
    (
        "SELECT chunk_text FROM record_chunks WHERE CONTAINS(chunk_text, :q, 1) > 0"
        " ORDER BY SCORE(1) DESC OFFSET :o ROWS FETCH FIRST :n ROWS ONLY",
        "q o n",
    ),
    ('SELECT record_id FROM message WHERE timestamp = :"timestamp"', '"timestamp"'),
    (
        "SELECT record_id FROM memory WHERE memory.metadata IS NULL OR"
        """ (JSON_EXISTS(memory.metadata, '$."$agent_memory"') AND JSON_EQUAL(JSON_TRANSFORM("""
        """memory.metadata, REMOVE '$."$agent_memory"' IGNORE ON MISSING), JSON('{}')))""",
        "",
    ),
    ("SELECT DBMS_LOB.GETLENGTH(document.blob) AS byte_count FROM document", ""),
    ("SELECT ':not_a_bind', 'LIMIT 5' FROM dual", ""),
]

WRONG = [
    ("SELECT record_idd FROM memory", "record_idd"),
    ("SELECT record_id FROM memories", "memories"),
    ("SELECT record_id FROM memory LIMIT 5", "LIMIT"),
    ("INSERT INTO memory (record_id) VALUES (1) ON CONFLICT DO NOTHING", "CONFLICT"),
    ("SELECT m.record_id FROM memory AS m", "AS before a table alias"),
    ("SELECT m.record_id FROM thread JOIN memory AS m ON m.thread_id = 1", "AS before"),
    ("SELECT a.n FROM (SELECT record_id AS n FROM memory) AS a", "AS before"),
    ("SELECT record_id FROM memory FETCH FIRST 5 ROWS", "FETCH without ONLY"),
    ("SELECT record_id FROM memory OFFSET 5 FETCH FIRST 5 ROWS ONLY", "OFFSET"),
    ("SELECT VECTOR_DISTANCE(embedding, embedding, COSIN) FROM record_chunks", "COSIN"),
    ("SELECT count(record_id FROM memory", "expecting )"),
    ("SELECT record_id user_id agent_id FROM memory", ""),
    ("SELECT oam_match(metadata, 'x') FROM memory", "OAM_MATCH"),
    ("SELECT strftime('%s') FROM memory", "STRFTIME"),
    ("SELECT GETLENGTH(blob) FROM document", "GETLENGTH"),
    ("SELECT DBMS_LOB.GETSIZE(blob) FROM document", "GETSIZE"),
    ("UPDATE memory SET contents='x' WHERE record_id = '1'", "CONTENTS"),
    ("UPDATE memory SET content='x' WHERE message.record_id = '1'", "message"),
    ("DELETE FROM memory WHERE recordid = '1'", "RECORDID"),
    ("DELETE FROM memry", "memry"),
    ("DELETE FROM memory WHERE record_id IN (SELECT sourceid FROM record_chunks)", "sourceid"),
    ("INSERT INTO memory (record_id, contents) VALUES ('1', '2')", "CONTENTS"),
    ("INSERT INTO memory (record_id) VALUES ('1') RETURNING order_seq", "RETURNING without INTO"),
    ("SELECT record_id FROM memory WHERE user_id = ?", "positional"),
    ("SELECT record_id FROM memory WHERE true", "TRUE"),
    (
        "SELECT record_id FROM memory WHERE JSON_EXISTS(meta, '$.a' ERROR ON ERROR)",
        "meta",
    ),
]


@pytest.mark.parametrize(("sql", "binds"), RIGHT)
def test_a_right_statement_passes(checker: SqlChecker, sql: str, binds: str) -> None:
    checker.check(sql, [dict.fromkeys(binds.split())])


@pytest.mark.parametrize(("sql", "named"), WRONG)
def test_a_planted_fault_is_caught_and_named(checker: SqlChecker, sql: str, named: str) -> None:
    with pytest.raises(SqlFaultError) as caught:
        checker.check(sql, [{}])
    assert named.lower() in " ".join(caught.value.faults).lower()


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([{"id": 1}], "unbound"),
        ([{"id": 1, "user": 2, "more": 3}], "more"),
        ([{"id": 1, "user": 2}, {"id": 1}], "unbound"),
        ([], "unbound"),
    ],
)
def test_every_row_binds_each_name_exactly(
    checker: SqlChecker, rows: list[dict[str, object]], named: str
) -> None:
    sql = "DELETE FROM memory WHERE record_id = :id AND user_id = :user"
    with pytest.raises(SqlFaultError, match=named):
        checker.check(sql, rows)


def test_a_bind_inside_a_string_is_no_bind() -> None:
    assert bind_names("SELECT ':a', ':b' FROM dual WHERE x = :c") == {"c"}


def test_normalising_keeps_the_names_inside_what_it_rewrites() -> None:
    neutral = normalise("SELECT JSON_EXISTS(m.a, '$.x, y' PASSING JSON(:p) AS \"v\") FROM m")
    assert "m.a" in neutral
    assert ":p" in neutral
