"""Images of users, agents and threads in a store."""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.apis import ImageMimeType, ImageRecord, RecordStatus
from oracleagentmemory.core.dbsearch import SearchStrategy
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import ConflictError, InvalidInputError, NotFoundError
from oracleagentmemory.storage.store.images import MOST_IMAGE_BYTES
from oracleagentmemory.storage.writes import Prepared
from tests.sdk.contract.conftest import MakeStore
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.images.pictures import moving, plain
from tests.sdk.search.stores import DIMENSION, Clock, WordEmbedder

# Bytes after the end of a picture are kept as they are.
DATA = plain() + bytes(range(256)) * 40
NEW, NEWER, OTHER = plain(ImageMimeType.WEBP, 1), plain(shade=2), plain(shade=3)
PNG, WEBP = {"image_mime_type": "image/png"}, {"image_mime_type": "image/webp"}


def add(store: SQLMemoryStore, *ids: str, data: bytes = DATA, **fields: Any) -> None:
    fields = {"index_texts": ["red car"] * len(ids), "user_ids": "u1", "metadata": PNG, **fields}
    store.add([data] * len(ids), "image", record_ids=list(ids), **fields)


def add_thread(store: SQLMemoryStore, user_id: str | None = None) -> None:
    store.write(store.prepare_create_thread("t1", user_id=user_id, agent_id=None))


def found(store: SQLMemoryStore, query: str, **fields: Any) -> list[str]:
    return [record.id for record, _ in store.search(query, 10, **fields)]


def image(store: SQLMemoryStore, record_id: str, **fields: Any) -> ImageRecord:
    record = store.get("image", record_id, **fields)
    assert isinstance(record, ImageRecord)
    return record


def test_an_image_is_stored_as_the_reference_does(store: SQLMemoryStore) -> None:
    add_thread(store, "u1")
    add(store, "i1", thread_ids="t1", agent_ids="a1", metadata={**PNG, "a": 1},
        timestamps="2025-05-01")  # fmt: skip

    (row,) = rows_of(store, store.tables.document)
    assert row.document_type == "image"
    assert row.document_metadata == {"mime_type": "image/png"}
    assert (row.blob, row.description) == (DATA, "red car")
    assert (row.message_id, row.thread_id, row.user_id, row.agent_id) == (None, "t1", "u1", "a1")
    (chunk,) = rows_of(store, store.tables.record_chunks)
    assert (chunk.source_record_type, chunk.source_emb_column) == ("image", "description")
    assert (chunk.source_id, chunk.chunk_text, chunk.user_id) == ("i1", "red car", "u1")
    check_agreement(store)


def test_r072_r073_a_record_shows_no_format_in_its_metadata_and_bytes_on_request(
    store: SQLMemoryStore,
) -> None:
    add(store, "i1", metadata={**PNG, "a": 1}, timestamps="2025-05-01")
    add(store, "i2")

    assert image(store, "i1") == ImageRecord(
        "i1", content="red car", timestamp="2025-05-01", metadata={"a": 1}, user_id="u1",
        mime_type=ImageMimeType.PNG,
    )  # fmt: skip
    assert image(store, "i1", include_bytes=True).bytes == DATA
    assert image(store, "i2").metadata is None
    listed = store.list("image", limit=None)
    assert [(one.id, getattr(one, "bytes", "")) for one in listed] == [("i1", None), ("i2", None)]


def test_r065_an_image_needs_an_owner(store: SQLMemoryStore) -> None:
    with pytest.raises(InvalidInputError, match="owner"):
        add(store, "i1", user_ids=None)
    with pytest.raises(NotFoundError, match="'t9'"):
        add(store, "i1", user_ids=None, thread_ids="t9")
    add_thread(store)
    add(store, "i1", user_ids=None, thread_ids="t1")
    add(store, "i2", user_ids=None, agent_ids="a1")
    assert [one.id for one in store.list("image", limit=None)] == ["i1", "i2"]


