"""A context card of a user with many memories, beside a single search of the same scope."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.floors import Timing, interleaved, ratio
from benchmarks.texts import messages, questions
from oracleagentmemory.apis import ILlm, LlmResponse
from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory, SQLiteMemoryStore
from oracleagentmemory.core.embedders import LocalEmbedder
from oracleagentmemory.core.thread import OracleThread

USER, AGENT = "user-0", "agent-0"
#: A card may take this many times a single search: it reads the summary, searches memories and
#: messages, and with least numbers each type once more.
CARD_LIMIT = 15.0
MESSAGES = 50
BATCH = 512
LEAST: Any = {"memory": 1, "fact": 1, "guideline": 1, "preference": 1, "message": 1}


class QuestionLlm(ILlm):
    """Sums up by the questions of the data, so that cards look for what there is."""

    def __init__(self) -> None:
        self._summaries = itertools.cycle([question.text for question in questions()])
        self.calls = 0

    def generate(
        self, prompt: Any, *, response_json_schema: Any = None, **kwargs: Any
    ) -> LlmResponse:
        """Answer with the next question as plain text."""
        self.calls += 1
        return LlmResponse(next(self._summaries))


def run(*, rows: int = 10_000, rounds: int = 50) -> dict[str, Any]:
    """Measure cards of a thread of a user who has `rows` memories.

    Returns:
        Medians in ms; ratios of cards to one search of the user's memories; how often the model
        was asked while cards of an unchanged thread were drawn.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteMemoryStore(Path(folder) / "memory.sqlite3", embedder=LocalEmbedder())
        client = OracleAgentMemory(
            store=store, memory_extraction_config=MemoryExtractionConfig(extract_memories=False)
        )
        try:
            llm = QuestionLlm()
            thread = _fill(client, store, llm, rows)
            query = thread.get_summary().content
            asked = llm.calls
            laps = interleaved(
                {
                    "search": lambda: _search(thread, query),
                    "card": thread.get_context_card,
                    "card_recent": lambda: thread.get_context_card(max_recent_messages=10),
                    "card_by_type": lambda: thread.get_context_card(
                        min_relevant_results_by_type=LEAST, max_relevant_results=10
                    ),
                },
                rounds,
            )
            found = len(thread.get_context_card().relevant_results or ())
        finally:
            client.close()
            store.close()
    results: dict[str, Any] = {"rows": rows, "found": found, "model_calls": llm.calls - asked}
    for name, values in laps.items():
        results |= Timing.of(values).figures(name)
    names = [name for name in laps if name != "search"]
    ratios = {f"{name}_to_search": round(ratio(laps, name, {"search": 1}), 2) for name in names}
    return results | {"ratios": ratios}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    ratios = results["ratios"].values()
    return {
        "a context card takes at most 15 searches of its scope": max(ratios) <= CARD_LIMIT,
        "a card of an unchanged thread asks no model": results["model_calls"] == 0,
        "a card finds five relevant records": results["found"] == 5,
    }


def _search(thread: OracleThread, query: str) -> object:
    return thread.search(query, max_results=5, record_types=["memory"])


def _fill(
    client: OracleAgentMemory, store: SQLiteMemoryStore, llm: ILlm, rows: int
) -> OracleThread:
    thread = client.create_thread(thread_id="thread-0", user_id=USER, agent_id=AGENT, llm=llm)
    texts = messages(rows + MESSAGES)
    kinds = itertools.cycle(("memory", "fact", "guideline", "preference"))
    for at in range(0, rows, BATCH):
        part = list(texts[at : min(rows, at + BATCH)])
        store.add(part, next(kinds), user_ids=USER, agent_ids=AGENT)
    thread.add_messages([{"role": "user", "content": text} for text in texts[rows:]])
    return thread
