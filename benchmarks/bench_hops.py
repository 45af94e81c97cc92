"""Following relations from a memory, over as many relations as a large store has."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.floors import Timing, interleaved, primary_key_read, ratio
from oracleagentmemory.apis import Record
from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.storage.hops import Hops
from oracleagentmemory.storage.retrieval import SearchRequest

USER = "user-0"
BATCH = 2_000
#: Two relations a memory, as link extraction makes them: four neighbours, on average.
RELATIONS_A_MEMORY = 2
MOST_LINKED = 100
HOPS = (1, 2, 3)
#: Primary-key reads that one hop may cost.
LIMIT = 20


def run(*, relations: int = 100_000, rounds: int = 200) -> dict[str, Any]:
    """Measure hops from random memories of one user among `relations` relations.

    Returns:
        Medians in ms, ratios to a primary-key read a hop, and whether the memories reached are
        those of a plain walk.
    """
    memories = relations // RELATIONS_A_MEMORY
    ids = [f"memory-{n}" for n in range(memories)]
    pairs = _pairs(ids, relations)
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteMemoryStore(Path(folder) / "memory.sqlite3")
        try:
            _fill(store, ids, pairs)
            laps, right = _measure(store, ids, pairs, rounds)
        finally:
            store.close()
    figures: dict[str, Any] = {"memories": memories, "relations": len(pairs)}
    for name, values in laps.items():
        figures |= Timing.of(values).figures(name)
    ratios = {
        f"{hops}_hops_to_reads": round(ratio(laps, f"{hops}_hops", {"primary_key_read": hops}), 2)
        for hops in HOPS
    }
    return figures | {"reached_as_walked": right, "ratios": ratios}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    held = {"hops reach what a plain walk reaches": results["reached_as_walked"]}
    for hops in HOPS:
        claim = f"{hops} hop(s) take at most {LIMIT} reads of a row by primary key a hop"
        held[claim] = results["ratios"][f"{hops}_hops_to_reads"] <= LIMIT
    return held


def _pairs(ids: Sequence[str], count: int) -> list[tuple[str, str]]:
    """Return so many different pairs, each in one direction only."""
    chosen = random.Random(7)
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    while len(pairs) < count:
        pair = (chosen.choice(ids), chosen.choice(ids))
        if pair[0] != pair[1]:
            pairs.setdefault(frozenset(pair), pair)
    return list(pairs.values())


def _fill(store: SQLiteMemoryStore, ids: list[str], pairs: list[tuple[str, str]]) -> None:
    for at in range(0, len(ids), BATCH):
        part = ids[at : at + BATCH]
        texts = [f"text of {one}" for one in part]
        # Hops do not read what is searched, so nothing is indexed.
        nothing: list[Any] = [[] for _ in part]
        store.add(texts, "memory", record_ids=list(part), user_ids=USER, index_texts=nothing)
    link = store.tables.memory_link
    common = {
        "source_memory_user_id": USER,
        "target_memory_user_id": USER,
        "relation_type": "supports",
        "opposite_relation_type": "is_supported_by",
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    rows = [
        {"relation_id": f"relation-{n}", "source_memory_id": one, "target_memory_id": two} | common
        for n, (one, two) in enumerate(pairs)
    ]
    with store.engine.write() as transaction:
        transaction.connection.execute(sa.insert(link), rows)


def _measure(
    store: SQLiteMemoryStore, ids: list[str], pairs: list[tuple[str, str]], rounds: int
) -> tuple[dict[str, list[tuple[float, float]]], bool]:
    chosen = random.Random(11).sample(ids, min(len(ids), 5 * rounds))
    request = SearchRequest(k=1, user_id=USER)
    with (
        store.engine.read() as connection,
        primary_key_read(store.engine.engine, store.tables.memory, chosen) as read_row,
    ):
        roots = itertools.cycle([_memory(store, one) for one in chosen])

        def follow(root: Record, hops: int, most: int = MOST_LINKED) -> Record:
            [found] = Hops(connection, store.tables, request, 60).follow([root], hops, most)
            return found

        calls: dict[str, Callable[[], object]] = {
            f"{hops}_hops": lambda hops=hops: follow(next(roots), hops) for hops in HOPS
        }
        laps = interleaved(calls | {"primary_key_read": read_row}, rounds)
        right = all(
            _reached(follow(root, hops, len(ids))) == _walked(pairs, root.id, hops)
            for root in itertools.islice(roots, 5)
            for hops in HOPS
        )
    return laps, right


def _memory(store: SQLiteMemoryStore, memory_id: str) -> Record:
    found = store.get_memory(memory_id)
    assert found is not None
    return found


def _reached(record: Record) -> set[str]:
    """Return the ids of all that is attached to a result."""
    below = [_reached(linked) for _, linked in record.linked_results]
    return {linked.id for _, linked in record.linked_results}.union(*below)


def _walked(pairs: list[tuple[str, str]], root: str, hops: int) -> set[str]:
    """Return the ids within so many hops, by going through all pairs once a hop."""
    seen = edge = {root}
    for _ in range(hops):
        near = {pair[1 - end] for pair in pairs for end in (0, 1) if pair[end] in edge}
        seen, edge = seen | near, near - seen
    return seen - {root}
