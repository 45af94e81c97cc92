"""Changing, deleting and listing images through clients and threads."""

from __future__ import annotations

from typing import Any

import pytest

from oracleagentmemory.apis import ImageMimeType
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.errors import ConflictError, ModelError
from oracleagentmemory.storage.writes import prepared_value
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.images.conftest import OpenClient
from tests.sdk.images.pictures import picture
from tests.sdk.images.test_adding import chunk_texts, image, row_of
from tests.sdk.search.stores import Clock

PNG, JPEG, WEBP = ImageMimeType.PNG, ImageMimeType.JPEG, ImageMimeType.WEBP
DATA, NEW = picture("PNG"), picture("WEBP")


@pytest.fixture
def both(client: OracleAgentMemory, thread: OracleThread) -> dict[str, Any]:
    """Client and thread; the thread has an image."""
    thread.add_image(DATA, description="red car", image_id="i1", metadata={"a": 1}, ttl_days=9,
                     timestamp="2025-05-01")  # fmt: skip
    return {"client": client, "thread": thread}


def sent(server: ScriptedModelServer, number: int = -1) -> str:
    """The image that a request shows to the model."""
    url: str = server.requests[number].body["messages"][0]["content"][1]["image_url"]["url"]
    return url.partition(";")[0]


@pytest.mark.parametrize("owner", ["client", "thread"])
def test_omitted_fields_stay_and_given_ones_are_replaced(
    both: dict[str, Any], store: SQLMemoryStore, server: ScriptedModelServer, owner: str
) -> None:
    before = row_of(store, "i1")
    update = both[owner].update_image
    assert update("i1", description="blue boat") == "i1"
    row = row_of(store, "i1")
    assert (row.description, row.blob, row.metadata) == ("blue boat", DATA, {"a": 1})
    assert (row.timestamp, row.expires_at) == (before.timestamp, before.expires_at)
    assert chunk_texts(store) == {"i1": "blue boat"}

    update("i1", metadata={"b": 2}, timestamp=None, ttl_days=None)
    row = row_of(store, "i1")
    assert (row.metadata, row.timestamp, row.expires_at) == ({"b": 2}, None, None)
    update("i1", metadata=None, description="")
    assert (row_of(store, "i1").metadata, image(store, "i1").content) == (None, "")
    assert chunk_texts(store) == {}
    assert server.requests == []
    check_agreement(store)


@pytest.mark.parametrize("owner", ["client", "thread"])
def test_r070_bytes_and_format_are_changed_together(
    both: dict[str, Any], store: SQLMemoryStore, server: ScriptedModelServer, owner: str
) -> None:
    update = both[owner].update_image
    before = everything(store)
    for given in ({"image": NEW}, {"mime_type": WEBP}, {"image": NEW, "mime_type": JPEG},
                  {"image": b"junk", "mime_type": PNG}, {"image": None, "mime_type": PNG},
                  {"image": NEW, "mime_type": "image/webp"}, {"image": NEW, "mime_type": None},
                  ):  # fmt: skip
        for description in ({}, {"description": None}):
            with pytest.raises(ValueError, match=r"image|mime_type"):
                update("i1", **given, **description)
    assert everything(store) == before
    assert server.requests == []

    update("i1", image=NEW, mime_type=WEBP)
    row = row_of(store, "i1")
    assert (row.blob, row.document_metadata) == (NEW, {"mime_type": "image/webp"})
    assert (row.description, row.metadata) == ("red car", {"a": 1})
    check_agreement(store)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({}, {"a": 1}),
        ({"metadata": {"b": 2}}, {"b": 2}),
        ({"metadata": {"b": 2, "image_mime_type": "image/webp"}}, {"b": 2}),
        ({"metadata": None}, None),
        ({"metadata": {}}, None),
    ],
)
def test_r073_new_bytes_leave_replace_or_clear_metadata(
    both: dict[str, Any], store: SQLMemoryStore, given: Any, stored: Any
) -> None:
    both["thread"].update_image("i1", image=NEW, mime_type=WEBP, **given)
    (record,) = both["thread"].list_images(image_id="i1", include_bytes=True)
    assert (record.metadata, record.bytes, record.mime_type) == (stored, NEW, WEBP)
    assert row_of(store, "i1").metadata == stored
    check_agreement(store)


@pytest.mark.parametrize("owner", ["client", "thread"])
def test_r068_a_description_of_none_lets_a_model_look_again(
    both: dict[str, Any], store: SQLMemoryStore, server: ScriptedModelServer, owner: str
) -> None:
    update = both[owner].update_image
    server.add(ScriptedAnswer(text="A red car."), ScriptedAnswer(text="A blue boat."))
    update("i1", description=None)
    assert (image(store, "i1").content, sent(server)) == ("A red car.", "data:image/png")
    update("i1", image=NEW, mime_type=WEBP, description=None, metadata={"c": 3})
    assert (image(store, "i1").content, sent(server)) == ("A blue boat.", "data:image/webp")
    assert (image(store, "i1").bytes, image(store, "i1").metadata) == (NEW, {"c": 3})
    assert chunk_texts(store) == {"i1": "A blue boat."}
    check_agreement(store)


