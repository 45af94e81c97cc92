"""What the machine gives at best, measured in the same run as the product.

Times on a shared machine move by half within a minute; ratios to these floors hold.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracleagentmemory.storage.blas import one_blas_thread

#: Tables of a store that one added record fills, in the order of their foreign keys.
FILLED_TABLES = ("message", "record_chunks", "x_chunk_token", "x_record_state", "x_change")


@dataclass(frozen=True)
class Timing:
    """Milliseconds a call took: medians of wall clock and of processor time."""

    wall_ms: float
    cpu_ms: float

    @classmethod
    def of(cls, laps: Sequence[tuple[float, float]]) -> Timing:
        """Return the medians of (wall, processor) seconds."""
        wall, cpu = zip(*laps, strict=True)
        return cls(statistics.median(wall) * 1000, statistics.median(cpu) * 1000)

    def figures(self, name: str) -> dict[str, float]:
        """Return both figures under the names `<name>_ms` and `<name>_cpu_ms`."""
        return {f"{name}_ms": round(self.wall_ms, 4), f"{name}_cpu_ms": round(self.cpu_ms, 4)}


def lap(call: Callable[[], object]) -> tuple[float, float]:
    """Return the wall-clock and processor seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def timed(call: Callable[[], object], *, calls: int = 30) -> Timing:
    """Time calls after two to warm up."""
    call()
    call()
    return Timing.of([lap(call) for _ in range(calls)])


def matvec(matrix: NDArray[np.float32], query: NDArray[np.float32]) -> Timing:
    """Time the one product that an exact search cannot do without."""
    with one_blas_thread():
        return timed(lambda: matrix @ query, calls=100)


def primary_key_read(file: Path, table: str, key: str, ids: Sequence[str]) -> Timing:
    """Time reading one whole row by its primary key with the bare driver."""
    with closing(sqlite3.connect(file)) as connection:
        statement = f"SELECT * FROM {table} WHERE {key} = ?"
        remaining = iter(ids)
        return timed(
            lambda: connection.execute(statement, (next(remaining),)).fetchall(),
            calls=min(100, len(ids) - 2),
        )


def raw_insert(filled: Path, empty: Path, *, rows: int, batch: int = 256) -> float:
    """Insert the rows of a filled store into an empty one with the bare driver.

    Returns:
        Records a second, each with its chunk, tokens, state, change and keyword row.
    """
    batches = _copied_rows(filled, rows, batch)
    with closing(sqlite3.connect(empty, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = NORMAL")
        started = time.perf_counter()
        for tables in batches:
            connection.execute("BEGIN IMMEDIATE")
            for statement, values in tables:
                connection.executemany(statement, values)
            connection.execute("COMMIT")
        return rows / (time.perf_counter() - started)


def _copied_rows(filled: Path, rows: int, batch: int) -> list[list[tuple[str, list[Any]]]]:
    """Return, by batch, each table's INSERT and its rows; row n of each table is record n's."""
    tables = []
    with closing(sqlite3.connect(filled)) as connection:
        for table in FILLED_TABLES:
            kind = " WHERE record_kind = 'message'" if table.startswith("x_record") else ""
            cursor = connection.execute(f"SELECT * FROM {table}{kind} LIMIT {rows}")
            marks = ", ".join("?" * len(cursor.description))
            tables.append((f"INSERT INTO {table} VALUES ({marks})", cursor.fetchall()))
        cursor = connection.execute(f"SELECT rowid, scope, body FROM x_text LIMIT {rows}")
        tables.append(("INSERT INTO x_text(rowid, scope, body) VALUES (?, ?, ?)", list(cursor)))
    return [
        [(statement, values[at : at + batch]) for statement, values in tables]
        for at in range(0, rows, batch)
    ]
