"""What extraction costs beside the model: messages that teach, beside the same batch only added."""

from __future__ import annotations

import itertools
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.floors import Timing, interleaved, ratio
from benchmarks.texts import messages
from oracleagentmemory.apis import ILlm, LlmResponse
from oracleagentmemory.core import (
    MemoryExtractionConfig,
    MemoryExtractionMode,
    MemoryLinkExtractionMode,
    OracleAgentMemory,
    SQLiteMemoryStore,
)
from oracleagentmemory.core.embedders import LocalEmbedder
from oracleagentmemory.core.thread import OracleThread

USER, AGENT = "user-0", "agent-0"
#: Messages of one call; by default one extraction sees them all.
BATCH = 10
#: Memories that an extraction finds in them, and memories that it links.
FOUND, LINKED = 4, 2
#: All that extraction does with a message, the model's time excluded, against adding it in a batch.
LIMIT = 10.0
_CONTENT = re.compile(r"<content>(.*)</content>")
_ID = re.compile(r"<id>(.*)</id>")


class ReadingLlm(ILlm):
    """Finds memories in what it is told and links them, and counts its own time.

    Attributes:
        spent: Wall-clock and processor seconds.
    """

    def __init__(self) -> None:
        self.spent = (0.0, 0.0)

    def generate(
        self, prompt: Any, *, response_json_schema: Any = None, **kwargs: Any
    ) -> LlmResponse:
        """Answer with what the prompt names."""
        wall, cpu = time.perf_counter(), time.process_time()
        answer = LlmResponse(json.dumps(self._answer(prompt[-1]["content"])))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.spent = (self.spent[0] + wall, self.spent[1] + cpu)
        return answer

    def _answer(self, told: str) -> Any:
        new, separator, existing = told.partition("<existing_memories>")
        if separator:
            links = [{"target_memory_id": _ID.findall(existing)[0], "link_type": "supports"}]
            sources = _ID.findall(new)[:LINKED]
            return {"source_resolutions": {one: {"links": links} for one in sources}}
        contents = _CONTENT.findall(told.partition("<new_messages>")[2] or told)
        if "as JSON" in told and "<new_messages>" in told:
            # Only a prompt that numbers its past memories gets these links read.
            link = [{"target_candidate_index": 1, "link_type": "supports"}]
            found = [
                {"text": one, "record_type": "fact", "links": link if place < LINKED else []}
                for place, one in enumerate(contents[:FOUND])
            ]
            return {"thoughts": None, "memories": found}
        return {"summary": " ".join(contents)[:1_000], "topics": ["a dialogue"]}


def run(*, memories: int = 2_000, rounds: int = 30) -> dict[str, Any]:
    """Measure calls of ten messages in the scope of a user who has memories.

    Returns:
        Medians in ms a message, without the model's time; ratios to the batch add; what came of
        the extractions.
    """
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteMemoryStore(Path(folder) / "memory.sqlite3", embedder=LocalEmbedder())
        model = ReadingLlm()
        client = OracleAgentMemory(store=store, llm=model)
        try:
            texts = messages(memories + 4 * BATCH * (rounds + 1))
            store.add(texts[:memories], "fact", user_ids=USER, agent_ids=AGENT)
            calls = _calls(client, store, iter(texts[memories:]))
            ours = _without_model(calls, model, rounds)
            results = client.extraction_results()
        finally:
            client.close()
            store.close()
    figures: dict[str, Any] = {
        "memories": memories,
        "extractions": len(results),
        "learnt": sum(len(one.memory_ids) for one in results),
        "linked": sum(len(one.relation_ids) for one in results),
        "states": sorted({one.state for one in results}),
    }
    for name, laps in ours.items():
        figures |= Timing.of([(w / BATCH, c / BATCH) for w, c in laps]).figures(name)
    ways = [name for name in ours if name != "batch_add"]
    ratios = {f"{one}_to_batch_add": round(ratio(ours, one, {"batch_add": 1}), 2) for one in ways}
    return figures | {"ratios": ratios}


def checks(results: dict[str, Any]) -> dict[str, bool]:
    """Return what must hold of the figures."""
    extractions = results["extractions"]
    return {
        f"extraction takes at most {LIMIT:g} batch adds a message": max(results["ratios"].values())
        <= LIMIT,
        "extractions find and link what the model names": results["states"] == ["succeeded"]
        and results["learnt"] == FOUND * extractions
        and results["linked"] > extractions,
    }


def _calls(
    client: OracleAgentMemory, store: SQLiteMemoryStore, texts: Iterator[str]
) -> dict[str, Callable[[], object]]:
    """Return the ways to add the next ten texts."""

    def taught(**fields: Any) -> Callable[[], object]:
        config = MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.INLINE, **fields)
        thread: OracleThread = client.create_thread(
            user_id=USER, agent_id=AGENT, memory_extraction_config=config
        )
        return lambda: thread.add_messages(
            [{"role": "user", "content": text} for text in itertools.islice(texts, BATCH)]
        )

    plain = client.create_thread(user_id=USER, agent_id=AGENT)
    return {
        "batch_add": lambda: store.add(
            list(itertools.islice(texts, BATCH)),
            "message",
            roles="user",
            thread_ids=plain.thread_id,
            user_ids=USER,
            agent_ids=AGENT,
        ),
        "extraction": taught(),
        "extraction_with_links": taught(
            memory_link_extraction_mode=MemoryLinkExtractionMode.DURING_EXTRACTION
        ),
        "extraction_alone": taught(
            memory_link_extraction_mode=MemoryLinkExtractionMode.DISABLED,
            enable_context_summary=False,
        ),
    }


def _without_model(
    calls: Mapping[str, Callable[[], object]], model: ReadingLlm, rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Time calls in turns; give the wall-clock and processor seconds that are not the model's."""
    of_model: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}

    def watched(name: str) -> Callable[[], object]:
        def call() -> None:
            model.spent = (0.0, 0.0)
            calls[name]()
            of_model[name].append(model.spent)

        return call

    laps = interleaved({name: watched(name) for name in calls}, rounds)
    return {
        # The first call of each only warms up.
        name: [
            (w - a, c - b) for (w, c), (a, b) in zip(laps[name], of_model[name][1:], strict=True)
        ]
        for name in calls
    }
