"""``manage.py memory_run``: everything that ``make run`` does once ``.venv`` is there."""

from __future__ import annotations

import http.client
import os
import socket
import sys
from contextlib import closing
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from memoryapp.services import people
from memoryapp.supervisor import Supervisor

# Celery warns root of pickled tasks. Ours are JSON, and in a container many are root.
NO_FEAR_OF_ROOT = "ignore:You're running the worker with superuser"


class Command(BaseCommand):
    """Prepares the database and the files, then supervises the web server and the worker."""

    help = "Start the product: web pages, API and worker. HOST and PORT say where."

    def handle(self, **_: Any) -> None:
        """Prepare, run until a signal or a child's end, and exit with its status."""
        try:
            require_free_port()
            call_command("memory_prepare", stdout=self.stdout)
        except KeyboardInterrupt:
            raise SystemExit(130) from None
        # The children open their own; a connection must not be shared across a fork.
        connections.close_all()
        supervisor = Supervisor(child_commands(), say=self._say)
        status = supervisor.run(is_ready=answers, announce=self._announce)
        self._say("stopped")
        raise SystemExit(status)

    def _announce(self) -> None:
        admin = people.find_admin()
        connections.close_all()
        name = admin.get_username() if admin else people.FIRST_ADMIN
        self._say(f"ready: {address()}  (log in as {name})")
        self._say(f"Forgotten the password? .venv/bin/python manage.py changepassword {name}")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def address() -> str:
    """Where a browser on this machine finds the product."""
    host = settings.ENVIRONMENT.host
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104
    return f"http://{shown}:{settings.ENVIRONMENT.port}/"


def require_free_port() -> None:
    """Say so before anything is prepared when another program has the port."""
    host, port = settings.ENVIRONMENT.host, settings.ENVIRONMENT.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise CommandError(
            f"cannot listen on {host}:{port}: {error.strerror}. Set another PORT (or HOST)."
        ) from error


def answers() -> bool:
    """Whether a web process answers; a refusal of the host name is an answer too."""
    host, port = settings.ENVIRONMENT.host, settings.ENVIRONMENT.port
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    with closing(http.client.HTTPConnection(host, port, timeout=2)) as connection:
        try:
            connection.request("GET", "/livez")
            connection.getresponse()
        except (OSError, http.client.HTTPException):
            return False
    return True


def child_commands() -> dict[str, list[str]]:
    """The command line of each child. Both are found beside the Python that runs us."""
    environment = settings.ENVIRONMENT
    os.environ["PYTHONUNBUFFERED"] = "1"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    web = ["granian", "--interface", "wsgi", "memoryapp.wsgi:application"]
    web += ["--host", environment.host, "--port", str(environment.port)]
    web += ["--workers", str(environment.memory_web_processes)]
    web += ["--blocking-threads", str(environment.memory_web_threads)]
    web += ["--workers-kill-timeout", "5", "--log-level", "warning"]
    worker = ["celery", "-q", "-A", "memoryapp", "worker", "--beat", "--loglevel", "WARNING"]
    worker += ["--schedule", str(settings.VAR_DIR / "beat-schedule")]
    worker += ["--pool", "threads", "--concurrency", str(environment.memory_worker_threads)]
    worker += ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    return {
        name: [sys.executable, "-W", NO_FEAR_OF_ROOT, "-m", *command]
        for name, command in {"web": web, "worker": worker}.items()
    }
