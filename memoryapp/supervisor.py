"""Run the product's processes together, and end them together.

Each child leads a session of its own: Ctrl-C reaches the supervisor only, and one signal to the
child's group takes its own children (web processes, the scheduler) with it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

#: Seconds that the children have together between being asked to end and being killed.
GRACE_S = 7.0

_TICK_S = 0.1
_PR_SET_PDEATHSIG = 1

Say = Callable[[str], None]


class Supervisor:
    """The children by name, from :meth:`run` to the end of all of them."""

    def __init__(self, commands: Mapping[str, Sequence[str]], *, say: Say) -> None:
        """Take each child's command line; nothing starts before :meth:`run`."""
        self._commands = commands
        self._say = say
        self._stop = threading.Event()
        self._children: dict[str, subprocess.Popen[str]] = {}

    def run(self, *, is_ready: Callable[[], bool], announce: Callable[[], None]) -> int:
        """Run until a signal comes or a child ends by itself; return the exit status."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: self._stop.set())
        try:
            self._start()
            return self._watch(is_ready, announce)
        finally:
            self._end()

    def _start(self) -> None:
        supervisor_id = os.getpid()
        for name, command in self._commands.items():
            self._children[name] = subprocess.Popen(  # noqa: S603  # our own command lines
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
                preexec_fn=lambda: _end_with(supervisor_id),
            )
        # Threads after the forks: a fork copies the locks that other threads hold.
        for name, child in self._children.items():
            threading.Thread(target=self._relay, args=(name, child), daemon=True).start()

    def _relay(self, name: str, child: subprocess.Popen[str]) -> None:
        try:
            for line in child.stdout or ():
                self._say(f"{name:<6} | {line.rstrip()}")
        except OSError:
            # Nobody reads us any more. Children must not wait for ever on a full pipe.
            self._stop.set()

    def _watch(self, is_ready: Callable[[], bool], announce: Callable[[], None]) -> int:
        announced = False
        while not self._stop.wait(_TICK_S):
            for name, child in self._children.items():
                if child.poll() is not None:
                    self._say(
                        f"{name} ended by itself ({_describe(child.returncode)}); stopping the rest"
                    )
                    return 1
            if not announced and is_ready():
                announce()
                announced = True
        return 0

    def _end(self) -> None:
        """Ask every group to end, wait, then kill what is left of each."""
        _signal_groups(self._children.values(), signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        for name, child in self._children.items():
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._say(f"{name} did not end within {GRACE_S:g} s; killing it")
        # Also the groups whose leader is gone: its own children may have outlived it.
        _signal_groups(self._children.values(), signal.SIGKILL)
        for child in self._children.values():
            child.wait()


def _end_with(supervisor_id: int) -> None:
    """In the child: have the kernel end it when the supervisor dies, by kill -9 too (Linux)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != supervisor_id:
        os._exit(1)


def _signal_groups(children: Iterable[subprocess.Popen[str]], number: signal.Signals) -> None:
    for child in children:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)


def _describe(status: int) -> str:
    return f"status {status}" if status >= 0 else f"killed by {signal.Signals(-status).name}"
