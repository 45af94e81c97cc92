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
from oracleagentmemory.errors import ModelAnswerError, RetryableError
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


def kill(name: str) -> None:
    """Stop a run as a signal does."""
    raise Killed(name)


def be_busy(name: str) -> None:
    """Stop a step as a model or a store that has too much to do."""
    raise RetryableError(f"busy: {name}")


@dataclass
class Points:
    """Counts the points that a run passes, and does something at one of them.

    Attributes:
        at: The number or the name of the point.
    """

    at: int | str | None = None
    act: Callable[[str], None] = kill
    passed: list[str] = field(default_factory=list)

    def reach(self, name: str) -> None:
        """Pass a point."""
        self.passed.append(name)
        if self.at in (name, len(self.passed) - 1):
            self.act(name)


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
    asked: list[str]


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory, empty: Path) -> Clean:
    with scene(tmp_path_factory.mktemp("clean") / "memory.sqlite3", empty) as one:
        points = Points()
        result = one.run(points)
        return Clean(one.state(), result, points.passed, one.llm.paid, one.llm.steps)


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


def test_a_model_that_is_busy_at_any_request_is_asked_again_by_the_next_run(
    clean: Clean, tmp_path: Path, empty: Path
) -> None:
    asks = [number for number, point in enumerate(clean.points) if point == "asking"]
    assert len(asks) == clean.paid.total()
    for number in asks:
        with scene(tmp_path / f"{number}.sqlite3", empty) as one:
            with pytest.raises(RetryableError, match="busy"):
                one.run(Points(number, be_busy))
            result = one.run(Points())
            assert one.state() == clean.state, number
            assert (result.state, result.problems) == ("succeeded", ()), number
            assert one.llm.paid == clean.paid, number


NAMES = {CAPTION: "caption", SHORTENING: "shortening", LINKS: "links", SUMMARY: "summary"}


def test_what_the_last_run_cannot_have_is_noted(clean: Clean, tmp_path: Path, empty: Path) -> None:
    asks = [number for number, point in enumerate(clean.points) if point == "asking"]
    for number, step in zip(asks, clean.asked, strict=True):
        if step == EXTRACTION:
            continue
        with scene(tmp_path / f"{number}.sqlite3", empty) as one:
            one.notes.may_run_again = False
            result = one.run(Points(number, be_busy))
            (problem,) = result.problems
            assert (result.state, problem.step) == ("partial", NAMES[step])
            # All texts are learnt, whatever else is lost.
            assert len(result.memory_ids) == len(clean.result.memory_ids)


def test_what_a_run_lost_is_still_said_by_the_next(tmp_path: Path, empty: Path) -> None:
    with scene(tmp_path / "memory.sqlite3", empty) as one:
        one.llm.answers[SHORTENING] = [ModelAnswerError("no")]
        with pytest.raises(Killed):
            one.run(Points("before noting candidates 0"))
        result = one.run(Points())
        (problem,) = result.problems
        assert (result.state, problem.step) == ("partial", "shortening")


@pytest.mark.parametrize(
    ("point", "reasons"),
    [
        ("after noting answer extraction 0", ["nothing is stored: what it came from is gone"]),
        # Its memories had been stored: somebody has deleted them.
        ("before noting candidates 0", []),
    ],
)
def test_a_thread_that_is_deleted_between_two_runs_stays_deleted(
    point: str, reasons: list[str], tmp_path: Path, empty: Path
) -> None:
    with scene(tmp_path / "memory.sqlite3", empty) as one:
        with pytest.raises(Killed):
            one.run(Points(point))
        one.store.delete("thread", "t1")
        paid = one.llm.paid.total()
        result = one.run(Points())
        assert one.llm.paid.total() == paid
        assert set(map(str, one.state().values())) == {"[]", "{}"}
        assert [problem.reason for problem in result.problems] == reasons
        # The answer that was paid for is in the result.
        assert [answer.step for answer in result.answers] == ["extraction"]


def test_messages_that_are_deleted_before_anything_is_stored_teach_nothing(
    clean: Clean, tmp_path: Path, empty: Path
) -> None:
    with scene(tmp_path / "memory.sqlite3", empty) as one:
        with pytest.raises(Killed):
            one.run(Points("after noting answer extraction 0"))
        for message_id in ("n0", "n1"):
            one.store.delete("message", message_id)
        result = one.run(Points())
        said = {row[2] for row in one.state()["memories"] if row[0] in result.memory_ids}
        assert said == {"likes pizza 11 now", "likes pizza 12"}
        assert any("gone" in problem.reason for problem in result.problems)


def test_messages_that_are_deleted_after_their_memories_are_stored_change_nothing_of_them(
    clean: Clean, tmp_path: Path, empty: Path
) -> None:
    with scene(tmp_path / "memory.sqlite3", empty) as one:
        with pytest.raises(Killed):
            one.run(Points("before noting candidates 0"))
        for message_id in ("n0", "n1"):
            one.store.delete("message", message_id)
        result = one.run(Points())
        assert result.memory_ids == clean.result.memory_ids
        assert result.relation_ids == clean.result.relation_ids
        assert one.state()["memories"] == clean.state["memories"]


def test_a_run_whose_job_is_taken_over_writes_nothing_more(
    clean: Clean, tmp_path: Path, empty: Path
) -> None:
    writes = [number for number, point in enumerate(clean.points) if point == "before a write"]
    for number in writes:
        with scene(tmp_path / f"{number}.sqlite3", empty) as one:
            states: list[dict[str, Any]] = []

            def take_over(name: str, one: Scene = one, states: Any = states) -> None:
                one.notes.is_fenced = True
                states.append(one.state())

            with pytest.raises(FencedError):
                one.run(Points(number, take_over))
            assert [one.state()] == states, number
