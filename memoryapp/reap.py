"""Close database connections whose thread has ended.

granian retires idle threads; Django keeps a connection a thread and never learns that the thread is
gone, so each retired thread would leak an open SQLite connection. Linux only: it asks ``/proc``.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

_THREADS = Path("/proc/self/task")
_live: dict[int, tuple[int, BaseDatabaseWrapper]] = {}
_lock = threading.Lock()


def _remember(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Note the owner of a new connection, and close those whose owner is gone."""
    with _lock:
        for key, (thread_id, other) in list(_live.items()):
            # After a fork the same wrapper comes again: closing it here would break the child.
            if other is connection:
                continue
            if other.connection is None or not (_THREADS / str(thread_id)).exists():
                del _live[key]
                if other.connection is not None:
                    other.inc_thread_sharing()
                    other.close()
        _live[id(connection)] = (threading.get_native_id(), connection)


def start() -> None:
    """Watch every connection that this process opens from now on."""
    if _THREADS.is_dir():
        connection_created.connect(_remember, dispatch_uid="memoryapp.reap")
