"""Keyword search among many users' messages, beside the same full-text query run bare."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.floors import Timing, interleaved, ratio
from benchmarks.texts import messages, questions
from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.dbsearch import SearchStrategy
from oracleagentmemory.storage.textsearch import fts_query, query_words, scope_token

#: Each user owns one percent.
USERS = 100
USER = "user-7"
K = 10
BATCH = 2_000
#: Processor time of a search against its full-text query.
KEYWORD_LIMIT = 4.0
_RAW = (
    "SELECT rowid, bm25(x_text, 0.0, 1.0) AS score FROM x_text WHERE x_text MATCH ? "
    f"ORDER BY score LIMIT {K}"
)


def run(*, rows: int = 100_000, rounds: int = 100) -> dict[str, Any]:
    """Measure questions to one user's share of `rows` messages.

    Returns:
        Medians in ms of the search and of its bare query; whether both find the same scores.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.sqlite3"
        store = SQLiteMemoryStore(file, search_strategy=SearchStrategy.KEYWORD)
        try:
            _fill(store, rows)
            with closing(sqlite3.connect(file)) as connection:
                equal = _equals_raw(store, connection)
                laps = _time(store, connection, rounds)
        finally:
            store.close()
    results: dict[str, Any] = {"rows": rows, "equal_to_raw": equal}
    for name, values in laps.items():
        results |= Timing.of(values).figures(name)
    times = ratio(laps, "keyword_search", {"raw_query": 1})
    return results | {"ratios": {"keyword_to_raw": round(times, 2)}}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    return {
        "keyword search finds what the full-text query finds": results["equal_to_raw"],
        f"keyword search takes at most {KEYWORD_LIMIT:g} times its full-text query": results[
            "ratios"
        ]["keyword_to_raw"]
        <= KEYWORD_LIMIT,
    }


def _fill(store: SQLiteMemoryStore, rows: int) -> None:
    texts = messages(rows)
    for at in range(0, rows, BATCH):
        part = texts[at : at + BATCH]
        users: list[str | None] = [f"user-{(at + n) % USERS}" for n in range(len(part))]
        store.add(list(part), "message", user_ids=users, roles="user")


def _raw(connection: sqlite3.Connection, question: str) -> list[tuple[int, float]]:
    asked = fts_query(query_words(question), scope_token(USER))
    return connection.execute(_RAW, (asked,)).fetchall()


def _time(
    store: SQLiteMemoryStore, connection: sqlite3.Connection, rounds: int
) -> dict[str, list[tuple[float, float]]]:
    texts = [question.text for question in questions()]
    searched, asked = itertools.cycle(texts), itertools.cycle(texts)
    return interleaved(
        {
            "keyword_search": lambda: store.search(
                next(searched), K, user_id=USER, exact_user_match=True
            ),
            "raw_query": lambda: _raw(connection, next(asked)),
        },
        rounds,
    )


def _equals_raw(store: SQLiteMemoryStore, connection: sqlite3.Connection) -> bool:
    for question in itertools.islice(questions(), 50):
        found = store.search(question.text, K, user_id=USER, exact_user_match=True)
        raw = [1 / (1 - score) for _, score in _raw(connection, question.text)]
        if not all(abs(a - b) < 1e-9 for (_, a), b in zip(found, raw, strict=True)):
            return False
    return True
