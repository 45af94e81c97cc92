"""The supervisor with children that misbehave in ways the product's own do not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT
from tests.process.product import wait_until

SCRIPT = """
import sys
from memoryapp import supervisor
supervisor.GRACE_S = 0.3
commands = {name: [sys.executable, "-c", code] for name, code in %r.items()}
run = supervisor.Supervisor(commands, say=lambda line: print(line, flush=True)).run
sys.exit(run(is_ready=lambda: True, announce=lambda: print("ready", flush=True)))
"""
WAIT = "import signal; signal.pause()"
# An ignored signal stays ignored in what a process starts.
DEAF = """
import pathlib, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
pathlib.Path(%r).write_text(str(grandchild.pid))
signal.pause()
"""


def start(children: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT % children],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def is_gone(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_child_that_ends_at_once_is_named_with_its_status() -> None:
    with start({"good": WAIT, "bad": "import sys; print('no luck'); sys.exit(3)"}) as supervisor:
        output, _ = supervisor.communicate(timeout=10)
    assert supervisor.returncode == 1
    assert "bad    | no luck" in output
    assert "bad ended by itself (status 3); stopping the rest" in output


def test_deaf_child_and_its_own_child_are_killed_after_the_grace(tmp_path: Path) -> None:
    note = tmp_path / "grandchild"
    with start({"deaf": DEAF % str(note)}) as supervisor:
        wait_until(lambda: note.exists() and bool(note.read_text()), within_s=10, what="a note")
        supervisor.send_signal(signal.SIGTERM)
        output, _ = supervisor.communicate(timeout=10)
    assert supervisor.returncode == 0
    assert "deaf did not end within 0.3 s; killing it" in output
    grandchild = int(note.read_text())
    wait_until(lambda: is_gone(grandchild), within_s=5, what="the grandchild is gone")


def test_output_that_is_no_utf8_is_shown_and_ends_nothing() -> None:
    code = "import os, signal; os.write(1, b'na\\xefve\\n'); signal.pause()"
    with start({"odd": code}) as supervisor:
        assert supervisor.stdout is not None
        lines = [supervisor.stdout.readline(), supervisor.stdout.readline()]
        os.kill(supervisor.pid, signal.SIGINT)
        supervisor.communicate(timeout=10)
    assert "odd    | na\ufffdve\n" in lines
    assert supervisor.returncode == 0


def test_output_that_nobody_reads_ends_everything() -> None:
    code = "import itertools\nfor n in itertools.count(): print(n, flush=True)"
    with start({"talker": code}) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline()
        supervisor.stdout.close()
        supervisor.wait(10)
