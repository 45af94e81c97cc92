"""The product as its users start it: real processes, real settings, a folder of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from memoryapp.environment import Environment

#: What a second pytest or make above us puts into the environment, and users do not have there.
FROM_ABOVE = {"DJANGO_SETTINGS_MODULE", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PYTHONPATH"}

TICK_S = 0.05

#: The command line of the process that starts and ends the others.
SUPERVISOR = r"python manage\.py memory_run"


def wait_until(condition: Callable[[], bool], *, within_s: float, what: str) -> float:
    """Poll until the condition holds; the seconds it took."""
    start = time.monotonic()
    pause = threading.Event()
    while not condition():
        assert time.monotonic() - start < within_s, f"not within {within_s:g} s: {what}"
        pause.wait(TICK_S)
    return time.monotonic() - start


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port: int = server.getsockname()[1]
        return port


@dataclass
class Product:
    """One installation: a checkout, its ``var`` folder, and the processes started from it."""

    checkout: Path
    var: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    lines: list[str] = field(default_factory=list)
    process: subprocess.Popen[str] | None = None

    @property
    def environment(self) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in FROM_ABOVE and name not in Environment.names()
        }
        own = {
            "MEMORY_VAR_DIR": str(self.var),
            "PORT": str(self.port),
            # The shared .venv has the SDK of another checkout installed.
            "PYTHONPATH": str(self.checkout / "sdk"),
        }
        return inherited | own | dict(self.settings)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def start(self, *command: str) -> float:
        """Start it with ``make run``, or another command; the seconds until it is ready."""
        self.lines.clear()
        self.process = subprocess.Popen(
            command or ("make", "run"),
            cwd=self.checkout,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._collect, args=(self.process,), daemon=True).start()
        return wait_until(self._is_ready_or_over, within_s=60, what=f"ready\n{self.output}")

    def _collect(self, process: subprocess.Popen[str]) -> None:
        with process:
            for line in process.stdout or ():
                self.lines.append(line.rstrip("\n"))

    def _is_ready_or_over(self) -> bool:
        assert self.process is not None
        if any(line.startswith("ready: ") for line in self.lines):
            return True
        assert self.process.poll() is None, f"ended with {self.process.returncode}\n{self.output}"
        return False

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a management command to its end."""
        return subprocess.run(
            [".venv/bin/python", "manage.py", *arguments],
            cwd=self.checkout,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def signal_group(self, number: signal.Signals) -> None:
        """What a terminal does on Ctrl-C: a signal to everybody in the foreground."""
        assert self.process is not None
        os.killpg(self.process.pid, number)

    def processes(self) -> dict[int, str]:
        """Every live process that was started for this installation, with its command line."""
        mark = f"MEMORY_VAR_DIR={self.var}\0".encode()
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (folder / "environ").read_bytes():
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found[int(folder.name)] = command
        return found

    def process_of(self, pattern: str, *, parent: int | None = None) -> int:
        """The one process whose command line matches, among a parent's children if given."""
        matching = [
            number
            for number, command in self.processes().items()
            if re.search(pattern, command) and (parent is None or parent_of(number) == parent)
        ]
        assert matching, f"no process matches {pattern}: {self.processes()}"
        return min(matching)

    def wait_until_gone(self, *, within_s: float = 10) -> None:
        def gone() -> bool:
            return not self.processes()

        wait_until(gone, within_s=within_s, what=f"no process left\n{self.output}")

    def stop(self) -> None:
        """Leave nothing behind, whatever a test did."""
        for number in self.processes():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.wait_until_gone()

    def start_work_s(self) -> float:
        """Processor time on the longest way to ready: the supervisor, then one web process.

        Unlike the clock, it does not tell of what else the machine does.
        """
        supervisor = self.process_of(SUPERVISOR)
        web = self.process_of("granian", parent=supervisor)
        web_processes = [number for number in self.processes() if parent_of(number) == web]
        return cpu_seconds_of(supervisor) + max(map(cpu_seconds_of, web_processes))

    def database(self) -> sqlite3.Connection:
        return sqlite3.connect(self.var / "memory.sqlite3", timeout=20)

    def tables(self) -> dict[str, list[tuple[object, ...]]]:
        """Every row of every table, to be compared with a later look."""
        with closing(self.database()) as connection:
            names = [
                name
                for (name,) in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
                )
            ]
            return {
                name: sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
                for name in names
            }


def cpu_seconds_of(number: int) -> float:
    """Processor time that a live process has used so far."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def parent_of(number: int) -> int:
    """The parent's number of a live process; 0 when it is gone."""
    with suppress(OSError):
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        return int(fields[1])
    return 0
