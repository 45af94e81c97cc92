"""Checks of a deployment that Django's own do not make: ``manage.py check`` runs them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import checks


def database_path_is_usable(**_: Any) -> list[checks.CheckMessage]:
    """A SQLite path that cannot be opened is named before the first query fails on it."""
    database = settings.DATABASES["default"]
    if database["ENGINE"] != "django.db.backends.sqlite3":
        return []
    path = Path(database["NAME"])
    problem = _problem_with(path)
    if problem is None:
        return []
    return [
        checks.Error(
            f"The database {path} cannot be used: {problem}.",
            hint="Set DATABASE_URL or MEMORY_VAR_DIR to a place you may write to.",
            id="memoryapp.E001",
        )
    ]


def _problem_with(path: Path) -> str | None:
    if not path.parent.is_dir():
        return f"the folder {path.parent} does not exist"
    if not path.exists():
        return None if os.access(path.parent, os.W_OK) else f"{path.parent} may not be written to"
    if not path.is_file():
        return "it is not a file"
    if not os.access(path, os.R_OK | os.W_OK):
        return "it may not be read and written"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA schema_version")
    except sqlite3.DatabaseError as error:
        return str(error)
    return None


def https_is_complete(**_: Any) -> Sequence[checks.CheckMessage]:
    """``check --deploy``: a public site answers to its own names only."""
    hosts = set(settings.ALLOWED_HOSTS)
    if settings.ENVIRONMENT.django_https and hosts <= {"localhost", "127.0.0.1", "[::1]"}:
        return [
            checks.Warning(
                "DJANGO_HTTPS is on, but DJANGO_ALLOWED_HOSTS names this machine only.",
                id="memoryapp.W001",
            )
        ]
    return []


def register_all() -> None:
    """Hand the checks to Django."""
    checks.register(database_path_is_usable)
    checks.register(https_is_complete, checks.Tags.security, deploy=True)
