"""``manage.py check`` names a database path that cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from memoryapp import checks
from memoryapp.environment import Environment, database_settings


@pytest.fixture
def use(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Any:
    def use_path(path: Path) -> list[str]:
        database = database_settings(f"sqlite:///{path}")
        monkeypatch.setitem(settings.DATABASES, "default", database)
        return [str(message.msg) for message in checks.database_path_is_usable()]

    return use_path


def test_new_path_and_database_pass(use: Any, tmp_path: Path) -> None:
    assert use(tmp_path / "new.sqlite3") == []


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.mkdir(), "it is not a file"),
        (lambda path: path.write_bytes(b"a letter, no database" * 99), "file is not a database"),
    ],
)
def test_path_that_is_no_database_is_named(
    use: Any, tmp_path: Path, make: Any, problem: str
) -> None:
    path = tmp_path / "memory.sqlite3"
    make(path)
    assert use(path) == [f"The database {path} cannot be used: {problem}."]


def test_missing_folder_is_named(use: Any, tmp_path: Path) -> None:
    (message,) = use(tmp_path / "missing" / "memory.sqlite3")
    assert f"the folder {tmp_path / 'missing'} does not exist" in message


def test_https_without_own_host_names_is_warned_of(settings: Settings) -> None:
    settings.ENVIRONMENT = Environment(django_https=True)
    settings.ALLOWED_HOSTS = ["localhost"]
    assert [message.id for message in checks.https_is_complete()] == ["memoryapp.W001"]
    settings.ALLOWED_HOSTS = ["memory.example.com"]
    assert checks.https_is_complete() == []
