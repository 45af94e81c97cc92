"""What the machine gives at best, measured in the same run as the product.

Times on a shared machine move by half within a minute; ratios to these floors hold.
"""

from __future__ import annotations

import itertools
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

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


def interleaved(
    calls: Mapping[str, Callable[[], object]], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Time calls in turns, so that a busy minute of the machine slows all alike."""
    for call in calls.values():
        call()
    laps: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            laps[name].append(lap(call))
    return laps


def ratio(
    laps: Mapping[str, Sequence[tuple[float, float]]], name: str, floor: Mapping[str, float]
) -> float:
    """Return how many times its floor a call took, by processor time: the rounds' median.

    Args:
        laps: Of `interleaved`.
        floor: By name of the calls that make it up, how many of each.
    """
    rounds = range(len(laps[name]))
    floors = [sum(count * laps[one][n][1] for one, count in floor.items()) for n in rounds]
    return statistics.median(laps[name][n][1] / floors[n] for n in rounds)


def matvec(matrix: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Do the one product that an exact search cannot do without, on one thread."""
    product: NDArray[np.float32] = np.vecdot(matrix, query)
    return product


@contextmanager
def primary_key_read(
    engine: sa.Engine, table: sa.Table, ids: Sequence[str]
) -> Iterator[Callable[[], object]]:
    """Lend the read of one whole row by its primary key.

    Through SQLAlchemy Core, with a statement built once and on an open connection: the least
    that a store pays that runs on more than one database.
    """
    (key,) = table.primary_key.columns
    statement = sa.select(table).where(key == sa.bindparam("id", type_=key.type))
    wanted = itertools.cycle(ids)
    with engine.connect() as connection:
        yield lambda: connection.execute(statement, {"id": next(wanted)}).all()


def raw_insert(filled: Path, empty: Path, *, rows: int, batch: int = 256) -> float:
    """Insert the rows of a filled store into an empty one with the bare driver.

    Returns:
        Processor seconds for the records, each with its chunk, tokens, state, change and keyword
        row.
    """
    batches = _copied_rows(filled, rows, batch)
    with closing(sqlite3.connect(empty, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = NORMAL")
        started = time.process_time()
        for tables in batches:
            connection.execute("BEGIN IMMEDIATE")
            for statement, values in tables:
                connection.executemany(statement, values)
            connection.execute("COMMIT")
        return time.process_time() - started


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
