"""An end to waiting: Oracle lets a statement wait for another session's row for ever."""

from __future__ import annotations

import contextlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

#: Longest time of one call in a write transaction, in milliseconds.
CALL_TIMEOUT_MS = 120_000
#: What the driver raises when a call took longer.
TIMED_OUT = "DPY-4024"

_before: dict[sa.Connection, tuple[Any, int]] = {}


def bound_waits(engine: sa.Engine) -> None:
    """Bound the calls of the engine's write transactions; the caller's own bound comes back."""
    if not event.contains(engine, "begin", _begin):
        event.listen(engine, "begin", _begin)
        event.listen(engine, "commit", _end)
        event.listen(engine, "rollback", _end)


def _begin(connection: sa.Connection) -> None:
    if connection.get_execution_options().get("write"):
        raw: Any = connection.connection.dbapi_connection
        _before[connection] = (raw, raw.call_timeout)
        raw.call_timeout = CALL_TIMEOUT_MS


def _end(connection: sa.Connection) -> None:
    raw, call_timeout = _before.pop(connection, (None, 0))
    # A connection that was lost has no timeout to give back.
    with contextlib.suppress(connection.dialect.dbapi.Error):  # type: ignore[union-attr]
        if raw is not None:
            raw.call_timeout = call_timeout
