"""What jobs cost beside the messages and the model, in one process of the app.

`python -m benchmarks.learning JOBS` prints the figures; `bench_jobs` starts it with the product's
settings on an empty folder.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import django

from benchmarks.bench_extraction import ReadingLlm
from benchmarks.floors import Timing, interleaved, lap, ratio
from benchmarks.texts import messages

BATCH = 10
THREADS = 50
ROUNDS = 200


def main(count: int) -> dict[str, Any]:
    """Measure the acceptance of jobs and their run."""
    from django.core.management import call_command

    from memoryapp import memory

    call_command("migrate", verbosity=0)
    memory.open_store()
    texts = iter(messages(4 * ROUNDS + 3 * BATCH * (count + THREADS)))
    return _accepting(texts) | _running(texts, count)


def _accepting(texts: Iterator[str]) -> dict[str, Any]:
    """Add single messages to a thread that learns and to one that does not."""
    from memoryapp import memory
    from oracleagentmemory.core.extractors import MemoryExtractionConfig

    client = memory.client()
    off = MemoryExtractionConfig(extract_memories=False, enable_context_summary=False)
    learns = client.create_thread(thread_id="learns", user_id="u", agent_id="a")
    keeps = client.create_thread(
        thread_id="keeps", user_id="u", agent_id="a", memory_extraction_config=off
    )

    def add(thread: Any) -> Callable[[], object]:
        return lambda: thread.add_messages([{"role": "user", "content": next(texts)}])

    laps = interleaved({"learns": add(learns), "keeps": add(keeps)}, ROUNDS)
    client.delete_thread("keeps")
    from memoryapp.services import job_stops

    job_stops.stop_of_thread("learns")
    return {
        **Timing.of(laps["learns"]).figures("add_with_job"),
        **Timing.of(laps["keeps"]).figures("add_without_job"),
        "enqueue_to_raw_write": ratio(laps, "learns", {"keeps": 1}),
    }


def _running(texts: Iterator[str], count: int) -> dict[str, Any]:
    """Drain a queue of jobs of ten messages each; the model's time is left out."""
    from memoryapp import memory
    from memoryapp.models import Job, JobState
    from memoryapp.services import workers

    threads = [
        memory.client().create_thread(thread_id=f"t{n}", user_id=f"u{n}", agent_id="a")
        for n in range(THREADS)
    ]
    adds = []
    for number in range(count):
        batch = [{"role": "user", "content": next(texts)} for _ in range(BATCH)]
        thread = threads[number % THREADS]
        alone = [next(texts) for _ in range(BATCH)]
        owners = {"thread_ids": thread.thread_id, "user_ids": f"u{number % THREADS}"}
        add = functools.partial(
            memory.store().add, alone, "message", roles="user", agent_ids="a", **owners
        )
        adds.append(lap(add))
        thread.add_messages(batch)
    model = ReadingLlm()
    workers.llm = lambda: model  # type: ignore[attr-defined, assignment]
    worker = workers.Worker()
    wall, cpu = lap(lambda: worker.drain(longest_s=3_600))
    one = Timing.of(adds)
    per_job = (cpu - model.spent[1]) / count * 1000
    return {
        "jobs": count,
        "succeeded": Job.objects.filter(state=JobState.SUCCEEDED).count(),
        **one.figures("batch_add"),
        "job_ms": round((wall - model.spent[0]) / count * 1000, 3),
        "job_cpu_ms": round(per_job, 3),
        "job_to_batch_add": round(per_job / one.cpu_ms, 2),
    }


if __name__ == "__main__":
    django.setup()
    print(json.dumps(main(int(sys.argv[1]))))
