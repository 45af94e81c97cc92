"""The cost of a page, counted in steps of SQLite's machine, does not grow with its depth."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core.sqlitememorystore import SQLiteMemoryStore
from oracleagentmemory.inspection import StoreInspector

ROWS = 4_000
USERS = [f"user-{number}" for number in range(10)]


class Steps:
    """Counts what SQLite does on every connection of a store, in steps of ten."""

    def __init__(self, store: SQLiteMemoryStore) -> None:
        self._count = 0
        sa.event.listen(store.engine.engine, "checkout", self._watch)

    def of(self, call: Any) -> int:
        call()  # once before, so that nothing but the read itself is counted
        self._count = 0
        call()
        return self._count

    def _watch(self, connection: Any, *_: object) -> None:
        connection.set_progress_handler(self._step, 10)

    def _step(self) -> int:
        self._count += 1
        return 0


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteMemoryStore]:
    """A history of 4,000 memories and messages, and 200 threads, of ten users."""
    folder: Path = tmp_path_factory.mktemp("deep")
    store = SQLiteMemoryStore(folder / "memory.sqlite3")
    for number in range(200):
        user_id = USERS[number % 10]
        store.write(
            store.prepare_create_thread(f"thread {number}", user_id=user_id, agent_id="scout")
        )
    scope: dict[str, Any] = {"user_ids": USERS * (ROWS // 10), "agent_ids": "scout"}
    store.add(["text"] * ROWS, "memory", **scope)
    store.add(["text"] * ROWS, "message", roles="user", **scope)
    yield store
    store.close()


@pytest.mark.parametrize("kind", ["memory", "message", "thread"])
@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"user_id": "user-3"},
        {"user_ids": set(USERS[:4])},
        {"user_ids": {*USERS, *(f"absent-{number}" for number in range(40))}},
        {"agent_id": "scout"},
    ],
    ids=["all", "one user", "some users", "many users", "one agent"],
)
def test_the_deepest_page_costs_at_most_twice_the_first(
    store: SQLiteMemoryStore, kind: Any, filters: Any
) -> None:
    inspector, steps = StoreInspector(store), Steps(store)
    page = inspector.page(kind, limit=10, **filters)
    while page.older is not None:
        before = page.older
        page = inspector.page(kind, before=before, limit=10 if kind == "thread" else 150, **filters)
    first = steps.of(lambda: inspector.page(kind, limit=10, **filters))
    deepest = steps.of(lambda: inspector.page(kind, before=before, limit=10, **filters))
    assert deepest <= 2 * first
    assert first < ROWS / 10
