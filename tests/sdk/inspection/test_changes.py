"""Changes through our SDK, and rows that something else wrote."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import StoreInspector

USERS = ("ada", "béla", None)


@pytest.fixture
def inspector(store: SQLMemoryStore) -> StoreInspector:
    for number in range(9):
        store.add([f"text {number}"], "memory", record_ids=f"m{number}", user_ids=USERS[number % 3])
    return StoreInspector(store)


def written_outside(store: SQLMemoryStore, record_id: str, text: str) -> None:
    """Change a row as another program would: without a word to our tables."""
    table = store.tables.memory
    statement = sa.update(table).where(table.c.record_id == record_id).values(content=text)
    with store.engine.write() as transaction:
        transaction.execute(sa.select(table).with_for_update(), {})
        transaction.execute(statement, {})


def walk(inspector: StoreInspector, **scope: Any) -> list[str]:
    page = inspector.changes(limit=2, **scope)
    pages = [page]
    while page.older is not None:
        page = inspector.changes(limit=2, before=page.older, **scope)
        pages.append(page)
    back = pages[-1]
    while back.newer is not None:
        back = inspector.changes(limit=2, after=back.newer, **scope)
    assert back.changes == pages[0].changes
    return [change.record_id for page in pages for change in page.changes]


def test_changes_are_newest_first_and_say_what_happened(inspector: StoreInspector) -> None:
    store = inspector._store
    store.update("memory", "m0", content="other text")
    store.delete("memory", "m1")
    deleted, updated, added = inspector.changes(limit=3).changes
    assert (deleted.operation, deleted.record_id, deleted.user_id) == ("delete", "m1", "béla")
    assert (updated.operation, updated.record_id, updated.user_id) == ("update", "m0", "ada")
    assert (added.operation, added.record_id, added.user_id) == ("add", "m8", None)
    assert deleted.record_kind == "memory"
    assert updated.fingerprint == store.fingerprint("memory", "m0")
    assert deleted.fingerprint is None
    assert deleted.number > updated.number > added.number
    assert deleted.changed_at.tzinfo is not None
    assert deleted.process


@pytest.mark.parametrize(
    ("scope", "numbers"),
    [
        ({}, range(9)),
        ({"user_ids": ["ada"]}, (0, 3, 6)),
        ({"user_ids": ["ada", "béla", "nobody"]}, (0, 1, 3, 4, 6, 7)),
        ({"user_ids": ["ada", *(f"nobody {n}" for n in range(40))]}, (0, 3, 6)),
        ({"user_ids": []}, ()),
        # Records of no user have a scope of their own, which is no user's.
        ({"user_ids": ["-"]}, ()),
    ],
    ids=["all", "one user", "some users", "many users", "nobody", "hostile"],
)
def test_pages_of_changes_are_complete_and_keep_to_the_scope(
    inspector: StoreInspector, scope: dict[str, Any], numbers: Any
) -> None:
    assert walk(inspector, **scope) == [f"m{number}" for number in reversed(numbers)]


@pytest.mark.parametrize(
    "wrong",
    [{"before": "x"}, {"before": "-1"}, {"before": 2**70}, {"before": 1, "after": 2}, {"limit": 0}],
)
def test_a_bad_cursor_or_limit_is_refused(inspector: StoreInspector, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        inspector.changes(**wrong)


def test_rows_written_by_others_are_found_by_their_fingerprint(inspector: StoreInspector) -> None:
    store = inspector._store
    assert inspector.changed_outside("memory").rows == []
    written_outside(store, "m4", "changed behind our back")
    written_outside(store, "m6", "and this")
    page = inspector.changed_outside("memory")
    assert [row.id for row in page.rows] == ["m6", "m4"]
    assert (page.scanned, page.older, page.is_recorded) == (9, None, True)
    assert all(row.noted_fingerprint not in (None, row.fingerprint) for row in page.rows)
    only = inspector.changed_outside("memory", user_ids=["béla"])
    assert [row.id for row in only.rows] == ["m4"]
    store.update("memory", "m6", content="ours again")
    assert [row.id for row in inspector.changed_outside("memory").rows] == ["m4"]


def test_a_row_that_our_sdk_never_wrote_has_no_note(inspector: StoreInspector) -> None:
    store = inspector._store
    with store.engine.write() as transaction:
        state = store.extras.record_state
        transaction.execute(sa.delete(state).where(state.c.record_id == "m2"), {})
    (row,) = inspector.changed_outside("memory").rows
    assert (row.id, row.noted_fingerprint) == ("m2", None)
    assert (row.version, row.updated_at) == (None, None)


@pytest.mark.parametrize(("limit", "scan"), [(1, 1_000), (2, 1_000), (50, 2), (1, 3), (2, 1)])
def test_a_bounded_scan_goes_on_where_it_stopped(
    inspector: StoreInspector, limit: int, scan: int
) -> None:
    for record_id in ("m0", "m4", "m5", "m8"):
        written_outside(inspector._store, record_id, "changed")
    found, scanned = [], 0
    page = inspector.changed_outside("memory", limit=limit, scan=scan)
    while True:
        assert len(page.rows) <= limit
        assert page.scanned <= scan
        found += [row.id for row in page.rows]
        scanned += page.scanned
        if page.older is None:
            break
        page = inspector.changed_outside("memory", before=page.older, limit=limit, scan=scan)
    assert found == ["m8", "m5", "m4", "m0"]
    assert scanned == 9


def test_every_kind_is_as_our_sdk_left_it(store: SQLMemoryStore) -> None:
    store.write(store.prepare_create_thread("t", user_id="ada", agent_id="scout"))
    store.add(["hello"], "message", record_ids="n", thread_ids="t", roles="user", metadata={"a": 1})
    store.write(store.prepare_update_thread("t", metadata={"topic": 1.0}))
    store.update("message", "n", content="hello again")
    inspector = StoreInspector(store)
    for kind in ("message", "thread"):
        page = inspector.changed_outside(kind)
        assert (page.rows, page.scanned) == ([], 1)
