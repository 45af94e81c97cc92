"""A job that is killed at any point and run again, with the notes it made, has one effect."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import LlmResponse, RecordStatus
from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory, SQLiteMemoryStore
from oracleagentmemory.core.extractors.jobs import ExtractionJob, JobResult
from oracleagentmemory.core.extractors.journal import FencedError
from oracleagentmemory.core.extractors.runner import ExtractionRunner
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared
from tests.sdk.client.conftest import WordEmbedder
from tests.sdk.extraction.answers import item
from tests.sdk.extraction.models import EXTRACTION, LINKS, SUMMARY
from tests.sdk.extraction.steps import CAPTION, SHORTENING, StepLlm, linked, shown
from tests.sdk.images.pictures import picture
from tests.sdk.images.test_background import KeptJobs

LONG = "I drink water with pizza. " * 20
#: Each part of a message is a memory: the first window has links of two requests.
TOLD = ["; ".join(f"likes pizza {n}" for n in range(11)), LONG, "likes pizza 11", "likes pizza 12"]
CONFIG = MemoryExtractionConfig(
    memory_extraction_window=4,
    memory_extraction_frequency=2,
    context_summary_update_frequency=1,
)


class Killed(BaseException):
    """What no part of a run catches, as a process that is killed."""


@dataclass
class Points:
    """Counts the points that a run passes and stops it at one of them."""

    stop_at: int | None = None
    how: Callable[[str], BaseException] = Killed
    passed: list[str] = field(default_factory=list)

    def reach(self, name: str) -> None:
        """Pass a point, or stop there."""
        self.passed.append(name)
        if len(self.passed) - 1 == self.stop_at:
            raise self.how(name)


class Notes:
    """A journal whose notes are committed with what they tell of."""

    may_run_again = True

    def __init__(self) -> None:
        self.points = Points()
        self.kept: dict[str, str] = {}
        self.is_fenced = False
        self._open: dict[str, str] = {}

    def recall(self, key: str) -> Any:
        return json.loads(self.kept[key]) if key in self.kept else None

    def remember(self, key: str, value: Any, transaction: WriteTransaction | None = None) -> None:
        self.points.reach(f"before noting {key}")
        (self.kept if transaction is None else self._open)[key] = json.dumps(value)
        self.points.reach(f"after noting {key}")

    def fence(self, transaction: WriteTransaction) -> None:
        if self.is_fenced:
            raise FencedError("another run has the job")

    @contextmanager
    def joined(self, store: SQLMemoryStore) -> Iterator[None]:
        """Commit notes with the store's transactions while the block runs."""
        write = store.write

        def write_with_notes(prepared: Prepared[Any]) -> Any:
            self.points.reach("before a write")
            self._open.clear()
            given = write(prepared)
            self.kept |= self._open
            self._open.clear()
            self.points.reach("after a write")
            return given

        store.write = write_with_notes  # type: ignore[method-assign]
        try:
            yield
        finally:
            del store.write


class PaidLlm(StepLlm):
    """Passes a point when it is asked, and counts what it has answered."""

    def __init__(self, notes: Notes) -> None:
        super().__init__()
        self.notes = notes
        self.paid: Counter[str] = Counter()

    def generate(self, prompt: Any, **kwargs: Any) -> LlmResponse:
        self.notes.points.reach("asking")
        answer = super().generate(prompt, **kwargs)
        self.paid[self.steps[-1]] += 1
        return answer


def learn_parts(told: str) -> Any:
    """Learn each part of each new message."""
    parts = [part for text in shown(told, "new_messages") for part in text.split("; ")]
    return {"memories": [item(part) for part in parts]}


def link_first(told: str) -> Any:
    """Let the first new memory of a request end an older one, which no later search finds."""
    whole = linked("supersedes", "{} now")(told)["source_resolutions"]
    return {"source_resolutions": dict([next(iter(whole.items()))])}


