"""Search in the scope of a user with many messages: warm, after a write, and cold."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.floors import Timing, interleaved, lap, matvec, primary_key_read, ratio
from benchmarks.texts import messages, questions
from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.embedders import LocalEmbedder
from oracleagentmemory.storage.retrieval import SearchRequest, VectorSearch
from oracleagentmemory.storage.vector_reads import VectorReads

USER = "user-0"
#: What a search may take: products of the user's matrix and reads of a row by primary key.
WARM_FLOOR = {"matvec": 1.5, "primary_key_read": 8}
#: The least share of the product in a scan: version, mask, product and the nearest records.
LEAST_SCAN = 0.6
#: A search right after a write may take this many times a warm one.
AFTER_WRITE_LIMIT = 2.0
BATCH = 512

Laps = dict[str, list[tuple[float, float]]]


def run(*, rows: int = 10_000, rounds: int = 100) -> dict[str, Any]:
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
            laps = _time_warm(store, file, ids, rounds)
            laps |= _time_after_writes(store, ids, rounds)
            equal = _equals_numpy(store, file)
        finally:
            store.close()
    results: dict[str, Any] = {"rows": rows, "equal_to_numpy": equal}
    for name, values in laps.items():
        results |= Timing.of(values).figures(name)
    return results | {"ratios": _ratios(laps)}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    ratios = results["ratios"]
    return {
        "search finds what numpy finds": results["equal_to_numpy"],
        "a warm search takes at most 1.5 products and 8 reads of a row": ratios["warm_to_floor"]
        <= 1,
        f"the product is at least {LEAST_SCAN} of a scan": ratios["product_to_scan"] >= LEAST_SCAN,
        "search after an add takes at most twice a warm one": ratios["after_add_to_warm"]
        <= AFTER_WRITE_LIMIT,
        "search after an update takes at most twice a warm one": ratios["after_update_to_warm"]
        <= AFTER_WRITE_LIMIT,
    }


def _ratios(laps: Laps) -> dict[str, float]:
    beside = {"warm_beside_writes": 1}
    ratios = {
        "warm_to_floor": ratio(laps, "warm_search", WARM_FLOOR),
        "product_to_scan": ratio(laps, "matvec", {"scan": 1}),
        "after_add_to_warm": ratio(laps, "search_after_add", beside),
        "after_update_to_warm": ratio(laps, "search_after_update", beside),
        "after_delete_to_warm": ratio(laps, "search_after_delete", beside),
        "cold_to_warm": Timing.of(laps["cold_search"]).cpu_ms
        / Timing.of(laps["warm_search"]).cpu_ms,
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


def _time_warm(store: SQLiteMemoryStore, file: Path, ids: list[str], rounds: int) -> Laps:
    queries = itertools.cycle([question.text for question in questions()])
    _, stored = _stored(file)
    matrix, query = stored.copy(), stored[0].copy()
    reads = VectorReads(store.tables, store.extras, store.registry.name)
    vector_search = VectorSearch(reads, store.vector_cache)
    request = SearchRequest(k=10, user_id=USER, vector=query)
    with (
        store.engine.read() as connection,
        primary_key_read(store.engine.engine, store.tables.message, ids[::7]) as read_row,
    ):
        return interleaved(
            {
                "warm_search": lambda: store.search(
                    next(queries), 10, user_id=USER, exact_user_match=True
                ),
                "matvec": lambda: matvec(matrix, query),
                "primary_key_read": read_row,
                "scan": lambda: vector_search.hits(connection, request, dimension=query.size),
            },
            rounds,
        )


def _time_after_writes(store: SQLiteMemoryStore, ids: list[str], rounds: int) -> Laps:
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

    before = {
        "warm_beside_writes": lambda: None,
        "search_after_add": add,
        "search_after_update": update,
        "search_after_delete": delete,
    }
    laps: Laps = {name: [] for name in (*before, "cold_search")}
    search()
    for _ in range(rounds):
        for name, change in before.items():
            change()
            laps[name].append(lap(search))
    for _ in range(5):
        forget()
        laps["cold_search"].append(lap(search))
    return laps


def _stored(file: Path) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float32]]]:
    """Return the record ids and the matrix of a user's chunks, read with the bare driver."""
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute(
            "SELECT source_id, embedding FROM record_chunks WHERE user_id = ?", (USER,)
        ).fetchall()
    ids = [source_id for source_id, _ in rows]
    return ids, np.frombuffer(b"".join(vector for _, vector in rows), "<f4").reshape(len(ids), -1)


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