@pytest.mark.parametrize(
    ("fields", "error", "named"),
    [
        ({"contents": ["text"]}, TypeError, "as bytes, not str"),
        ({"contents": [None]}, ValueError, "bytes of the image"),
        ({"contents": [b""]}, ValueError, "not 0"),
        ({"contents": [bytes(MOST_IMAGE_BYTES + 1)]}, ValueError, str(MOST_IMAGE_BYTES)),
        ({"contents": [b"junk"]}, ValueError, "cannot be stored.*neither PNG, JPEG nor WebP"),
        ({"contents": [NEW]}, ValueError, "image/webp, not image/png"),
        ({"contents": [moving("PNG")]}, ValueError, "animated"),
        ({"contents": [DATA[:40]]}, ValueError, "damaged"),
        ({"metadata": None}, ValueError, "image_mime_type"),
        ({"metadata": {"a": 1}}, ValueError, "image/png, image/jpeg, image/webp"),
        ({"metadata": {"image_mime_type": "image/gif"}}, ValueError, "image/gif"),
        ({"metadata": {"image_mime_type": ["image/png"]}}, ValueError, "image/png"),
        ({"index_texts": [5]}, TypeError, "index text"),
        ({"roles": "user"}, ValueError, "roles"),
    ],
)
def test_what_is_no_image_is_refused(
    store: SQLMemoryStore, fields: dict[str, Any], error: type[Exception], named: str
) -> None:
    given = {"contents": [DATA], "index_texts": ["x"], "metadata": PNG, **fields}
    with pytest.raises(error, match=named):
        store.add(record_type="image", user_ids="u1", **given)
    assert rows_of(store, store.tables.document) == []


def test_r072_bytes_are_listed_for_one_image_of_a_named_owner(store: SQLMemoryStore) -> None:
    add(store, "i1", "i2", agent_ids="a1")
    for given in ({"user_id": "u1"}, {"record_id": "i1"}, {"record_id": "i1", "user_id": None}):
        with pytest.raises(ValueError, match="record_id"):
            store.list("image", limit=1, include_bytes=True, **given)
    for scope in ({"user_id": "u1"}, {"agent_id": "a1", "thread_id": None}):
        (one,) = store.list("image", record_id="i2", include_bytes=True, **scope)
        assert (one.id, getattr(one, "bytes", None)) == ("i2", DATA)
    assert store.list("image", record_id="i2", include_bytes=True, user_id="u2") == []


def test_r078_the_id_selects_before_the_limit(store: SQLMemoryStore) -> None:
    add(store, "i1", "i2", "i3")
    assert [one.id for one in store.list("image", limit=1)] == ["i3"]
    assert [one.id for one in store.list("image", limit=1, record_id="i1")] == ["i1"]


@pytest.mark.parametrize("strategy", list(SearchStrategy))
def test_r074_an_image_is_found_by_its_description(
    make_store: MakeStore, strategy: SearchStrategy
) -> None:
    store = make_store(embedder=WordEmbedder(), search_strategy=strategy)
    add(store, "i1", "i2", index_texts=["red car", "blue boat"], metadata={**PNG, "a": 1})
    store.add(["red car"], "memory", record_ids="m1", user_ids="u1")

    (record, _), *_ = store.search("boat", 5, user_id="u1", exact_user_match=True)
    assert isinstance(record, ImageRecord)
    assert (record.id, record.content, record.bytes) == ("i2", "blue boat", None)
    assert set(found(store, "red car", record_types={"image"})) >= {"i1"}
    assert "m1" not in found(store, "red car", record_types={"image"})
    assert "i1" in found(store, "red car", metadata_filter={"a": 1})
    assert found(store, "red car", user_id="u2", exact_user_match=True) == []

    assert store.update("image", "i2", index_text="green tree") == 1
    assert image(store, "i2").content == "green tree"
    assert found(store, "green tree")[0] == "i2"
    texts = [row.chunk_text for row in rows_of(store, store.tables.record_chunks)]
    assert sorted(texts) == ["green tree", "red car", "red car"]
    check_agreement(store)