@dataclass
class Scene:
    """A store with one thread and a job of its messages that has not run yet."""

    store: SQLMemoryStore
    client: OracleAgentMemory
    job: ExtractionJob
    notes: Notes
    llm: PaidLlm

    def run(self, points: Points) -> JobResult:
        """Run the job up to where the points stop it."""
        self.notes.points = points
        with self.notes.joined(self.store):
            return ExtractionRunner(self.store).run(self.job, self.llm, self.notes)

    def state(self) -> dict[str, Any]:
        """Return what the job stored, without ids that nothing fixes."""
        memories = self.store.list_memories(limit=None)
        sources = self.store.memory_sources([one.id for one in memories])
        images = self.store.list("image", limit=None)
        return {
            "memories": [
                (one.id, one.record_type, one.content, one.status, one.metadata) for one in memories
            ],
            "sources": {
                key: [(one.message_id, one.job_id, one.prompt_version) for one in found]
                for key, found in sources.items()
            },
            "relations": sorted(
                (one.id, one.source_record_id, one.target_record_id, one.relation_type)
                for one in self.store.list_relations(limit=None)
            ),
            "summaries": [one.content for one in self.store.list("thread_summary", limit=None)],
            "images": [(one.id, one.content) for one in images],
        }


@contextmanager
def scene(path: Path, empty: Path) -> Iterator[Scene]:
    """Lend a scene of its own."""
    path.write_bytes(empty.read_bytes())
    store = SQLiteMemoryStore(path, embedder=WordEmbedder())
    notes, scheduler = Notes(), KeptJobs()
    llm = PaidLlm(notes)
    client = OracleAgentMemory(
        store=store, llm=llm, memory_extraction_config=CONFIG, scheduler=scheduler
    )
    thread = client.create_thread(
        thread_id="t1", user_id="u1", agent_id="a1", max_message_token_length=60
    )
    for n in range(3):
        thread.add_memory(f"likes pizza and {n}", memory_id=f"old{n}", autonomous_linking=False)
    part = {"type": "image", "mime_type": "image/png", "bytes": picture("PNG"), "id": "i1"}
    contents = [[{"type": "text", "text": TOLD[0]}, part], *TOLD[1:]]
    thread.add_messages(
        [{"role": "user", "content": one, "id": f"n{n}"} for n, one in enumerate(contents)]
    )
    (job,) = scheduler.accepted
    assert [len(window.message_ids) for window in job.windows] == [2, 2]
    llm.answers[EXTRACTION] = [learn_parts] * 9
    llm.answers[LINKS] = [link_first] * 9
    try:
        yield Scene(store, client, replace(job, job_id="j1"), notes, llm)
    finally:
        client.close()
        store.close()


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "memory.sqlite3"
    SQLiteMemoryStore(path).close()
    return path


@dataclass
class Clean:
    """What a run that nothing stops does."""

    state: dict[str, Any]
    result: JobResult
    points: list[str]
    paid: Counter[str]


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory, empty: Path) -> Clean:
    with scene(tmp_path_factory.mktemp("clean") / "memory.sqlite3", empty) as one:
        points = Points()
        result = one.run(points)
        return Clean(one.state(), result, points.passed, one.llm.paid)


def test_the_run_takes_every_step(clean: Clean) -> None:
    assert clean.paid == {CAPTION: 1, SHORTENING: 1, EXTRACTION: 2, LINKS: 3, SUMMARY: 1}
    said = {text: status for _, _, text, status, _ in clean.state["memories"]}
    assert said["likes pizza 0 now"] is RecordStatus.VALID
    assert RecordStatus.INVALID in said.values()
    assert len(clean.state["relations"]) == 3
    assert clean.state["images"] == [("i1", "A red car.")]
    assert len(clean.state["summaries"]) == 1
    assert (clean.result.state, clean.result.problems) == ("succeeded", ())


def test_a_run_killed_at_any_point_and_run_again_has_one_effect(
    clean: Clean, tmp_path: Path, empty: Path
) -> None:
    for number, point in enumerate(clean.points):
        with scene(tmp_path / f"{number}.sqlite3", empty) as one:
            with pytest.raises(Killed):
                one.run(Points(number))
            result = one.run(Points())
            assert one.state() == clean.state, (number, point)
            assert result.memory_ids == clean.result.memory_ids, (number, point)
            assert result.relation_ids == clean.result.relation_ids, (number, point)
            # Only an answer that could not be noted any more is asked for again.
            lost = 1 if point.startswith("before noting answer") else 0
            assert one.llm.paid.total() == clean.paid.total() + lost, (number, point)
            assert all(one.llm.paid[step] >= paid for step, paid in clean.paid.items())
