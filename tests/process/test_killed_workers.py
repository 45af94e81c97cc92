"""Workers that are killed while they learn: what is learnt is the same as if none had been.

The model holds its answer back, or its vectors, at the point where the worker is to die, so the
worker is certainly there: the test sees the request, looks at what the database holds by then, and
kills the worker with its scheduler.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.process.learning import Installation, install, learnt_inline, redis
from tests.process.product import wait_until
from tests.sdk.extraction.dialogues import Dialogue, _memory, _plain, _prompt
from tests.sdk.extraction.models import EXTRACTION, LINKS, SUMMARY, said

POINTS = ("claim", "answer", "write", "links")
_MARKS = {"claim": EXTRACTION, "links": LINKS, "write": SUMMARY}


@dataclass(frozen=True)
class Death:
    """A thread whose second job is the one that a worker dies with, and where it does."""

    number: int
    point: str

    @property
    def dialogue(self) -> Dialogue:
        """Its two messages, added one by one: each teaches a memory, the second refines it."""
        name = f"tell-{self.number}"
        messages = ({"id": f"{name}-{n}", "role": "user", "content": f"{name} {n}"} for n in "ab")
        return OneByOne(name, f"user-{self.number}", "agent", tuple(messages))

    @property
    def told(self) -> str:
        """What only requests of that job say."""
        return f"tell-{self.number} b"

    @property
    def learnt(self) -> str:
        """What only that job's memory says."""
        return f"learnt tell-{self.number} b"


class OneByOne(Dialogue):
    """A dialogue each of whose calls adds one message."""

    def calls(self) -> Iterator[list[dict[str, str]]]:
        for message in self.messages:
            yield [message]


class Model:
    """The script, and the points at which it holds back for the first time that it is asked."""

    def __init__(self, deaths: Sequence[Death]) -> None:
        self.held: dict[str, threading.Event] = {one.told: threading.Event() for one in deaths}
        self.ended = threading.Event()
        self._deaths = deaths

    def script(self) -> list[ScriptedAnswer]:
        vectors = [
            ScriptedAnswer(kind="embeddings", when=one.learnt, until=self.ended)
            for one in self._deaths
            if one.point == "answer"
        ]
        chat = [
            ScriptedAnswer(when=EXTRACTION, reply=self._memories, repeat=True),
            ScriptedAnswer(when=LINKS, reply=self._links, repeat=True),
            ScriptedAnswer(when=SUMMARY, reply=self._summary, repeat=True),
        ]
        return [*vectors, *chat]

    def _hold(self, mark: str, told: str) -> None:
        for one in self._deaths:
            # Of links the request shows memories, else the messages themselves.
            shown = one.learnt if mark == LINKS else one.told
            if _MARKS.get(one.point) == mark and shown in told and not self.held[one.told].is_set():
                self.held[one.told].set()
                self.ended.wait()

    def _memories(self, told: str) -> Any:
        self._hold(EXTRACTION, told)
        found = [
            {"text": f"learnt {_plain(one.text)}", "record_type": "fact"}
            for one in _prompt(told).iterfind("new_messages/message/content")
        ]
        return {"thoughts": None, "memories": found}

    def _links(self, told: str) -> Any:
        self._hold(LINKS, told)
        prompt = _prompt(told)
        targets = [_memory(one) for one in prompt.iterfind("existing_memories/memory")]
        resolutions = {
            source_id: {
                "updated_source_memory_text": None,
                "links": [
                    {"target_memory_id": target_id, "link_type": "supports"}
                    for target_id, other in targets
                    if other[:-1] == text[:-1]
                ],
            }
            for source_id, text in map(_memory, prompt.iterfind("new_memories/memory"))
        }
        return {"source_resolutions": resolutions}

    def _summary(self, told: str) -> Any:
        self._hold(SUMMARY, told)
        return json.dumps({"summary": "They talked.", "topics": ["a talk"]})


