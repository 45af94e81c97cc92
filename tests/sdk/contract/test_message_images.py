"""Messages whose content has image parts."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.apis import (
    ImageContent,
    ImageMimeType,
    ImageRecord,
    MessageRecord,
    RecordStatus,
    TextContent,
)
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import DuplicateIdError, InvalidInputError
from oracleagentmemory.storage.writes import Prepared
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.images.pictures import plain
from tests.sdk.search.stores import Clock

PNG, WEBP = ImageMimeType.PNG, ImageMimeType.WEBP
DATA = plain() + bytes(range(256)) * 20
TWO, THREE = plain(shade=2), plain(shade=3)
NEW, NEWER = plain(WEBP, 4), plain(shade=5)


def part(image_id: str, description: str | None = "red car", data: bytes | None = DATA,
         mime_type: ImageMimeType = PNG, **more: Any) -> ImageContent:  # fmt: skip
    return ImageContent(data, mime_type, description, id=image_id, **more)


def add(store: SQLMemoryStore, message_id: str, *parts: Any, **fields: Any) -> None:
    if store.get("thread", "t1") is None:
        store.write(store.prepare_create_thread("t1", user_id="u1", agent_id="a1"))
    scope = {"thread_ids": "t1", "user_ids": "u1", "agent_ids": "a1"}
    store.add([list(parts)], "message", record_ids=message_id, roles="user",
              **{**scope, **fields})  # fmt: skip


def message(store: SQLMemoryStore, message_id: str, **fields: Any) -> MessageRecord:
    record = store.get("message", message_id, **fields)
    assert isinstance(record, MessageRecord)
    return record


def images(store: SQLMemoryStore) -> dict[str, Any]:
    return {row.record_id: row for row in rows_of(store, store.tables.document)}


@pytest.fixture
def talk(store: SQLMemoryStore) -> SQLMemoryStore:
    """A store with one message of a text and two images."""
    add(store, "m1", TextContent("look", id="x"), part("i1"), part("i2", "blue boat", TWO))
    return store


def test_images_are_stored_beside_their_message(talk: SQLMemoryStore) -> None:
    (row,) = rows_of(talk, talk.tables.message)
    assert row.content == [
        {"type": "text", "text": "look", "id": "x"},
        {"type": "image", "id": "i1"},
        {"type": "image", "id": "i2"},
    ]
    stored = images(talk)
    assert {one.message_id for one in stored.values()} == {"m1"}
    assert (stored["i1"].blob, stored["i1"].description) == (DATA, "red car")
    assert stored["i1"].document_metadata == {"mime_type": "image/png"}
    assert (stored["i1"].thread_id, stored["i1"].user_id, stored["i1"].agent_id) == (
        "t1", "u1", "a1",
    )  # fmt: skip
    chunks = {row.source_id: row for row in rows_of(talk, talk.tables.record_chunks)}
    assert (chunks["m1"].chunk_text, chunks["i2"].chunk_text) == ("look", "blue boat")
    assert chunks["i2"].source_record_type == "image"
    check_agreement(talk)


def test_a_message_is_read_with_bytes_only_on_request(talk: SQLMemoryStore) -> None:
    text = TextContent("look", id="x")
    lean = [text, part("i1", data=None), part("i2", "blue boat", None)]
    whole = [text, part("i1"), part("i2", "blue boat", TWO)]
    for read in (
        lambda **more: [message(talk, "m1", **more)],
        lambda **more: talk.list("message", limit=None, **more),
        lambda **more: talk.list_thread_messages("t1", **more),
        lambda **more: talk.thread_window("t1", 0, None, **more),
    ):
        assert [one.content for one in read()] == [lean]
        assert [one.content for one in read(include_bytes=True)] == [whole]
    (found, _), *_ = talk.search("look", 5, record_types={"message"})
    assert found.content == lean


def test_r036_messages_are_read_by_id_in_order_with_the_bytes_of_some_images(
    talk: SQLMemoryStore, clock: Clock
) -> None:
    add(talk, "m2", part("i3", None))
    talk.add(["plain", "gone"], "message", record_ids=["m3", "m4"], roles="user", ttl_days=[9, 1])
    clock.pass_days(2)

    read = talk.messages(["m3", "m4", "m1", "nobody", "m2"])
    assert [one.id for one in read] == ["m3", "m1", "m2"]
    assert [one.content for one in read][::2] == ["plain", [part("i3", None, None)]]
    first = talk.messages(["m1"], ["i2", "i3", "nothing"])[0].content
    assert [getattr(one, "bytes", "") for one in first] == ["", None, TWO]
    both = talk.messages(["m2", "m1", "m2"], include_image_bytes=True)
    assert [one.id for one in both] == ["m2", "m1", "m2"]
    assert both[0].content == [part("i3", None)]
    assert talk.messages([]) == talk.messages(["", "x" * 200]) == []


def test_an_image_of_a_message_is_an_image(talk: SQLMemoryStore) -> None:
    one = talk.get("image", "i1", include_bytes=True)
    assert isinstance(one, ImageRecord)
    assert (one.message_id, one.thread_id, one.content, one.bytes) == ("m1", "t1", "red car", DATA)
    assert [record.id for record in talk.list("image", limit=None, thread_id="t1")] == ["i1", "i2"]
    found = talk.search("blue boat", 9, record_types={"image"})
    assert found[0][0].id == "i2"


def test_r071_images_of_messages_are_deleted_and_expire_with_them(
    talk: SQLMemoryStore, clock: Clock
) -> None:
    before = everything(talk)
    with pytest.raises(InvalidInputError, match="attached to a message"):
        talk.delete("image", "i1")
    for days in (3, None):
        with pytest.raises(InvalidInputError, match="update the message"):
            talk.update("image", "i1", ttl_days=days)
    assert everything(talk) == before

    talk.update("message", "m1", ttl_days=3)
    assert talk.update("image", "i1", metadata={"a": 1}) == 1
    assert len({row.expires_at for row in images(talk).values()} - {None}) == 1
    check_agreement(talk)
    clock.pass_days(4)
    assert talk.get("image", "i1") is None
    assert talk.search("red car", 9) == []
    assert talk.purge_expired() == 3
    assert images(talk) == {}
    assert rows_of(talk, talk.tables.record_chunks) == []
    check_agreement(talk)


def test_images_of_an_expired_message_are_hidden_whoever_forgot_their_expiry(
    talk: SQLMemoryStore, clock: Clock
) -> None:
    talk.update("message", "m1", ttl_days=3)
    clock.pass_days(4)
    unset(talk)

    assert talk.get("image", "i1") is None
    assert talk.list("image", limit=None) == []
    assert talk.search("red car", 9) == []


def unset(store: SQLMemoryStore) -> None:
    """Take the expiry away from images, as a tool that does not know it would."""

    table = store.tables.document

    def change(transaction: Any) -> None:
        transaction.execute(sa.select(table).with_for_update())
        transaction.execute(sa.update(table).values(expires_at=None))

    store.write(Prepared(change))


def test_a_deleted_message_takes_its_images_along(talk: SQLMemoryStore) -> None:
    assert [record.id for record, _ in talk.search("red car", 1, user_id="u1",
                                                   exact_user_match=True)] == ["i1"]  # fmt: skip
    talk.delete("message", "m1")
    assert images(talk) == {}
    assert talk.search("red car", 9, user_id="u1", exact_user_match=True) == []
    assert talk.check().ok
    check_agreement(talk)


def test_images_share_status_and_life_of_their_message(store: SQLMemoryStore) -> None:
    add(store, "m1", part("i1"), ttl_days=5, statuses=RecordStatus.INVALID)
    (row,) = rows_of(store, store.tables.message)
    assert (images(store)["i1"].expires_at, images(store)["i1"].status) == (
        row.expires_at, "invalid",
    )  # fmt: skip
    assert store.search("red car", 9, include_invalid_results=False) == []
    store.update("message", "m1", status=RecordStatus.VALID)
    assert images(store)["i1"].status == "valid"
    assert len(store.search("red car", 9, include_invalid_results=False)) == 1
    check_agreement(store)


def test_new_content_keeps_adds_and_removes_images(talk: SQLMemoryStore) -> None:
    number = images(talk)["i2"].order_seq
    parts = [part("i3", "green tree", THREE), part("i2", None, None), TextContent("new", id="y")]
    assert talk.update("message", "m1", content=parts) == 1

    assert message(talk, "m1", include_bytes=True).content == [
        part("i3", "green tree", THREE), part("i2", "blue boat", TWO), TextContent("new", id="y"),
    ]  # fmt: skip
    assert images(talk).keys() == {"i2", "i3"}
    assert images(talk)["i2"].order_seq == number
    assert (images(talk)["i3"].message_id, images(talk)["i3"].user_id) == ("m1", "u1")
    texts = {row.source_id: row.chunk_text for row in rows_of(talk, talk.tables.record_chunks)}
    assert texts == {"m1": "new", "i2": "blue boat", "i3": "green tree"}
    check_agreement(talk)
    assert talk.check().ok
    talk.update("message", "m1", content="only text")
    assert images(talk) == {}
    assert message(talk, "m1").content == "only text"
    check_agreement(talk)


def test_an_attached_part_can_change_its_bytes_or_its_description(talk: SQLMemoryStore) -> None:
    parts = [part("i1", "sea", None), part("i2", "sky", NEW, WEBP, timestamp="2025-01-01")]
    talk.update("message", "m1", content=parts, ttl_days=4)
    read = message(talk, "m1", include_bytes=True).content
    assert read == [part("i1", "sea"), part("i2", "sky", NEW, WEBP, timestamp="2025-01-01")]
    texts = {row.source_id: row.chunk_text for row in rows_of(talk, talk.tables.record_chunks)}
    assert texts == {"i1": "sea", "i2": "sky"}
    # New bytes without a description have none until somebody describes them.
    talk.update("message", "m1", content=[part("i2", None, NEWER)])
    (newer,) = message(talk, "m1", include_bytes=True).content
    assert newer == part("i2", None, NEWER, timestamp="2025-01-01")
    assert talk.update("image", "i2", index_text="green tree") == 1
    described = part("i2", "green tree", None, timestamp="2025-01-01")
    assert message(talk, "m1").content == [described]
    check_agreement(talk)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ([part("i9", data=None)], "i9.*not attached"),
        ([part("i1"), part("i1")], "'i1' twice"),
        ([part("i1", data=b"")], "i1.*not 0"),
        ([part("i1"), part("i9", data=b"junk")], "'i9' cannot be stored"),
        ([], "at least one part"),
    ],
)
def test_content_that_cannot_be_stored_changes_nothing(
    talk: SQLMemoryStore, content: list[Any], named: str
) -> None:
    before = everything(talk)
    with pytest.raises(InvalidInputError, match=named):
        talk.update("message", "m1", content=content)
    assert everything(talk) == before


def test_a_part_needs_bytes_and_an_id_of_its_own(talk: SQLMemoryStore) -> None:
    before = everything(talk)
    with pytest.raises(InvalidInputError, match=r"i7.*bytes"):
        add(talk, "m7", part("i7", data=None))
    with pytest.raises(InvalidInputError, match="'i7' twice"):
        add(talk, "m7", part("i7"), part("i7"))
    with pytest.raises(DuplicateIdError, match="'i1'"):
        add(talk, "m7", part("i1"))
    with pytest.raises(DuplicateIdError, match="'i1'"):
        talk.add([DATA], "image", record_ids="i1", user_ids="u1",
                 metadata={"image_mime_type": "image/png"})  # fmt: skip
    assert everything(talk) == before
    add(talk, "m2", TextContent("two"))
    with pytest.raises(DuplicateIdError, match="'i1'"):
        talk.update("message", "m2", content=[part("i1")])


def test_many_messages_with_images_are_stored_in_small_batches(store: SQLMemoryStore) -> None:
    store.write(store.prepare_create_thread("t1", user_id=None, agent_id=None))
    contents = [[part(f"i{n}a", f"car {n}"), part(f"i{n}b", None)] for n in range(5)]
    ids = [f"m{n}" for n in range(5)]
    added = store.add(contents, "message", record_ids=ids, roles="user", thread_ids="t1",
                      batch_size=2)  # fmt: skip
    assert added == ids
    read = store.list_thread_messages("t1", include_bytes=True)
    assert [one.content for one in read] == contents
    check_agreement(store)


def test_a_dump_keeps_messages_and_their_images_together(talk: SQLMemoryStore) -> None:
    whole = message(talk, "m1", include_bytes=True).content
    with talk.dump() as stream:
        lines = list(stream)
    talk.delete_thread("t1")
    assert images(talk) == {}
    talk.restore(lines)
    assert message(talk, "m1", include_bytes=True).content == whole
    new = talk.restore(lines, ids="new").new_ids
    copy = message(talk, new["message"]["m1"], include_bytes=True).content
    assert [one.id for one in copy[1:]] == [new["image"]["i1"], new["image"]["i2"]]  # type: ignore[union-attr]
    assert [one.bytes for one in copy[1:]] == [DATA, TWO]  # type: ignore[union-attr]
    assert talk.check().ok
    check_agreement(talk, with_changes=False)
