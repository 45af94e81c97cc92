"""``/livez`` asks nothing; ``/readyz`` says what is missing, in words for anybody."""

from __future__ import annotations

import pytest
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from memoryapp.services import health


def test_livez_needs_no_database(client: Client) -> None:
    answer = client.get("/livez")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.django_db
def test_readyz_passes_on_a_migrated_database(client: Client) -> None:
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_readyz_says_that_a_migration_is_missing(client: Client) -> None:
    MigrationRecorder.Migration.objects.filter(app="memoryapp").delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["problem"] == "migrations are missing"


@pytest.mark.django_db
def test_readyz_does_not_show_the_databases_own_words(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OperationalError("cannot connect to scott/tiger@db")

    monkeypatch.setattr(health, "inspector", fail)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "tiger" not in answer.content.decode()


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_only_reading_is_allowed(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405
