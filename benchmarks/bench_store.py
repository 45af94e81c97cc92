"""List pages of a large store: the deepest page must cost what the first one costs."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oracleagentmemory.apis.memorystore import PendingRecordBatch
from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.inspection import Page, StoreInspector

USERS = 100
ROUNDS = 40
LIMIT = 50


def run(*, rows: int = 100_000) -> dict[str, object]:
    """Fill a store with ``rows`` memories of 100 users and read its pages.

    Returns: For everybody's memories and for those of ten visible users, the median times in ms
        of the first and the deepest page, ``ratio``, the second over the first (median over the
        rounds, in turns), and ``equal``: both pages hold the rows that belong there.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteMemoryStore(Path(folder) / "memory.sqlite3")
        try:
            ids = _fill(store, rows)
            inspector = StoreInspector(store)
            some = {f"user-{number}" for number in range(10)}
            theirs = [one for number, one in enumerate(ids) if number % USERS < len(some)]
            everybody = _measure(inspector, ids)
            scoped = _measure(inspector, theirs, user_ids=some)
            count_ms = [_time_ms(lambda: inspector.count("memory")) for _ in range(ROUNDS)]
        finally:
            store.close()
    return {
        "rows": rows,
        "everybody": everybody,
        "ten_users": scoped,
        "count_ms": round(statistics.median(count_ms), 3),
    }


def _fill(store: SQLiteMemoryStore, rows: int) -> list[str]:
    ids: list[str] = []
    for start in range(0, rows, 1_000):
        numbers = range(start, min(start + 1_000, rows))
        batch = PendingRecordBatch(
            contents=[f"memory number {number} of a long history" for number in numbers],
            record_type="memory",
            user_ids=[f"user-{number % USERS}" for number in numbers],
            metadata=[{"number": number} for number in numbers],
        )
        ids += store.add_batches([batch])
    return ids


def _measure(inspector: StoreInspector, ids: list[str], **scope: Any) -> dict[str, object]:
    """Time the first and the deepest page in turns; ``ids`` are their rows, oldest first."""
    above = inspector.record("memory", ids[LIMIT])
    assert above is not None

    def first() -> Page:
        return inspector.page("memory", limit=LIMIT, **scope)

    def deepest() -> Page:
        return inspector.page("memory", before=above.seq, limit=LIMIT, **scope)

    pages = ((first(), ids[-LIMIT:]), (deepest(), ids[:LIMIT]))
    first_ms, deepest_ms = [], []
    for _ in range(ROUNDS):
        first_ms.append(_time_ms(first))
        deepest_ms.append(_time_ms(deepest))
    ratios = [deep / top for top, deep in zip(first_ms, deepest_ms, strict=True)]
    return {
        "equal": all([row.id for row in page.rows] == rows[::-1] for page, rows in pages),
        "first_ms": round(statistics.median(first_ms), 3),
        "deepest_ms": round(statistics.median(deepest_ms), 3),
        "ratio": round(statistics.median(ratios), 2),
    }


def _time_ms(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000