def test_r070_bytes_and_format_are_replaced_together(store: SQLMemoryStore) -> None:
    add(store, "i1", metadata={**PNG, "a": 1})

    refused: list[dict[str, Any]] = [
        {"content": NEW},
        {"content": NEW, "metadata": {"b": 2}},
        {"metadata": WEBP},
        {"content": None, "metadata": WEBP},
        {"content": DATA, "metadata": WEBP},
        {"content": b"junk", "metadata": PNG},
    ]
    for given in refused:
        with pytest.raises(ValueError, match=r"image_mime_type|None|cannot be stored"):
            store.update("image", "i1", **given)
    assert image(store, "i1", include_bytes=True).bytes == DATA

    assert store.update("image", "i1", content=NEW, metadata=WEBP) == 1
    new = image(store, "i1", include_bytes=True)
    assert (new.bytes, new.mime_type, new.content) == (NEW, ImageMimeType.WEBP, "red car")
    assert new.metadata == {"a": 1}
    store.update("image", "i1", content=NEWER, metadata={**PNG, "b": 2}, index_text="blue boat")
    newer = image(store, "i1", include_bytes=True)
    assert (newer.bytes, newer.mime_type) == (NEWER, ImageMimeType.PNG)
    assert (newer.metadata, newer.content) == ({"b": 2}, "blue boat")
    check_agreement(store)


def test_fields_that_an_update_omits_stay(store: SQLMemoryStore, clock: Clock) -> None:
    add(store, "i1")
    store.update("image", "i1", metadata={"k": 1}, timestamp="2024-01-01", ttl_days=3)
    store.update("image", "i1", status=RecordStatus.INVALID)
    one = image(store, "i1", include_bytes=True)
    assert (one.metadata, one.timestamp, one.bytes) == ({"k": 1}, "2024-01-01", DATA)
    assert (one.content, one.status) == ("red car", RecordStatus.INVALID)
    assert found(store, "red car", include_invalid_results=False) == []
    store.update("image", "i1", index_text=None)
    assert image(store, "i1").content == ""
    assert rows_of(store, store.tables.record_chunks) == []
    with pytest.raises(ValueError, match="nothing to update"):
        store.update("image", "i1")
    assert store.update("image", "nobody", index_text="x") == 0
    check_agreement(store)
    clock.pass_days(4)
    assert store.get("image", "i1") is None


def test_a_fingerprint_covers_the_bytes(store: SQLMemoryStore) -> None:
    add(store, "i1", data=NEWER)
    seen = store.fingerprint("image", "i1")
    assert len(OTHER) == len(NEWER)
    store.update("image", "i1", content=OTHER, metadata=PNG)
    with pytest.raises(ConflictError):
        store.update("image", "i1", index_text="x", if_fingerprint=seen)
    with pytest.raises(ConflictError):
        store.delete("image", "i1", if_fingerprint=seen)
    now = store.fingerprint("image", "i1")
    assert store.delete("image", "i1", if_fingerprint=now) == 1
    assert store.delete("image", "i1") == 0
    assert rows_of(store, store.tables.record_chunks) == []
    check_agreement(store)


def test_images_expire_and_are_purged(store: SQLMemoryStore, clock: Clock) -> None:
    add(store, "i1", "i2", ttl_days=[1, None])
    assert set(found(store, "red car")) == {"i1", "i2"}
    clock.pass_days(2)
    assert found(store, "red car") == ["i2"]
    assert store.get("image", "i1", include_bytes=True) is None
    assert [one.id for one in store.list("image", limit=None)] == ["i2"]
    assert store.count_expired() == 1
    assert store.purge_expired() == 1
    assert [row.record_id for row in rows_of(store, store.tables.document)] == ["i2"]
    check_agreement(store)


def test_images_go_with_their_thread_or_owner(store: SQLMemoryStore) -> None:
    add_thread(store, "u2")
    add(store, "i1", thread_ids="t1")
    add(store, "i2")
    add(store, "i3", user_ids="u2")
    store.delete_thread("t1")
    assert [one.id for one in store.list("image", limit=None)] == ["i2", "i3"]
    store.add_user("u2", "")
    store.delete("user_profile", "u2")
    assert len(store.list("image", limit=None)) == 2
    store.delete("user_profile", "u2", cascade=True)
    assert [one.id for one in store.list("image", limit=None)] == ["i2"]
    assert found(store, "red car") == ["i2"]


