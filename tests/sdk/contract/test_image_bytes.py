"""Bytes of images are read when somebody asks for them, and never else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.apis import ImageContent, ImageMimeType, RecordStatus
from oracleagentmemory.apis.upkeep import DumpScope
from oracleagentmemory.core.dbsearch import SearchStrategy
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.storage.writes import Prepared
from tests.sdk.contract.conftest import MakeStore
from tests.sdk.contract.snapshots import check_agreement, rows_of
from tests.sdk.images.pictures import plain
from tests.sdk.search.stores import WordEmbedder

DATA = plain() + bytes(2000)
FORMAT = {"image_mime_type": "image/png"}
_COUNTED = re.compile(r"(?:DBMS_LOB\.GET)?LENGTH\([^)]*\)", re.IGNORECASE)


def fill(store: SQLMemoryStore) -> None:
    """Write an image of a message, and one of a user."""
    store.write(store.prepare_create_thread("t1", user_id="u1", agent_id=None))
    part = ImageContent(DATA, ImageMimeType.PNG, "red car", id="i1")
    store.add([[part]], "message", record_ids="m1", thread_ids="t1", user_ids="u1", roles="user")
    store.add([DATA], "image", record_ids="i2", user_ids="u1", index_texts=["blue boat"],
              metadata=FORMAT)  # fmt: skip


@contextmanager
def reads_of_bytes(store: SQLMemoryStore) -> Iterator[list[str]]:
    """Collect the queries that answer with bytes; those that count them do not."""
    reads: list[str] = []

    def note(*call: Any) -> None:
        sql = str(call[2])
        if sql.lstrip().upper().startswith("SELECT") and re.search(
            r"\bblob\b", _COUNTED.sub("", sql), re.IGNORECASE
        ):
            reads.append(sql)

    sa.event.listen(store.engine.engine, "before_cursor_execute", note)
    yield reads
    sa.event.remove(store.engine.engine, "before_cursor_execute", note)


Act = Callable[[SQLMemoryStore], Any]
WITHOUT_BYTES: dict[str, Act] = {
    "get": lambda store: [store.get("image", "i1"), store.get("message", "m1")],
    "list": lambda store: [store.list(one, limit=9) for one in ("image", "message")],
    "messages": lambda store: store.messages(["m1"]),
    "messages with bytes of others": lambda store: store.messages(["m1"], ["i2", "nothing"]),
    "thread": lambda store: [store.list_thread_messages("t1"), store.thread_window("t1", 0, 9)],
    "search": lambda store: store.search("red car", 9),
    "search of a user": lambda store: store.search("car", 9, user_id="u1", exact_user_match=True),
    "fingerprint": lambda store: store.fingerprint("image", "i1"),
    "update": lambda store: store.update(
        "image", "i2", index_text="x", metadata={"a": 1}, status=RecordStatus.INVALID,
        if_fingerprint=store.fingerprint("image", "i2"),
    ),
    "other bytes": lambda store: store.update("image", "i2", content=DATA, metadata=FORMAT),
    "life of a message": lambda store: store.update(
        "message", "m1", ttl_days=3, status=RecordStatus.INVALID
    ),
    "content of a message": lambda store: store.update(
        "message", "m1",
        content=[ImageContent(None, ImageMimeType.PNG, "a car", id="i1"),
                 ImageContent(DATA, ImageMimeType.PNG, id="i3")],
    ),
    "text instead of an image": lambda store: store.update("message", "m1", content="x"),
    "delete": lambda store: store.delete(
        "image", "i2", if_fingerprint=store.fingerprint("image", "i2")
    ),
    "delete a thread": lambda store: store.delete_thread("t1"),
    "purge": lambda store: store.purge_expired(),
    "states": lambda store: (_lose_states(store), store.fill_extras()),
}  # fmt: skip


def _lose_states(store: SQLMemoryStore) -> None:
    state = store.extras.record_state
    store.write(Prepared(lambda transaction: transaction.execute(sa.delete(state))))


@pytest.mark.parametrize("strategy", [SearchStrategy.HYBRID, SearchStrategy.KEYWORD])
@pytest.mark.parametrize("name", WITHOUT_BYTES)
def test_r072_bytes_are_not_read_unless_asked_for(
    make_store: MakeStore, name: str, strategy: SearchStrategy
) -> None:
    store = make_store(embedder=WordEmbedder(), search_strategy=strategy)
    fill(store)
    with reads_of_bytes(store) as reads:
        assert WITHOUT_BYTES[name](store) is not None
    assert reads == []
    check_agreement(store, with_changes=name != "states")


@pytest.mark.parametrize(
    "read",
    [
        lambda store: store.get("image", "i1", include_bytes=True).bytes,
        lambda store: store.list("image", record_id="i1", user_id="u1", limit=1,
                                 include_bytes=True)[0].bytes,
        lambda store: store.get("message", "m1", include_bytes=True).content[0].bytes,
        lambda store: store.messages(["m1"], ["i1"])[0].content[0].bytes,
        lambda store: store.list_thread_messages("t1", include_bytes=True)[0].content[0].bytes,
    ],
)  # fmt: skip
def test_bytes_that_are_asked_for_are_read_once(store: SQLMemoryStore, read: Act) -> None:
    fill(store)
    with reads_of_bytes(store) as reads:
        assert read(store) == DATA
    assert len(reads) == 1


def test_a_dump_and_a_check_read_images_one_by_one(store: SQLMemoryStore) -> None:
    fill(store)
    with reads_of_bytes(store) as reads, store.dump() as whole:
        assert len(reads) == 2
        del reads[:]
        assert store.check().ok
        assert len(reads) == 2
        del reads[:]
        store.dump(DumpScope(record_ids=["i2"])).close()
        assert len(reads) == 1
        lines = list(whole)
    store.delete_thread("t1")
    store.delete("image", "i2")
    store.restore(lines)
    assert {row.blob for row in rows_of(store, store.tables.document)} == {DATA}
    check_agreement(store)


def test_an_image_of_another_sdk_has_a_fingerprint_by_its_size(store: SQLMemoryStore) -> None:
    fill(store)
    _lose_states(store)
    before = store.fingerprint("image", "i2")
    store.fill_extras()
    assert store.fingerprint("image", "i2") == before
    assert store.check().ok
    assert store.update("image", "i2", metadata={"a": 1}, if_fingerprint=before) == 1
    # Once our SDK writes bytes, it knows them.
    of_size = store.fingerprint("image", "i2")
    assert store.update("image", "i2", content=DATA, metadata=FORMAT) == 1
    assert store.fingerprint("image", "i2") != of_size
    assert store.check().ok
