"""Search in the scope of a user with many messages: warm, after a write, and cold."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.floors import Timing, lap, matvec, primary_key_read
from benchmarks.texts import messages, questions
from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.embedders import LocalEmbedder

USER = "user-0"
#: A search right after a write may take this many times a warm one.
AFTER_WRITE_LIMIT = 2.0
BATCH = 512


def run(*, rows: int = 10_000, rounds: int = 60) -> dict[str, Any]:
    """Measure searches of one user's `rows` messages beside a tenth as many of another.

    Returns:
        Medians in ms of searches and floors; ratios to compare; whether answers equal numpy's.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.sqlite3"
        store = SQLiteMemoryStore(file, embedder=LocalEmbedder())
        try:
            ids = _fill(store, USER, rows)
            _fill(store, "user-1", rows // 10)
            timings = _time_searches(store, ids, rounds)
            equal = _equals_numpy(store, file)
            timings["matvec"] = _matvec(file)
        finally:
            store.close()
        timings["primary_key_read"] = primary_key_read(file, "message", "record_id", ids[-102:])
    results: dict[str, Any] = {"rows": rows, "equal_to_numpy": equal}
    for name, timing in timings.items():
        results |= timing.figures(name)
    return results | {"ratios": _ratios(timings)}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    ratios = results["ratios"]
    return {
        "search finds what numpy finds": results["equal_to_numpy"],
        "search after an add takes at most twice a warm one": ratios["after_add_to_warm"]
        <= AFTER_WRITE_LIMIT,
        "search after an update takes at most twice a warm one": ratios["after_update_to_warm"]
        <= AFTER_WRITE_LIMIT,
    }


def _ratios(timings: dict[str, Timing]) -> dict[str, float]:
    warm = timings["warm_search"].wall_ms
    floor = 1.5 * timings["matvec"].wall_ms + 8 * timings["primary_key_read"].wall_ms
    ratios = {
        "warm_to_floor": warm / floor,
        "after_add_to_warm": timings["search_after_add"].wall_ms / warm,
        "after_update_to_warm": timings["search_after_update"].wall_ms / warm,
        "after_delete_to_warm": timings["search_after_delete"].wall_ms / warm,
        "cold_to_warm": timings["cold_search"].wall_ms / warm,
    }
    return {name: round(value, 2) for name, value in ratios.items()}


def _fill(store: SQLiteMemoryStore, user_id: str, rows: int) -> list[str]:
    ids = [f"{user_id}-{n}" for n in range(rows)]
    texts = messages(rows)
    for at in range(0, rows, BATCH):
        part = slice(at, at + BATCH)
        store.add(
            list(texts[part]),
            "message",
            record_ids=list(ids[part]),
            user_ids=user_id,
            roles="user",
        )
    return ids


def _time_searches(store: SQLiteMemoryStore, ids: list[str], rounds: int) -> dict[str, Timing]:
    queries = itertools.cycle([question.text for question in questions()])
    numbers = itertools.count()

    def search() -> None:
        store.search(next(queries), 10, user_id=USER, exact_user_match=True)

    def add() -> None:
        store.add([f"A new message {next(numbers)}"], "message", user_ids=USER, roles="user")

    def update() -> None:
        store.update("message", ids[next(numbers)], content=f"Another text {next(numbers)}")

    def delete() -> None:
        store.delete("message", ids[-1 - next(numbers)])

    def forget() -> None:
        budget = store.vector_cache.budget_bytes
        store.vector_cache.budget_bytes = 0
        store.vector_cache.budget_bytes = budget

    def nothing() -> None:
        return

    before: dict[str, Callable[[], None]] = {
        "warm_search": nothing,
        "search_after_add": add,
        "search_after_update": update,
        "search_after_delete": delete,
    }
    laps: dict[str, list[tuple[float, float]]] = {name: [] for name in before}
    search()
    # In turns, so that a busy minute of the machine slows all alike.
    for _ in range(rounds):
        for name, change in before.items():
            change()
            laps[name].append(lap(search))
    laps["cold_search"] = []
    for _ in range(5):
        forget()
        laps["cold_search"].append(lap(search))
    return {name: Timing.of(values) for name, values in laps.items()}


def _stored(file: Path) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float32]]]:
    """Return the record ids and the matrix of a user's chunks, read with the bare driver."""
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute(
            "SELECT source_id, embedding FROM record_chunks WHERE user_id = ?", (USER,)
        ).fetchall()
    ids = [source_id for source_id, _ in rows]
    return ids, np.frombuffer(b"".join(vector for _, vector in rows), "<f4").reshape(len(ids), -1)


def _matvec(file: Path) -> Timing:
    _, matrix = _stored(file)
    return matvec(matrix.copy(), matrix[0].copy())


def _equals_numpy(store: SQLiteMemoryStore, file: Path) -> bool:
    """Compare answers with a plain product over all rows, distances to a hundred thousandth."""
    ids, matrix = _stored(file)
    embedder = LocalEmbedder()
    for question in itertools.islice(questions(), 50):
        query = embedder.embed([question.text], is_query=True)[0]
        distances = 1 - matrix @ query
        of_record = dict(zip(ids, distances.tolist(), strict=True))
        found = store.search(
            None, 10, query_vector=query.tolist(), user_id=USER, exact_user_match=True
        )
        got = [distance for _, distance in found]
        own = [of_record[record.id] for record, _ in found]
        best = np.sort(distances)[:10]
        if not (np.allclose(got, own, atol=1e-5) and np.allclose(got, best, atol=1e-5)):
            return False
    return True