def test_vectors_of_ones_own_are_kept(store: SQLMemoryStore) -> None:
    vector = [1.0] + [0.0] * (DIMENSION - 1)
    add(store, "i1", "i2", embeddings=[vector, None])
    found = store.search(None, 1, query_vector=vector)
    assert [record.id for record, _ in found] == ["i1"]
    add(store, "i3", index_texts=[["sky", "tree"]])
    assert image(store, "i3").content == "sky\ntree"


def test_what_changed_outside_and_what_lost_its_state_is_found(store: SQLMemoryStore) -> None:
    add(store, "i1", "i2")
    table, state = store.tables.document, store.extras.record_state

    def damage(transaction: Any) -> None:
        transaction.execute(sa.select(table).with_for_update())
        first = table.c.record_id == "i1"
        transaction.execute(sa.update(table).where(first).values(blob=b"swapped"))
        transaction.execute(sa.delete(state).where(state.c.record_id == "i2"))

    store.write(Prepared(damage))
    report = store.check()
    assert {one.code: one.examples for one in report.findings} == {
        "changed_outside": ("image i1",), "missing_states": ("image i2",),
    }  # fmt: skip
    store.repair(report)
    assert store.check().ok


def test_a_dump_brings_the_bytes_back(store: SQLMemoryStore) -> None:
    add(store, "i1", data=NEW, metadata={**WEBP, "a": 1})
    with store.dump() as stream:
        lines = list(stream)
    store.delete("image", "i1")
    store.restore(lines)
    one = image(store, "i1", include_bytes=True)
    assert (one.bytes, one.mime_type, one.metadata) == (NEW, ImageMimeType.WEBP, {"a": 1})
    assert found(store, "red car") == ["i1"]
    report = store.restore(lines, ids="new")
    assert len(report.new_ids["image"]) == 1
    assert store.check().ok


def test_a_dump_with_other_bytes_than_those_dumped_is_refused(store: SQLMemoryStore) -> None:
    add(store, "i1", data=NEWER)
    with store.dump() as stream:
        lines = list(stream)
    store.delete("image", "i1")
    before = everything(store)
    swapped = [line.replace(b64encode(NEWER), b64encode(OTHER)) for line in lines]
    assert swapped != lines
    with pytest.raises(InvalidInputError, match="line 3 of the dump: image 'i1' has other bytes"):
        store.restore(swapped)
    assert everything(store) == before
    store.restore(lines)
    assert image(store, "i1", include_bytes=True).bytes == NEWER


def test_bytes_changed_outside_stay_known_as_such_through_a_dump(store: SQLMemoryStore) -> None:
    add(store, "i1", data=NEWER)
    table = store.tables.document

    def swap(transaction: Any) -> None:
        transaction.execute(sa.select(table).with_for_update())
        transaction.execute(sa.update(table).values(blob=OTHER + b"longer"))

    store.write(Prepared(swap))
    with store.dump() as stream:
        lines = list(stream)
    store.delete("image", "i1")
    store.restore(lines)
    assert image(store, "i1", include_bytes=True).bytes == OTHER + b"longer"
    report = store.check()
    assert [(one.code, one.examples) for one in report.findings] == [
        ("changed_outside", ("image i1",))
    ]
    store.repair(report)
    assert store.check().ok
    check_agreement(store)


def test_an_expired_image_cannot_be_changed_by_those_who_do_not_see_it(
    store: SQLMemoryStore, clock: Clock
) -> None:
    add(store, "i1", ttl_days=1)
    clock.now += timedelta(days=2)
    seen = store.prepare_update("image", "i1", index_text="x", visible_only=True)
    assert store.write(seen) == 0
    assert store.update("image", "i1", ttl_days=9) == 1
    assert image(store, "i1").content == "red car"