def is_reached(model: Model, server: ScriptedModelServer, death: Death) -> bool:
    """Whether the model holds back what the worker waits for at the point."""
    if death.point != "answer":
        return model.held[death.told].is_set()
    return any(one.kind == "embeddings" and death.learnt in said(one) for one in server.requests)


def check_point(installation: Installation, death: Death) -> None:
    """See in the database that the worker is where it is to die."""
    job = "SELECT id FROM memoryapp_job WHERE thread_id = ? AND state = 'running'"
    ((job_id,),) = installation.rows(job, death.dialogue.thread_id)
    notes = installation.rows("SELECT key FROM memoryapp_jobnote WHERE job_id = ?", job_id)
    answered = {key.split()[1] for (key,) in notes if key.startswith("answer ")}
    memories = installation.rows("SELECT record_id FROM memory WHERE content = ?", death.learnt)
    relations = "SELECT count(*) FROM memory_link WHERE source_memory_id = ?"
    linked = [installation.rows(relations, *row)[0][0] for row in memories]
    assert (answered, linked) == {
        "claim": (set(), []),
        "answer": ({"extraction"}, []),
        "links": ({"extraction"}, [0]),
        "write": ({"extraction", "links"}, [1]),
    }[death.point]


def kill_each(
    installation: Installation, model: Model, deaths: Sequence[Death], *, restart: Any = None
) -> None:
    """Let a worker die at each point in turn; the next one goes on with what it left."""
    worker = installation.start_worker(threads=1)
    for death in deaths:
        dialogue = death.dialogue
        installation.open_thread(dialogue)
        for messages in dialogue.calls():
            # A summary of the first job would cover the second message, and none be due then.
            installation.wait_for_jobs()
            installation.say(dialogue, messages)
        wait_until(
            lambda death=death: is_reached(model, installation.models, death),  # type: ignore[misc]
            within_s=60,
            what=f"{death}: {installation.states()}\n{installation.logged}",
        )
        check_point(installation, death)
        worker.kill()
        if restart is not None and death.number == len(deaths) // 2:
            restart.stop()
            restart.start()
        worker = installation.start_worker(threads=1)
    installation.wait_for_jobs()


def check_effect(
    installation: Installation, tmp_path: Path, deaths: Sequence[Death], model: Model
) -> None:
    """Nothing is missing, nothing is there twice, no job runs, each was claimed again."""
    model.ended.set()
    assert installation.states() == {"succeeded": 2 * len(deaths)}
    assert installation.rows("SELECT count(*) FROM memoryapp_jobnote") == [(0,)]
    attempts = "SELECT attempts, count(*) FROM memoryapp_job GROUP BY attempts"
    assert dict(installation.rows(attempts)) == {1: len(deaths), 2: len(deaths)}
    learnt = installation.learnt()
    dialogues = [one.dialogue for one in deaths]
    assert learnt == learnt_inline(tmp_path, installation.models, dialogues)
    assert len(learnt) == 2 * len(deaths)
    assert sum(len(one[-1]) for one in learnt) == len(deaths), "one link each"


def test_three_workers_on_files_die_and_nothing_is_lost(tmp_path: Path) -> None:
    deaths = [Death(number, point) for number, point in enumerate(("answer", "links", "write"))]
    model = Model(deaths)
    with (
        ScriptedModelServer(model.script()) as models,
        install(tmp_path / "files", models) as installation,
    ):
        kill_each(installation, model, deaths)
        check_effect(installation, tmp_path, deaths, model)


@pytest.mark.long
def test_ten_workers_on_redis_die_and_nothing_is_lost(tmp_path: Path) -> None:
    points = itertools.islice(itertools.cycle(POINTS), 10)
    deaths = [Death(number, point) for number, point in enumerate(points)]
    model = Model(deaths)
    with ExitStack() as stack:
        models = stack.enter_context(ScriptedModelServer(model.script()))
        broker = stack.enter_context(redis(tmp_path))
        installation = stack.enter_context(
            install(tmp_path / "redis", models, CELERY_BROKER_URL=broker.url)
        )
        kill_each(installation, model, deaths, restart=broker)
        check_effect(installation, tmp_path, deaths, model)
