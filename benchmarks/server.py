"""The product's web server on an empty database of its own, for measuring and for tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Server:
    """A running granian with the real settings."""

    port: int
    environment: dict[str, str]

    @property
    def url(self) -> str:
        """Where the API is."""
        return f"http://127.0.0.1:{self.port}/api/v1"

    def manage(self, *arguments: str) -> str:
        """Run a management command against the server's database; return what it printed."""
        return _manage(self.environment, *arguments)


@contextmanager
def serve(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Prepare a database in the folder, serve it with one process of four threads, and stop."""
    # The caller's settings (a test run has its own) are not this server's.
    names = ("MEMORY_", "DJANGO_", "DATABASE_URL", "CELERY_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(names)}
    environment |= {"MEMORY_VAR_DIR": str(folder), "DJANGO_SETTINGS_MODULE": "memoryapp.settings"}
    environment |= settings or {}
    _manage(environment, "migrate", "-v0")
    _manage(environment, "collectstatic", "--no-input", "-v0")
    port = _free_port()
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "memoryapp.wsgi:application"]
    command += ["--port", str(port), "--workers", "1", "--blocking-threads", "4"]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--log-level", "warning"],
            cwd=ROOT, env=environment, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            _wait(process, port, folder / "server.log")
            yield Server(port, environment)
        finally:
            process.terminate()
            process.wait(15)


def _manage(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT, env=environment, text=True, capture_output=True, timeout=300,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(300):
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")
