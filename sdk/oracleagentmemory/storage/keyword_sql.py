"""Keyword search in SQL: which records hold the words of a query, best first.

One statement for both databases: the chunks that the database's text index finds, joined to their
records for expiry and metadata, and collapsed to records. Only the inner select differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory._notset import _NotSetMarker
from oracleagentmemory.storage.constructs import text_matches, text_score
from oracleagentmemory.storage.extras import ExtraTables
from oracleagentmemory.storage.filters import Filter, metadata_matches
from oracleagentmemory.storage.kinds import IMAGE, MEMORY, MESSAGE, PROFILE, Kind
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.retrieval import SearchRequest
from oracleagentmemory.storage.statements import bind, visible
from oracleagentmemory.storage.types import LongText

__all__ = ["Match", "keyword_matches", "keyword_shape", "matches_statement"]

_KINDS = (MESSAGE, MEMORY, PROFILE, IMAGE)
_SCOPES = ("user_id", "agent_id", "thread_id")
_PROFILE_OF = {"user_id": "user_profile", "agent_id": "agent_profile"}


class Match(NamedTuple):
    """A record that holds words of the query.

    Attributes:
        score: That of its best chunk: BM25 on SQLite, SCORE (1 to 100) on Oracle.
    """

    score: float
    record_type: str
    record_id: str


def keyword_shape(request: SearchRequest) -> tuple[Any, ...]:
    """Return what a request's statement depends on, its values left out."""
    scope = tuple(
        "free" if isinstance(value, _NotSetMarker) else value is None
        for value in (getattr(request, name) for name in _SCOPES)
    )
    return ("keyword", *scope, request.record_types is None, request.include_invalid)


def matches_statement(
    tables: ManagedTables, extras: ExtraTables, request: SearchRequest, *, full_text: bool
) -> sa.Select[Any]:
    """Return the statement for requests of this one's shape; its filter is not part of it.

    Args:
        full_text: Whether to ask the full-text table (SQLite) or the text index of the chunks.
    """
    chunks = tables.record_chunks
    inner = _of_full_text(tables, extras) if full_text else _of_text_index(tables, request)
    chunk = chunks.c
    conditions = [_scope_condition(tables, name, request) for name in _SCOPES[1:]]
    if request.record_types is not None:
        types = bind("types", chunk.source_record_type, expanding=True)
        conditions.append(chunk.source_record_type.in_(types))
    if not request.include_invalid:
        conditions.append(chunk.status != "invalid")
    found = (
        inner.where(*(one for one in conditions if one is not None))
        .cte("found")
        .prefix_with("MATERIALIZED", dialect="sqlite")  # bm25() stands no flattening
    )
    return _collapsed(tables, found)


def _of_full_text(tables: ManagedTables, extras: ExtraTables) -> sa.Select[Any]:
    chunk, text = tables.record_chunks.c, extras.text
    name: ColumnElement[Any] = sa.literal_column(text.name)
    # The scope's word only selects: it weighs nothing.
    score = -sa.func.bm25(name, sa.literal_column("0.0"), sa.literal_column("1.0"), type_=sa.Float)
    wanted = name.op("MATCH")(sa.bindparam("words", type_=sa.Text()))
    return (
        sa.select(chunk.source_record_type, chunk.source_id, score.label("score"))
        .select_from(text.join(tables.record_chunks, chunk.chunk_id == text.c.rowid))
        .where(wanted)
    )


def _of_text_index(tables: ManagedTables, request: SearchRequest) -> sa.Select[Any]:
    chunk = tables.record_chunks.c
    words = sa.bindparam("words", type_=LongText())  # a long query has over 4,000 bytes
    score = text_score(chunk.chunk_text, words).label("score")
    statement = sa.select(chunk.source_record_type, chunk.source_id, score)
    user = _scope_condition(tables, "user_id", request)
    conditions = [text_matches(chunk.chunk_text, words) > sa.literal_column("0")]
    return statement.where(*conditions, *([] if user is None else [user]))


def _scope_condition(
    tables: ManagedTables, name: str, request: SearchRequest
) -> ColumnElement[bool] | None:
    """Compare one part of the scope; a profile's own dimension is its actor."""
    value = getattr(request, name)
    if isinstance(value, _NotSetMarker):
        return None
    chunk = tables.record_chunks.c
    profile_type = _PROFILE_OF.get(name)
    column = chunk[name]
    same = column.is_(None) if value is None else column == bind(name, column)
    if profile_type is None:
        return same
    is_profile = chunk.source_record_type == profile_type
    if value is None:
        return sa.and_(same, sa.not_(is_profile))
    return sa.or_(same, sa.and_(is_profile, chunk.source_id == bind(name, column)))


def _collapsed(tables: ManagedTables, found: sa.CTE) -> sa.Select[Any]:
    record_type, record_id = found.c.source_record_type, found.c.source_id
    source: Any = found
    shown = []
    for kind in _KINDS:
        table = kind.table(tables)
        of_kind = _is_kind(record_type, kind)
        source = source.outerjoin(table, sa.and_(of_kind, table.c[kind.key] == record_id))
        there = table.c[kind.key].is_not(None)
        shown.append(sa.and_(there, visible(kind, tables)) if kind.expires else there)
    best, total = sa.func.max(found.c.score), sa.func.sum(found.c.score)
    return (
        sa.select(best.label("score"), record_type, record_id)
        .select_from(source)
        .where(sa.or_(*shown))
        .group_by(record_type, record_id)
        .order_by(best.desc(), total.desc(), record_type, record_id)
        .limit(sa.bindparam("most", type_=sa.Integer()))
    )


def _is_kind(record_type: ColumnElement[Any], kind: Kind) -> ColumnElement[bool]:
    if len(kind.types) == 1:
        return record_type == kind.types[0]
    return record_type.in_(kind.types)


def _with_filter(
    statement: sa.Select[Any], tables: ManagedTables, filter_: Filter
) -> sa.Select[Any]:
    parts = []
    for kind in _KINDS:
        table = kind.table(tables)
        there = table.c[kind.key].is_not(None)
        parts.append(sa.and_(there, metadata_matches(table.c.metadata, filter_)))
    return statement.where(sa.or_(*parts))


def keyword_matches(
    connection: sa.Connection,
    tables: ManagedTables,
    statement: sa.Select[Any],
    request: SearchRequest,
    words: str,
) -> list[Match]:
    """Run a statement of `matches_statement` and return the best `request.k` records.

    Args:
        words: The query in the database's own language.
    """
    if request.filter is not None:
        statement = _with_filter(statement, tables, request.filter)
    parameters: dict[str, Any] = {"words": words, "most": request.k}
    for name in _SCOPES:
        if isinstance(value := getattr(request, name), str):
            parameters[name] = value
    if request.record_types is not None:
        parameters["types"] = sorted(request.record_types)
    rows = connection.execute(statement, parameters)
    return [Match(float(row[0]), row[1], row[2]) for row in rows]


Matcher = Callable[[sa.Connection, SearchRequest], list[Match]]
