"""How well searches answer labelled questions, by each strategy: `make bench-quality`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.texts import Question, dialogues, questions
from oracleagentmemory.apis.embedders import IEmbedder
from oracleagentmemory.core import SQLiteMemoryStore
from oracleagentmemory.core.dbsearch import SearchStrategy
from oracleagentmemory.core.embedders import LocalEmbedder

USERS = 12
K = 10
#: The least that a release may reach, by way of searching: recall and thread hits in the first ten.
LEAST = {
    "keyword": (0.177, 0.925),
    "vector": (0.146, 0.805),
    "hybrid": (0.225, 0.88),
    "hybrid_without_neighbours": (0.173, None),
}

Scores = dict[str, float]


class UnweightedEmbedder(IEmbedder):
    """The default embedder without its weighting of queries by the searched scope."""

    embedder_id = LocalEmbedder.embedder_id
    embedding_dimension = 256

    def __init__(self) -> None:
        self._embedder = LocalEmbedder()

    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
        return self._embedder.embed(texts, is_query=is_query)


def run() -> dict[str, object]:
    """Store all dialogues and ask all questions, each in its user's scope, in every way.

    Returns:
        By way of searching: `recall_at_5` and `recall_at_10`, the shares of a question's evidence
        turns among the first hits; `mrr`, the mean reciprocal rank of the first evidence turn
        among ten; `thread_hit_at_10`, the share of questions with a turn of a right dialogue in
        the first ten.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.sqlite3"
        store = SQLiteMemoryStore(file, embedder=LocalEmbedder())
        message_count = fill(store)
        store.close()
        asked = list(questions())
        scores = {name: score(one, asked) for name, one in ways(file)}
    return {"messages": message_count, "questions": len(asked), **scores}


def ways(file: Path) -> Iterator[tuple[str, SQLiteMemoryStore]]:
    """Open the store for every way of searching, one after another."""
    embedders = {"": LocalEmbedder(), "_unweighted": UnweightedEmbedder()}
    for strategy in SearchStrategy:
        for suffix, embedder in embedders.items():
            if strategy is SearchStrategy.KEYWORD and suffix:
                continue
            store = SQLiteMemoryStore(file, embedder=embedder, search_strategy=strategy)
            try:
                yield strategy.value + suffix, store
                if strategy is SearchStrategy.HYBRID:
                    store.hybrid_search = replace(store.hybrid_search, neighbours=False)
                    yield f"hybrid{suffix}_without_neighbours", store
            finally:
                store.close()


def fill(store: SQLiteMemoryStore) -> int:
    """Store every dialogue as a thread: line n belongs to `user-<n mod 12>`."""
    message_count = 0
    for number, dialogue in enumerate(dialogues()):
        user_id, thread_id = f"user-{number % USERS}", dialogue.dialogue_id
        agent_id = f"agent-{number % 3}"
        roles, texts = zip(*dialogue.messages, strict=True)
        thread = store.prepare_create_thread(thread_id, user_id=user_id, agent_id=agent_id)
        added = store.prepare_add(
            list(texts),
            "message",
            record_ids=[f"{thread_id}/{turn}" for turn in range(len(texts))],
            roles=list(roles),
            thread_ids=thread_id,
            user_ids=user_id,
            agent_ids=agent_id,
        )
        store.write_all([thread, added])
        message_count += len(texts)
    return message_count


def score(store: SQLiteMemoryStore, asked: list[Question]) -> Scores:
    """Ask all questions and return the means of the four figures."""
    totals = np.zeros(4)
    for question in asked:
        found = store.search(
            question.text,
            K,
            user_id=question.user_id,
            exact_user_match=True,
            record_types={"message"},
        )
        totals += _figures(question, [record.id for record, _ in found])
    names = ("recall_at_5", "recall_at_10", "mrr", "thread_hit_at_10")
    return dict(zip(names, (totals / len(asked)).round(4).tolist(), strict=True))


def _figures(question: Question, found: list[str]) -> tuple[float, ...]:
    right = [rank for rank, record_id in enumerate(found, start=1) if record_id in question.turns]
    evidence = len(question.turns)
    dialogue_found = any(one.rpartition("/")[0] in question.dialogue_ids for one in found)
    return (
        sum(rank <= 5 for rank in right) / evidence,
        len(right) / evidence,
        1 / right[0] if right else 0.0,
        float(dialogue_found),
    )


def checks(results: dict[str, object]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    held: dict[str, bool] = {}
    for way, (recall, thread_hit) in LEAST.items():
        reached = results[way]
        assert isinstance(reached, dict)
        held[f"{way}: recall@10 >= {recall}"] = reached["recall_at_10"] >= recall
        if thread_hit is not None:
            held[f"{way}: thread hit@10 >= {thread_hit}"] = (
                reached["thread_hit_at_10"] >= thread_hit
            )
    return held
