"""Vector search in SQL: the statement that Oracle answers by itself.

Exact, as the reference's: the nearest chunk of each record, records joined for scope, expiry and
metadata. Only leaf constructs differ by database.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory._notset import _NotSetMarker
from oracleagentmemory.storage.constructs import vector_distance
from oracleagentmemory.storage.filters import metadata_matches
from oracleagentmemory.storage.kinds import IMAGE
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.retrieval import Hit, SearchRequest
from oracleagentmemory.storage.statements import bind, not_expired, visible

_SCOPES = ("user_id", "agent_id", "thread_id")


def sources(tables: ManagedTables) -> sa.Subquery:
    """Return every searched, unexpired record with its type, scope and metadata."""
    message, memory, profile = tables.message, tables.memory, tables.actor_profile
    image = tables.document
    is_user = profile.c.actor_type == "user"
    null = sa.cast(sa.null(), message.c.user_id.type)
    parts = [
        sa.select(
            sa.literal("message", sa.String()).label("record_type"),
            message.c.record_id,
            *(message.c[name] for name in _SCOPES),
            message.c.metadata,
        ).where(not_expired(message)),
        sa.select(
            memory.c.memory_type.label("record_type"),
            memory.c.record_id,
            *(memory.c[name] for name in _SCOPES),
            memory.c.metadata,
        ).where(not_expired(memory)),
        sa.select(
            sa.literal("image", sa.String()).label("record_type"),
            image.c.record_id,
            *(image.c[name] for name in _SCOPES),
            image.c.metadata,
        ).where(visible(IMAGE, tables)),
        sa.select(
            sa.case((is_user, "user_profile"), else_="agent_profile").label("record_type"),
            profile.c.actor_id.label("record_id"),
            sa.case((is_user, profile.c.actor_id), else_=None).label("user_id"),
            sa.case((is_user, None), else_=profile.c.actor_id).label("agent_id"),
            null.label("thread_id"),
            profile.c.metadata,
        ),
    ]
    return sa.union_all(*parts).subquery("src")


def nearest(tables: ManagedTables, request: SearchRequest) -> tuple[sa.Select[Any], dict[str, Any]]:
    """Return the statement of a search with its parameters."""
    chunks, src = tables.record_chunks.c, sources(tables)
    distance = vector_distance(chunks.embedding, bind("query_vector", chunks.embedding))
    conditions: list[ColumnElement[bool]] = [chunks.embedding.is_not(None)]
    parameters: dict[str, Any] = {"query_vector": request.vector, "most": request.k}
    for name in _SCOPES:
        value = getattr(request, name)
        if isinstance(value, _NotSetMarker):
            continue
        column = src.c[name]
        conditions.append(column.is_(None) if value is None else column == bind(name, column))
        parameters |= {} if value is None else {name: value}
    if request.record_types is not None:
        types = bind("types", chunks.source_record_type, expanding=True)
        conditions.append(chunks.source_record_type.in_(types))
        parameters["types"] = sorted(request.record_types)
    if request.filter is not None:
        conditions.append(metadata_matches(src.c.metadata, request.filter))
    if not request.include_invalid:
        conditions.append(chunks.status != "invalid")
    same = sa.and_(
        src.c.record_type == chunks.source_record_type, src.c.record_id == chunks.source_id
    )
    best = sa.func.min(distance, type_=sa.Float()).label("distance")
    statement = (
        sa.select(best, chunks.source_record_type, chunks.source_id)
        .select_from(tables.record_chunks.join(src, same))
        .where(*conditions)
        .group_by(chunks.source_record_type, chunks.source_id)
        .order_by(best, chunks.source_record_type, chunks.source_id)
        .limit(sa.bindparam("most", type_=sa.Integer()))
    )
    return statement, parameters


def vector_hits(
    connection: sa.Connection, tables: ManagedTables, request: SearchRequest
) -> list[Hit]:
    """Return the nearest records of a search with a vector, nearest first."""
    statement, parameters = nearest(tables, request)
    rows = connection.execute(statement, parameters)
    return [Hit(float(row[0]), row[1], row[2]) for row in rows]