def test_r068_what_a_model_fails_to_describe_stays_as_it_was(
    both: dict[str, Any], store: SQLMemoryStore, server: ScriptedModelServer
) -> None:
    before = everything(store)
    server.add(*[ScriptedAnswer(status=400, text="no images")] * 2)
    for new in ({}, {"image": NEW, "mime_type": WEBP}):
        with pytest.raises(ModelError):
            both["thread"].update_image("i1", description=None, **new)
    assert everything(store) == before


def test_r068_without_a_model_nothing_is_described_again(
    both: dict[str, Any], open_client: OpenClient, store: SQLMemoryStore
) -> None:
    without = open_client()
    before = everything(store)
    for owner in (without, without.get_thread("t1")):
        with pytest.raises(ValueError, match="no model"):
            owner.update_image("i1", description=None)
    assert everything(store) == before


def test_a_description_of_other_bytes_than_the_model_saw_is_not_stored(
    both: dict[str, Any], store: SQLMemoryStore, server: ScriptedModelServer
) -> None:
    server.add(ScriptedAnswer(text="A red car."))
    described = both["client"].prepare_update_image("i1", description=None)
    both["thread"].update_image("i1", image=NEW, mime_type=WEBP, description="blue boat")
    with pytest.raises(ConflictError, match="i1"):
        both["client"].write(described)
    assert image(store, "i1").content == "blue boat"


@pytest.mark.parametrize("owner", ["client", "thread"])
@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, ValueError),
        ({"colour": "red"}, TypeError),
        ({"user_id": "u2"}, TypeError),
        ({"thread_id": "t2"}, TypeError),
        ({"description": "x", "timestamps": "2025-01-01"}, TypeError),
        ({"description": 5}, TypeError),
        ({"metadata": "m"}, ValueError),
        ({"metadata": {"image_mime_type": "image/png"}}, ValueError),
        ({"ttl_days": -1}, ValueError),
        ({"timestamp": 5}, TypeError),
    ],
)
def test_r047_a_change_that_cannot_be_made_changes_nothing(
    both: dict[str, Any],
    store: SQLMemoryStore,
    server: ScriptedModelServer,
    owner: str,
    given: Any,
    error: type[Exception],
) -> None:
    before = everything(store)
    for description in ({}, {"description": None}) if given else ({},):
        with pytest.raises(error):
            both[owner].update_image("i1", **{**description, **given})
    assert everything(store) == before
    assert server.requests == []


def test_images_of_other_threads_are_not_found(
    both: dict[str, Any], store: SQLMemoryStore, server: ScriptedModelServer
) -> None:
    client = both["client"]
    other = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    client.add_image(DATA, description="x", user_id="u1", image_id="free")
    before = everything(store)
    for owner, image_id in ((other, "i1"), (other, "free"), (client, "nobody")):
        for given in ({"description": "y"}, {"description": None}):
            with pytest.raises(KeyError, match=image_id):
                owner.update_image(image_id, **given)
        assert owner.delete_image(image_id) == 0
    assert other.list_images() == []
    assert everything(store) == before
    assert server.requests == []


@pytest.mark.parametrize("owner", ["client", "thread"])
def test_a_change_made_for_another_version_is_refused(
    both: dict[str, Any], store: SQLMemoryStore, owner: str
) -> None:
    seen = store.fingerprint("image", "i1")
    both[owner].update_image("i1", description="blue boat", if_fingerprint=seen)
    with pytest.raises(ConflictError):
        both[owner].update_image("i1", description="x", if_fingerprint=seen)
    with pytest.raises(ConflictError):
        both[owner].delete_image("i1", if_fingerprint=seen)
    assert image(store, "i1").content == "blue boat"
    assert both[owner].delete_image("i1", if_fingerprint=store.fingerprint("image", "i1")) == 1


@pytest.mark.parametrize("owner", ["client", "thread"])
def test_a_deleted_image_is_gone_with_all_that_is_searched_for_it(
    both: dict[str, Any], store: SQLMemoryStore, owner: str
) -> None:
    prepared = both[owner].prepare_delete_image("i1")
    assert row_of(store, "i1")
    assert both[owner].write(prepared) == 1
    assert rows_of(store, store.tables.document) == []
    assert rows_of(store, store.tables.record_chunks) == []
    assert both[owner].delete_image("i1") == 0
    check_agreement(store)


