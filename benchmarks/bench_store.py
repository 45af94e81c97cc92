"""Writing with embedding, and pages of a long list: first and deepest."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.floors import primary_key_read, raw_insert, timed
from benchmarks.texts import messages
from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.embedders import LocalEmbedder
from oracleagentmemory.inspection import StoreInspector

USERS = 100
BATCH = 256
PAGE = 50


def run(*, added: int = 5_120, listed: int = 100_000) -> dict[str, Any]:
    """Measure adding `added` messages and paging through `listed`.

    Returns:
        Rates and medians, floors of the same run, and ratios.
    """
    with tempfile.TemporaryDirectory() as folder:
        adding = _adding(Path(folder), added)
        listing = _listing(Path(folder), listed)
    ratios = adding.pop("ratios") | listing.pop("ratios")
    return adding | listing | {"ratios": ratios}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    return {"the deepest page holds the oldest rows": results["deepest_page_is_right"]}


def _adding(folder: Path, rows: int) -> dict[str, Any]:
    store = SQLiteMemoryStore(folder / "added.sqlite3", embedder=LocalEmbedder())
    texts = messages(rows)
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        for at in range(0, rows, BATCH):
            part = texts[at : at + BATCH]
            users = [f"user-{(at + n) % USERS}" for n in range(len(part))]
            store.add(list(part), "message", user_ids=list(users), roles="user")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        text = itertools.cycle(texts)
        single = timed(
            lambda: store.add([next(text)], "message", user_ids="user-0", roles="user"), calls=100
        )
    finally:
        store.close()
    SQLiteMemoryStore(folder / "raw.sqlite3", embedder=LocalEmbedder()).close()
    floor = raw_insert(folder / "added.sqlite3", folder / "raw.sqlite3", rows=rows, batch=BATCH)
    return {
        "added": rows,
        "batch_add_per_s": round(rows / wall),
        "batch_add_per_cpu_s": round(rows / cpu),
        "raw_insert_per_s": round(floor),
        **single.figures("single_add"),
        "ratios": {"batch_add_to_raw_insert": round(rows / wall / floor, 3)},
    }


def _listing(folder: Path, rows: int) -> dict[str, Any]:
    file = folder / "listed.sqlite3"
    store = SQLiteMemoryStore(file)
    try:
        ids = [f"message-{n}" for n in range(rows)]
        for at in range(0, rows, BATCH):
            part = ids[at : at + BATCH]
            # Lists do not read what is searched, so nothing is indexed.
            store.add(
                [f"text of {one}" for one in part],
                "message",
                index_texts=[[] for _ in part],
                record_ids=list(part),
                user_ids=[f"user-{(at + n) % USERS}" for n in range(len(part))],
                roles="user",
            )
        inspector = StoreInspector(store)
        last = inspector.record("message", ids[PAGE])
        before = None if last is None else last.seq

        def deepest() -> Any:
            return inspector.page("message", before=before, limit=PAGE)

        pages: dict[str, Callable[[], Any]] = {
            "first_page": lambda: inspector.page("message", limit=PAGE),
            "deepest_page": deepest,
            "user_page": lambda: inspector.page("message", user_id="user-7", limit=PAGE),
        }
        timings = {name: timed(call, calls=50) for name, call in pages.items()}
        right = [row.record.id for row in deepest().rows] == ids[PAGE - 1 :: -1]
    finally:
        store.close()
    timings["list_primary_key_read"] = primary_key_read(file, "message", "record_id", ids[-102:])
    figures: dict[str, Any] = {"listed": rows, "deepest_page_is_right": right}
    for name, timing in timings.items():
        figures |= timing.figures(name)
    depth = timings["deepest_page"].wall_ms / timings["first_page"].wall_ms
    return figures | {"ratios": {"deepest_to_first_page": round(depth, 2)}}
