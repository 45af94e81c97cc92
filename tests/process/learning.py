"""An installation that learns: web server and workers of its own, a scripted model, any broker."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.server import ROOT, Server, serve
from oracleagentmemory.core import MemoryExtractionMode, OracleAgentMemory, SQLiteMemoryStore
from oracleagentmemory.core.embedders import Embedder
from oracleagentmemory.core.extractors import MemoryExtractionConfig
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.testing import ScriptedModelServer
from tests.process.product import free_port, wait_until
from tests.sdk.extraction.dialogues import Dialogue, Learnt, expected_memories

LONG_S = 60.0
#: Seconds after which a dead worker's job is taken over.
LEASE_S = 2


@dataclass
class Worker:
    """A worker with a scheduler inside, in a session of its own."""

    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End it as a crash does, with its scheduler."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def end(self) -> int:
        """Ask it to end; return its exit status."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(30)
        finally:
            if self.process.poll() is None:
                self.kill()


@dataclass
class Installation:
    """One database, its web server, and what is done to it."""

    folder: Path
    server: Server
    models: ScriptedModelServer
    workers: list[Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        made = self.server.manage("memory_key", "create", "test", "--role", "admin").strip()
        self._headers = {"Authorization": f"Bearer {made}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Ask the API."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.server.url + path, data, self._headers, method=method)
        with urlopen(request, timeout=60) as response:
            text = response.read()
        return json.loads(text) if text else None

    def open_thread(self, dialogue: Dialogue) -> None:
        """Create the thread of a dialogue."""
        given = {"user_id": dialogue.user_id, "agent_id": dialogue.agent_id}
        self.call("POST", "/threads", {"id": dialogue.thread_id, **given})

    def say(self, dialogue: Dialogue, messages: Sequence[Mapping[str, str]]) -> None:
        """Add messages to a thread."""
        path = f"/threads/{dialogue.thread_id}/messages"
        self.call("POST", path, {"messages": list(messages)})

    def start_worker(self, threads: int = 2) -> Worker:
        """Start a worker and wait until its heart beats."""
        number = len(self.workers)
        command = [sys.executable, "-W", "ignore:You're running the worker with superuser"]
        command += ["-m", "celery", "-q", "-A", "memoryapp", "worker", "--loglevel", "WARNING"]
        command += ["--beat", "--schedule", str(self.folder / f"schedule{number}")]
        command += ["--pool", "threads", "--concurrency", str(threads), "-n", f"w{number}@%h"]
        command += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        with self.log.open("ab") as log:
            worker = Worker(
                subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env=self.server.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        self.workers.append(worker)
        mark = f"%:{worker.process.pid}:%"
        query = "SELECT count(*) FROM memoryapp_workerbeat WHERE name LIKE ?"
        wait_until(
            lambda: self.rows(query, mark) == [(1,)], within_s=LONG_S, what=f"alive\n{self.logged}"
        )
        return worker

    @property
    def log(self) -> Path:
        """What the workers said."""
        return self.folder / "workers.log"

    @property
    def logged(self) -> str:
        """Its text."""
        return self.log.read_text() if self.log.exists() else ""

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Read the database."""
        with closing(sqlite3.connect(self.folder / "memory.sqlite3", timeout=20)) as connection:
            return connection.execute(query, values).fetchall()

    def states(self) -> dict[str, int]:
        """How many jobs are in each state."""
        return dict(self.rows("SELECT state, count(*) FROM memoryapp_job GROUP BY state"))

    def wait_for_jobs(self, within_s: float = LONG_S) -> None:
        """Wait until every job has ended."""

        def at_rest() -> bool:
            return not {"queued", "running"} & set(self.states())

        wait_until(at_rest, within_s=within_s, what=f"at rest: {self.states()}\n{self.logged}")

    def learnt(self) -> set[Learnt]:
        """What the store holds, by what does not depend on when it was learnt."""
        with closing(SQLiteMemoryStore(self.folder / "memory.sqlite3")) as store:
            return expected_memories(store)


@contextmanager
def install(folder: Path, models: ScriptedModelServer, **settings: str) -> Iterator[Installation]:
    """Prepare and serve an installation, and end its workers at the end."""
    own = {
        "MEMORY_LLM": "openai/scripted",
        "MEMORY_LLM_API_BASE": models.api_base,
        "MEMORY_LLM_API_KEY": "none",
        "MEMORY_EMBEDDER": "openai/scripted",
        "MEMORY_EMBEDDER_API_BASE": models.api_base,
        "MEMORY_EMBEDDER_API_KEY": "none",
        # Nearness that does not depend on what else is stored by then.
        "MEMORY_SEARCH_STRATEGY": "vector",
        "MEMORY_JOB_LEASE_S": str(LEASE_S),
        "MEMORY_SWEEP_INTERVAL_S": "0.5",
    }
    with serve(folder, own | settings) as server:
        made = Installation(folder, server, models)
        try:
            yield made
        finally:
            for worker in made.workers:
                if worker.process.poll() is None:
                    worker.kill()


@contextmanager
def redis(folder: Path) -> Iterator[Redis]:
    """A Redis without disk on a port of its own."""
    server = Redis(folder, free_port())
    server.start()
    try:
        yield server
    finally:
        server.stop()


@dataclass
class Redis:
    """A Redis that can be restarted; it forgets everything then."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For CELERY_BROKER_URL."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--appendonly", "no", "--dir", str(self.folder)]
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self._answers, within_s=20, what="Redis answers")

    def _answers(self) -> bool:
        asked = subprocess.run(
            ["redis-cli", "-p", str(self.port), "ping"], capture_output=True, check=False
        )
        return asked.stdout.strip() == b"PONG"

    def hang(self) -> None:
        """Let it take connections and answer nothing, until it is stopped."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None


def learnt_inline(
    folder: Path, models: ScriptedModelServer, dialogues: Sequence[Dialogue]
) -> set[Learnt]:
    """What the same calls teach in one process, one after another, where nothing goes wrong."""
    reach = {"api_base": models.api_base, "api_key": "none"}
    store = SQLiteMemoryStore(
        folder / "inline.sqlite3", embedder=Embedder("openai/scripted", **reach)
    )
    config = MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.INLINE)
    client = OracleAgentMemory(
        store=store, llm=Llm("openai/scripted", **reach), memory_extraction_config=config
    )
    with closing(store), closing(client):
        for one in dialogues:
            thread = client.create_thread(
                thread_id=one.thread_id, user_id=one.user_id, agent_id=one.agent_id
            )
            for messages in one.calls():
                thread.add_messages(messages)
        return expected_memories(store)