def test_r072_bytes_come_only_for_one_image_of_a_named_owner(both: dict[str, Any]) -> None:
    client, thread = both["client"], both["thread"]
    assert [one.bytes for one in client.list_images(user_id="u1")] == [None]
    assert [one.bytes for one in thread.list_images(image_id="i1")] == [None]
    for given in ({"user_id": "u1"}, {"image_id": "i1"}, {"image_id": "i1", "user_id": None}):
        with pytest.raises(ValueError, match="id"):
            client.list_images(include_bytes=True, **given)
    with pytest.raises(ValueError, match="record_id"):
        thread.list_images(include_bytes=True)
    with pytest.raises(TypeError, match="include_bytes"):
        thread.list_images(image_id="i1", include_bytes="no")
    (one,) = client.list_images(image_id="i1", agent_id="a1", include_bytes=True)
    (same,) = thread.list_images(image_id="i1", include_bytes=True)
    assert one == same
    assert one.bytes == DATA
    assert client.list_images(image_id="i1", user_id="u2", include_bytes=True) == []


def test_images_are_listed_by_owner_and_metadata_oldest_first(both: dict[str, Any]) -> None:
    client, thread = both["client"], both["thread"]
    client.add_image(DATA, description="x", user_id="u1", image_id="i2")
    client.add_image(DATA, description="x", agent_id="a1", image_id="i3", metadata={"a": 1})

    def listed(owner: Any, **given: Any) -> list[str]:
        return [one.id for one in owner.list_images(**given)]

    for given in ({}, {"user_id": None}, {"user_id": None, "agent_id": None, "thread_id": None}):
        with pytest.raises(ValueError, match="user_id, agent_id or thread_id"):
            client.list_images(**given)
    assert listed(client, user_id="u1") == ["i1", "i2"]
    assert listed(client, user_id="u1", thread_id=None) == ["i2"]
    assert listed(client, agent_id="a1", user_id=None) == ["i3"]
    assert listed(client, agent_id="a1", metadata_filter={"a": 1}) == ["i1", "i3"]
    assert listed(client, user_id="u1", metadata_filter=None) == ["i2"]
    assert listed(client, user_id="u1", limit=1) == ["i2"]
    assert listed(client, user_id="u1", limit=None) == ["i1", "i2"]
    assert listed(thread) == ["i1"]
    assert listed(thread, metadata_filter={"a": 2}) == []


def test_r078_an_image_is_chosen_before_the_limit(both: dict[str, Any]) -> None:
    client, thread = both["client"], both["thread"]
    for image_id in ("i2", "i3"):
        thread.add_image(DATA, description="x", image_id=image_id)
    assert [one.id for one in client.list_images(user_id="u1", limit=1)] == ["i3"]
    assert [one.id for one in client.list_images("i1", user_id="u1", limit=1)] == ["i1"]
    assert [one.id for one in thread.list_images("i2", limit=1)] == ["i2"]


def test_r074_an_image_is_found_by_the_description_it_has_now(both: dict[str, Any]) -> None:
    client, thread = both["client"], both["thread"]
    thread.add_image(DATA, description="green tree", image_id="i2")
    thread.add_memory("sea sky", memory_id="m1")
    thread.update_image("i1", description="blue boat")

    first, *_ = client.search("blue boat", user_id="u1")
    assert (first.id, first.content, first.record.record_type) == ("i1", "blue boat", "image")
    assert first.record.bytes is None
    assert "<image>" in first.formatted_content
    assert "blue boat" in first.formatted_content
    found = thread.search("green tree", record_types=["image"])
    assert [one.id for one in found] == ["i2", "i1"]
    assert client.search("blue boat", user_id="u2") == []
    thread.update_image("i1", description="")
    assert [one.id for one in thread.search("blue boat", record_types=["image"])] == ["i2"]


def test_an_expired_image_is_neither_listed_nor_changed(
    both: dict[str, Any], store: SQLMemoryStore, clock: Clock
) -> None:
    prepared = both["client"].prepare_update_image("i1", description="late")
    clock.pass_days(10)
    assert both["client"].list_images(user_id="u1") == []
    for owner in both.values():
        with pytest.raises(KeyError, match="i1"):
            owner.update_image("i1", ttl_days=None)
        assert owner.delete_image("i1") == 0
    with pytest.raises(KeyError, match="i1"):
        both["client"].write(prepared)
    assert row_of(store, "i1").description == "red car"


def test_a_model_is_not_asked_while_a_write_transaction_is_open(
    both: dict[str, Any], store: SQLMemoryStore, server: ScriptedModelServer, vision: Llm
) -> None:
    client, thread = both["client"], both["thread"]
    with store.engine.write():
        with pytest.raises(RuntimeError, match="describing an image is slow"):
            client.add_image(DATA, user_id="u1")
        with pytest.raises(RuntimeError, match="describing an image is slow"):
            thread.prepare_update_image("i1", description=None)
        # What asks nobody may be stored there.
        thread.add_image(DATA, description="", image_id="i2")
        client.write(prepared_value(None))
    assert server.requests == []
    assert [one.id for one in thread.list_images()] == ["i1", "i2"]
