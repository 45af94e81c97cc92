"""Pages, counts and days of images, and messages with their image parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.apis import ImageContent, ImageMimeType, RecordStatus, TextContent
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.inspection import StoreInspector
from tests.sdk.images.pictures import plain

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DATA = plain() + b"kept as it is"
FORMAT = {"image_mime_type": "image/png"}


@pytest.fixture
def inspector(store: SQLMemoryStore) -> StoreInspector:
    """Four images: of a message, of two users, and one that has expired."""
    store.engine.clock = lambda: NOON
    store.write(store.prepare_create_thread("t1", user_id="ada", agent_id="scout"))
    part = ImageContent(DATA, ImageMimeType.PNG, "a red car", id="i1")
    store.add([[TextContent("look", id="x"), part]], "message", record_ids="m1", roles="user",
              thread_ids="t1", user_ids="ada", agent_ids="scout")  # fmt: skip
    store.add([DATA] * 3, "image", record_ids=["i2", "i3", "i4"], user_ids=["ada", "bob", "bob"],
              index_texts=["a blue boat", "a red boat", "gone"], ttl_days=[None, None, 1],
              statuses=[RecordStatus.VALID, RecordStatus.INVALID, RecordStatus.VALID],
              timestamps=["2026-02-27T10:00:00Z", None, None],
              metadata=[{**FORMAT, "k": 1}, FORMAT, FORMAT])  # fmt: skip
    store.engine.clock = lambda: NOON + timedelta(days=2)
    return StoreInspector(store)


def sent_by(store: SQLMemoryStore) -> list[str]:
    """Return the list that the statements sent from now on are put into."""
    sent: list[str] = []
    sa.event.listen(
        store.engine.engine, "before_cursor_execute", lambda *call: sent.append(call[2])
    )
    return sent


def ids(inspector: StoreInspector, **filters: Any) -> list[str]:
    return [row.id for row in inspector.page("image", **filters).rows]


def test_a_row_tells_all_of_an_image_but_its_bytes(inspector: StoreInspector) -> None:
    store = inspector._store
    sent = sent_by(store)
    row = inspector.record("image", "i1")
    assert row is not None
    assert row.record == store.get("image", "i1")
    assert getattr(row.record, "bytes", b"") is None
    assert (row.byte_count, row.version, row.created_at) == (len(DATA), 1, NOON)
    assert row.fingerprint == store.fingerprint("image", "i1") == row.noted_fingerprint
    assert not row.is_changed_outside
    # A statement may count the bytes and nothing else.
    named = [sql.upper() for sql in sent if "BLOB" in sql.upper()]
    assert named
    for sql in named:
        assert sql.count("BLOB") == sql.count("LENGTH(") == 1
    store.update("image", "i1", index_text="a car", if_fingerprint=row.fingerprint)
    changed = inspector.record("image", "i1")
    assert changed is not None
    assert (changed.version, changed.byte_count) == (2, len(DATA))
    assert changed.fingerprint == store.fingerprint("image", "i1") != row.fingerprint


def test_pages_and_counts_follow_the_filters(inspector: StoreInspector) -> None:
    assert ids(inspector) == ["i3", "i2", "i1"]
    assert ids(inspector, user_ids=["ada"]) == ["i2", "i1"]
    assert ids(inspector, user_ids=["ada", "bob"], status="invalid") == ["i3"]
    assert ids(inspector, thread_id="t1") == ids(inspector, agent_id="scout") == ["i1"]
    assert ids(inspector, text="red") == ["i3", "i1"]
    assert ids(inspector, text="red", user_id="ada") == ["i1"]
    assert ids(inspector, metadata_filter={"k": 1}) == ids(inspector, until=NOON) == ["i2"]
    assert ids(inspector, ids=["i4", "i3"]) == ["i3"]
    assert inspector.record("image", "i3", user_ids=["ada"]) is None
    assert inspector.count("image").value == 3
    assert inspector.count("image", user_ids=["ada"], text="boat").value == 1
    first = inspector.page("image", limit=2)
    assert [row.id for row in first.rows] == ["i3", "i2"]
    second = inspector.page("image", before=first.older)
    assert ([row.id for row in second.rows], second.older) == (["i1"], None)
    assert [row.id for row in inspector.page("image", after=second.newer).rows] == ["i3", "i2"]
    with pytest.raises(ValueError, match="memory_types"):
        inspector.page("image", memory_types="fact")


def test_facets_and_days_count_images(inspector: StoreInspector) -> None:
    values = inspector.facets("image").values
    counts = {name: {one.value: one.count for one in some} for name, some in values.items()}
    assert counts == {
        "status": {"valid": 2, "invalid": 1},
        "user_id": {"ada": 2, "bob": 1},
        "agent_id": {None: 2, "scout": 1},
    }
    days = inspector.by_day("image", since=datetime(2026, 2, 27, tzinfo=UTC), until=NOON, tz=UTC)
    assert [day.count for day in days] == [1, 0, 2]


def test_a_message_shows_its_images_without_bytes(inspector: StoreInspector) -> None:
    (row,) = inspector.page("message").rows
    lean = ImageContent(None, ImageMimeType.PNG, "a red car", id="i1")
    assert row.record.content == [TextContent("look", id="x"), lean]
    assert row.record == inspector._store.get("message", "m1")
    assert row.byte_count is None
    assert row.fingerprint == inspector._store.fingerprint("message", "m1")


def test_images_of_an_expired_message_are_gone(inspector: StoreInspector) -> None:
    store = inspector._store
    table = store.tables.message
    with store.engine.write() as transaction:
        transaction.execute(sa.select(table).with_for_update(), {})
        transaction.execute(sa.update(table).values(expires_at=NOON), {})
    assert ids(inspector) == ["i3", "i2"]
    assert inspector.record("image", "i1") is None


def test_images_that_something_else_wrote_are_found(inspector: StoreInspector) -> None:
    store = inspector._store
    table, state = store.tables.document, store.extras.record_state
    assert inspector.changed_outside("image").rows == []
    with store.engine.write() as transaction:
        transaction.execute(sa.select(table).with_for_update(), {})
        second = table.c.record_id == "i2"
        transaction.execute(sa.update(table).where(second).values(blob=DATA + b"!"), {})
        transaction.execute(sa.delete(state).where(state.c.record_id == "i3"), {})
    page = inspector.changed_outside("image")
    assert [row.id for row in page.rows] == ["i3", "i2"]
    assert page.rows[1].byte_count == len(DATA) + 1
    for row in page.rows:
        assert row.fingerprint == store.fingerprint("image", row.id)
        assert store.update("image", row.id, metadata={}, if_fingerprint=row.fingerprint) == 1
    assert inspector.changed_outside("image").rows == []
