"""Hybrid rankings against a plain model: lending between neighbours, then reciprocal ranks."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracleagentmemory.core import SearchStrategy, SQLiteMemoryStore
from oracleagentmemory.inspection import Explanation, StoreInspector
from oracleagentmemory.storage.turns import Turns
from tests.sdk.search.stores import VOCABULARY, WordEmbedder, direction

ALL = 1_000
THREADS = 12


class TextEmbedder(WordEmbedder):
    """Every text has a direction of its own, so that no two similarities are equal."""

    def embed(self, texts: list[str], *, is_query: bool = False) -> Any:
        vectors = np.array([direction(text) for text in texts], np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def filled(folder: Path, chance: random.Random) -> tuple[SQLiteMemoryStore, dict[str, list[str]]]:
    store = SQLiteMemoryStore(
        folder / "memory.sqlite3", embedder=TextEmbedder(), search_strategy=SearchStrategy.HYBRID
    )
    store.hybrid_search = replace(store.hybrid_search, pool=ALL)
    threads: dict[str, list[str]] = {f"t{number}": [] for number in range(THREADS)}
    for thread_id in threads:
        store.write(store.prepare_create_thread(thread_id, user_id="ann", agent_id="a"))
    for number in range(200):
        record_id = f"r{number}"
        text = " ".join([*chance.choices(VOCABULARY, k=chance.randint(1, 6)), record_id])
        if chance.random() < 0.2:
            store.add([text], "memory", record_ids=record_id, user_ids="ann")
            continue
        thread_id = chance.choice(list(threads))
        user_id = "ann" if chance.random() < 0.9 else "eve"
        store.add([text], "message", record_ids=record_id, user_ids=user_id, roles="user",
                  thread_ids=thread_id)  # fmt: skip
        if user_id == "ann":
            threads[thread_id].append(record_id)
    return store, threads


def change(store: SQLiteMemoryStore, threads: dict[str, list[str]], chance: random.Random) -> None:
    """Change and delete some messages; a changed one keeps its place in its thread."""
    for thread_id in list(threads):
        for record_id in list(threads[thread_id]):
            if chance.random() < 0.1:
                store.delete("message", record_id)
                threads[thread_id].remove(record_id)
            elif chance.random() < 0.2:
                store.update("message", record_id, content=f"red sea {record_id} again")


def lent(scores: Mapping[str, float], threads: Mapping[str, list[str]], share: float,
         ) -> dict[str, float]:  # fmt: skip
    raised = dict(scores)
    for turns in threads.values():
        for place, record_id in enumerate(turns):
            for beside in (place - 1, place + 1):
                if 0 <= beside < len(turns) and scores.get(turns[beside], 0) > 0:
                    more = share * scores[turns[beside]]
                    raised[record_id] = raised.get(record_id, 0) + more
    return raised


def scores_of(explained: Explanation, stage: str) -> dict[str, float]:
    return {
        hit.record.id: hit.standings[stage].score
        for hit in explained.hits
        if stage in hit.standings
    }


@pytest.mark.parametrize("seed", range(3))
def test_hybrid_search_is_its_two_rankings_lent_and_fused(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    store, threads = filled(tmp_path, chance)
    try:
        for _ in range(3):
            check(store, threads)
            change(store, threads, chance)
        store.vector_cache.budget_bytes = 0  # streamed from here on
        check(store, threads)
    finally:
        store.close()


def check(store: SQLiteMemoryStore, threads: Mapping[str, list[str]]) -> None:
    explained = StoreInspector(store).explain("red sea", user_id="ann", max_results=ALL)
    vector = lent(scores_of(explained, "vector"), threads, 0.2)
    keyword = lent(scores_of(explained, "keyword"), threads, 0.3)
    assert scores_of(explained, "vector_neighbours") == pytest.approx(vector, abs=1e-5)
    assert scores_of(explained, "keyword_neighbours") == pytest.approx(keyword, abs=1e-9)
    fused: dict[str, float] = {}
    for stage in ("vector_neighbours", "keyword_neighbours"):
        scores = scores_of(explained, stage)
        ranks = {hit.record.id: hit.standings[stage].rank for hit in explained.hits
                 if stage in hit.standings}  # fmt: skip
        assert sorted(ranks.values()) == list(range(1, len(ranks) + 1))
        assert sorted(ranks, key=ranks.__getitem__) == sorted(
            scores, key=lambda one, of=scores, at=ranks: (-of[one], at[one])
        )
        for record_id, rank in ranks.items():
            fused[record_id] = fused.get(record_id, 0) + 1 / (5 + rank)
    expected = {one: 1 - score / (2 / 6) for one, score in fused.items()}
    found = store.search("red sea", ALL, user_id="ann", exact_user_match=True)
    assert {record.id: distance for record, distance in found} == pytest.approx(expected)
    distances = [distance for _, distance in found]
    assert distances == sorted(distances)
    few = store.search("red sea", 7, user_id="ann", exact_user_match=True)
    assert few == found[:7]


def test_turns_of_messages_with_several_chunks_in_any_row_order() -> None:
    #                  t0: 5, 9, 12   t1: 7   a memory in row 4
    orders = np.array([9, 5, 12, 9, 0, 7], np.int64)
    threads = np.array([0, 0, 0, 0, 0, 1], np.int32)
    turns = Turns.of(orders, threads, None)
    scores = np.array([0.1, 0.5, -0.3, 0.8, 0.9, 0.7], np.float32)
    raised = turns.lend(scores, 0.5)
    # The message in rows 0 and 3 scores 0.8; the negative score of row 2 lends nothing.
    assert raised.tolist() == pytest.approx([0.35, 0.9, 0.1, 1.05, 0.9, 0.7])
    assert [sorted(turns.neighbours(row)) for row in range(6)] == [[1, 2], [0], [0], [1, 2], [], []]
    masked = np.where(scores == np.float32(0.8), -np.inf, scores).astype(np.float32)
    assert turns.lend(masked, 0.5)[3] == -np.inf


def test_rows_that_are_gone_are_no_turns() -> None:
    orders, threads = np.array([1, 2, 3], np.int64), np.zeros(3, np.int32)
    turns = Turns.of(orders, threads, np.array([True, False, True]))
    assert turns.neighbours(0) == [2]
    assert turns.neighbours(1) == []
    none = Turns.of(orders[:0], threads[:0], None)
    assert none.lend(np.zeros(0, np.float32), 0.5).size == 0
