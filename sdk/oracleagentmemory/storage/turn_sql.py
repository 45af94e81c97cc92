"""The messages beside a message in its thread, by SQL: what no cached scope can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from oracleagentmemory._notset import _NotSetMarker
from oracleagentmemory.storage.filters import metadata_matches
from oracleagentmemory.storage.layout import ManagedTables
from oracleagentmemory.storage.retrieval import SearchRequest
from oracleagentmemory.storage.statements import bind, in_lists, not_expired

__all__ = ["messages_beside"]


def messages_beside(
    connection: sa.Connection,
    tables: ManagedTables,
    request: SearchRequest,
    record_ids: Sequence[str],
) -> dict[str, list[str]]:
    """Return, by message, those right before and after it that the request may find."""
    pairs: list[tuple[str, int]] = []
    orders_of, of_user = _orders(tables, request)
    for ids in in_lists(record_ids):
        for record_id, before, after in connection.execute(orders_of, {**of_user, "ids": ids}):
            pairs += [(record_id, int(order)) for order in (before, after) if order is not None]
    found: dict[int, str] = {}
    statement, parameters = _findable(tables, request)
    for orders in in_lists(sorted({order for _, order in pairs})):
        rows = connection.execute(statement, {**parameters, "orders": orders})
        found |= {int(order): record_id for record_id, order in rows}
    beside: dict[str, list[str]] = {}
    for record_id, order in pairs:
        if order in found:
            beside.setdefault(record_id, []).append(found[order])
    return beside


def _orders(tables: ManagedTables, request: SearchRequest) -> tuple[sa.Select[Any], dict[str, Any]]:
    """Select the order numbers beside those of `:ids`; a thread may be of several users."""
    message, other = tables.message, tables.message.alias("other")
    beside, parameters = [other.c.thread_id == message.c.thread_id], {}
    if request.user_id is None:
        beside.append(other.c.user_id.is_(None))
    elif not isinstance(request.user_id, _NotSetMarker):
        beside.append(other.c.user_id == bind("user_id", other.c.user_id))
        parameters = {"user_id": request.user_id}
    before = sa.select(sa.func.max(other.c.order_seq)).where(
        *beside, other.c.order_seq < message.c.order_seq
    )
    after = sa.select(sa.func.min(other.c.order_seq)).where(
        *beside, other.c.order_seq > message.c.order_seq
    )
    among = message.c.record_id.in_(bind("ids", message.c.record_id, expanding=True))
    statement = sa.select(
        message.c.record_id,
        before.correlate(message).scalar_subquery().label("before_seq"),
        after.correlate(message).scalar_subquery().label("after_seq"),
    )
    return statement.where(among), parameters


def _findable(
    tables: ManagedTables, request: SearchRequest
) -> tuple[sa.Select[Any], dict[str, Any]]:
    message = tables.message
    orders = message.c.order_seq.in_(bind("orders", message.c.order_seq, expanding=True))
    conditions = [orders, not_expired(message)]
    parameters: dict[str, Any] = {}
    for name in ("user_id", "agent_id", "thread_id"):
        value, column = getattr(request, name), message.c[name]
        if isinstance(value, _NotSetMarker):
            continue
        conditions.append(column.is_(None) if value is None else column == bind(name, column))
        parameters |= {} if value is None else {name: value}
    if not request.include_invalid:
        conditions.append(message.c.status != "invalid")
    if request.filter is not None:
        conditions.append(metadata_matches(message.c.metadata, request.filter))
    return sa.select(message.c.record_id, message.c.order_seq).where(*conditions), parameters
