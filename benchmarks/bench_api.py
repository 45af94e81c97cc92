"""The API's row endpoint against the bare ping of the same server, on loopback.

Both run in turns on one granian, so that a busy machine slows both; the ratio is the result.
"""

from __future__ import annotations

import http.client
import json
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from benchmarks.server import serve

CLIENTS = 4
ROUNDS = 5


def run(*, rows: int = 1000, requests: int = 200) -> dict[str, object]:
    """Measure; ``requests`` are sent a round and endpoint by each of four clients.

    Returns: Requests a second and the median time in ms of both endpoints, and the ratio
        of the row endpoint's rate to the ping's (median over the rounds).
    """
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as server:
        port, key = server.port, server.manage("memory_key", "create", "benchmark").strip()
        row_path = _fill(port, key, rows)
        headers = {"Authorization": f"Bearer {key}"}
        pings: list[_Round] = []
        found: list[_Round] = []
        for _ in range(ROUNDS):
            pings.append(_measure(port, "/livez", {}, requests))
            found.append(_measure(port, row_path, headers, requests))
    ratios = [row.per_s / ping.per_s for row, ping in zip(found, pings, strict=True)]
    return {
        "rows": rows,
        "requests": requests * CLIENTS * ROUNDS,
        "clients": CLIENTS,
        "ping_per_s": round(statistics.median(one.per_s for one in pings)),
        "ping_p50_ms": round(statistics.median(one.p50_ms for one in pings), 2),
        "row_per_s": round(statistics.median(one.per_s for one in found)),
        "row_p50_ms": round(statistics.median(one.p50_ms for one in found), 2),
        "ratios": {"row_per_ping": round(statistics.median(ratios), 3)},
    }


class _Round:
    """What one round of requests took."""

    def __init__(self, times_s: list[float], elapsed_s: float) -> None:
        self.per_s = len(times_s) / elapsed_s
        self.p50_ms = statistics.median(times_s) * 1000


def _measure(port: int, path: str, headers: dict[str, str], requests: int) -> _Round:
    def client(_: int) -> list[float]:
        times = []
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            for _ in range(requests):
                started = time.perf_counter()
                connection.request("GET", path, headers=headers)
                response = connection.getresponse()
                response.read()
                times.append(time.perf_counter() - started)
                if response.status != 200:
                    raise RuntimeError(f"{path} answered {response.status}")
        return times

    started = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        times = [value for part in pool.map(client, range(CLIENTS)) for value in part]
    return _Round(times, time.perf_counter() - started)


def _fill(port: int, key: str, rows: int) -> str:
    """Store the rows of one user; return the path of one in the middle."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        for number in range(rows):
            body = {"id": f"mem-{number}", "user_id": "ada", "content": f"fact number {number}"}
            connection.request("POST", "/api/v1/memories", json.dumps(body), headers)
            response = connection.getresponse()
            response.read()
            if response.status != 201:
                raise RuntimeError(f"adding a memory answered {response.status}")
    return f"/api/v1/memories/mem-{rows // 2}"
