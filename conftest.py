"""Fixtures of every test: the database holds the store's tables beside Django's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


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
    with blocker.unblock(), transaction.atomic(), connection.cursor() as cursor:
        for table in reversed(store().tables.metadata.sorted_tables):
            cursor.execute(f'DELETE FROM "{table.name}"')  # noqa: S608  # our own table names
