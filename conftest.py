"""Fixtures of every test: the database holds the store's tables beside Django's."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "tests" / "golden"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ``make golden`` runs: those that use the fixture."""
    for test in items:
        if "golden" in getattr(test, "fixturenames", ()):
            test.add_marker("golden")


def pytest_collection_finish() -> None:
    """Keep the collector from walking all imported modules again and again: a third of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Keep the closing line for ``.ci/tests``, which runs pytest three times and prints it last."""
    file = os.environ.get("MEMORY_TEST_SUMMARY")
    if file:
        parts, _ = terminalreporter.build_summary_stats_line()
        Path(file).write_text(", ".join(text for text, _ in parts) + "\n")


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compare a text with ``tests/golden/<name>``; ``make golden`` writes that file instead."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if os.environ.get("MEMORY_TEST_GOLDEN") == "write":
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        assert text == file.read_text(), f"{name} changed; if that is meant: make golden"

    return compare


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Create the store outside any test's transaction, or its tables would be rolled back."""
    from memoryapp.memory import open_store

    with django_db_blocker.unblock():
        open_store()


@pytest.fixture(autouse=True)
def _empty_store_after_committing_tests(request: pytest.FixtureRequest) -> Iterator[None]:
    """Django flushes its own tables after a ``transaction=True`` test, and not the store's."""
    yield
    marker = request.node.get_closest_marker("django_db")
    if marker is None or not marker.kwargs.get("transaction"):
        return
    from django.db import connection, transaction

    from memoryapp.memory import store

    blocker = request.getfixturevalue("django_db_blocker")
    tables, extras = store().tables, store().extras
    # The sequence never goes back, and the configuration is the store's for as long as it is open.
    kept = {tables.stores.name, extras.sequence.name}
    with blocker.unblock(), transaction.atomic(), connection.cursor() as cursor:
        for table in (extras.text, *reversed(tables.metadata.sorted_tables)):
            if table.name in kept:
                continue
            cursor.execute(f'DELETE FROM "{table.name}"')  # noqa: S608  # our own table names
