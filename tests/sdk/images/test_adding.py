"""Adding images through clients and threads: owners, formats, descriptions, what is stored."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from oracleagentmemory.apis import ImageMimeType, ImageRecord, TimeToLiveAnchor
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.errors import DuplicateIdError, ModelAnswerError, ModelError, RetryableError
from oracleagentmemory.storage.writes import in_order
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.images.conftest import OpenClient
from tests.sdk.images.pictures import FORMATS, moving, picture
from tests.sdk.search.stores import Clock

PNG = ImageMimeType.PNG
DATA = picture("PNG")


def row_of(store: SQLMemoryStore, image_id: str) -> Any:
    """The stored row of an image."""
    (row,) = [one for one in rows_of(store, store.tables.document) if one.record_id == image_id]
    return row


def image(store: SQLMemoryStore, image_id: str) -> ImageRecord:
    record = store.get("image", image_id, include_bytes=True)
    assert isinstance(record, ImageRecord)
    return record


def chunk_texts(store: SQLMemoryStore) -> dict[str, str]:
    return {row.source_id: row.chunk_text for row in rows_of(store, store.tables.record_chunks)}


def test_an_image_is_stored_as_it_came(client: OracleAgentMemory, store: SQLMemoryStore) -> None:
    image_id = client.add_image(
        DATA, description="a red car", user_id="u1", agent_id="a1", image_id="i1",
        metadata={"album": 3}, timestamp="2025-05-01", mime_type=PNG,
    )  # fmt: skip
    assert image_id == "i1"
    row = row_of(store, "i1")
    assert (row.blob, row.description, row.document_type) == (DATA, "a red car", "image")
    assert row.document_metadata == {"mime_type": "image/png"}
    assert (row.user_id, row.agent_id, row.thread_id, row.message_id) == ("u1", "a1", None, None)
    assert (row.metadata, row.timestamp, row.expires_at) == ({"album": 3}, "2025-05-01", None)
    assert chunk_texts(store) == {"i1": "a red car"}
    check_agreement(store)


def test_an_image_without_an_id_gets_one(client: OracleAgentMemory, store: SQLMemoryStore) -> None:
    first, second = (client.add_image(DATA, description="", user_id="u1") for _ in "ab")
    assert first != second
    assert {row.record_id for row in rows_of(store, store.tables.document)} == {first, second}
    with pytest.raises(DuplicateIdError, match=first):
        client.add_image(DATA, description="", user_id="u1", image_id=first)
    with pytest.raises(ValueError, match="image_id"):
        client.add_image(DATA, description="", user_id="u1", image_id="")


@pytest.mark.parametrize(
    "owners",
    [{}, {"user_id": None}, {"user_id": None, "agent_id": None, "thread_id": None}],
)
def test_r065_an_image_of_nobody_is_refused_before_a_model_sees_it(
    client: OracleAgentMemory, store: SQLMemoryStore, server: ScriptedModelServer, owners: Any
) -> None:
    before = everything(store)
    with pytest.raises(ValueError, match="user_id, agent_id or thread_id"):
        client.add_image(DATA, **owners)
    assert everything(store) == before
    assert server.requests == []


def test_r065_one_owner_of_the_three_is_enough(
    client: OracleAgentMemory, thread: OracleThread, store: SQLMemoryStore
) -> None:
    owners: list[dict[str, Any]] = [{"user_id": "u2", "agent_id": None}, {"agent_id": "a2"}]
    for number, owner in enumerate(owners):
        client.add_image(DATA, description="", image_id=str(number), **owner)
        row = row_of(store, str(number))
        assert (row.user_id, row.agent_id) == (owner.get("user_id"), owner.get("agent_id"))


def test_r066_owners_of_an_images_thread_are_those_of_the_image(
    client: OracleAgentMemory, thread: OracleThread, store: SQLMemoryStore
) -> None:
    client.add_image(DATA, description="x", thread_id="t1", image_id="i1")
    client.add_image(DATA, description="x", thread_id="t1", agent_id="a1", image_id="i2")
    for image_id in ("i1", "i2"):
        row = row_of(store, image_id)
        assert (row.thread_id, row.user_id, row.agent_id) == ("t1", "u1", "a1")
    before = everything(store)
    for name, other in (("user_id", "u2"), ("user_id", None), ("agent_id", "a2")):
        given: dict[str, Any] = {name: other}
        with pytest.raises(ValueError, match=f"{name} must be that of the thread 't1'"):
            client.add_image(DATA, description="x", thread_id="t1", **given)
    with pytest.raises(KeyError, match="nothing"):
        client.add_image(DATA, description="x", user_id="u1", thread_id="nothing")
    assert everything(store) == before


def test_r067_a_thread_takes_only_its_own_owners(
    thread: OracleThread, store: SQLMemoryStore
) -> None:
    same: dict[str, Any] = {"user_id": "u1", "agent_id": "a1", "thread_id": "t1"}
    thread.add_image(DATA, description="x", image_id="i1")
    thread.add_image(DATA, description="x", image_id="i2", **same)
    for image_id in ("i1", "i2"):
        assert {name: getattr(row_of(store, image_id), name) for name in same} == same
    before = everything(store)
    for name in same:
        for other in ("x", None):
            given: dict[str, Any] = {name: other}
            with pytest.raises(ValueError, match=f"{name} must be that of this thread"):
                thread.add_image(DATA, description="x", **given)
    assert everything(store) == before


@pytest.mark.parametrize("owner", ["client", "thread"])
def test_r068_a_model_describes_an_image_that_has_no_description(
    client: OracleAgentMemory,
    thread: OracleThread,
    store: SQLMemoryStore,
    server: ScriptedModelServer,
    owner: str,
) -> None:
    server.add(ScriptedAnswer(text="A red car."), ScriptedAnswer(text="A blue boat."))
    if owner == "client":
        client.add_image(DATA, user_id="u1", image_id="i1")
        client.add_image(DATA, None, user_id="u1", image_id="i2")
    else:
        thread.add_image(DATA, image_id="i1")
        thread.add_image(DATA, description=None, image_id="i2")
    assert [image(store, one).content for one in ("i1", "i2")] == ["A red car.", "A blue boat."]
    assert chunk_texts(store) == {"i1": "A red car.", "i2": "A blue boat."}
    _, shown = server.requests[0].body["messages"][0]["content"]
    url = f"data:image/png;base64,{base64.b64encode(DATA).decode()}"
    assert shown == {"type": "image_url", "image_url": {"url": url}}
    check_agreement(store)


def test_r068_a_given_description_is_taken_as_it_is_even_an_empty_one(
    client: OracleAgentMemory, store: SQLMemoryStore, server: ScriptedModelServer
) -> None:
    for image_id, description in (("i1", "the <b>harbour</b>"), ("i2", "")):
        client.add_image(DATA, description=description, user_id="u1", image_id=image_id)
        assert image(store, image_id).content == description
    assert chunk_texts(store) == {"i1": "the <b>harbour</b>"}
    assert server.requests == []


def test_r068_without_a_model_an_image_needs_a_description(
    open_client: OpenClient, store: SQLMemoryStore
) -> None:
    client = open_client()
    thread = client.create_thread(user_id="u1")
    before = everything(store)
    nothing: list[dict[str, Any]] = [{}, {"description": None}]
    for add in (client.add_image, thread.add_image):
        for given in nothing:
            with pytest.raises(ValueError, match=r"no model.*give a description"):
                add(DATA, user_id="u1", **given)
    assert everything(store) == before


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ScriptedAnswer(status=400, text="no images"), ModelError),
        (ScriptedAnswer(status=429, repeat=True), RetryableError),
        (ScriptedAnswer(text=" \n "), ModelAnswerError),
    ],
)
def test_r068_an_image_that_a_model_fails_to_describe_is_not_stored(
    client: OracleAgentMemory,
    store: SQLMemoryStore,
    server: ScriptedModelServer,
    answer: ScriptedAnswer,
    error: type[Exception],
) -> None:
    before = everything(store)
    server.add(answer)
    with pytest.raises(error):
        client.add_image(DATA, user_id="u1")
    assert server.requests
    assert everything(store) == before


@pytest.mark.parametrize("kind", FORMATS)
def test_r069_the_format_of_an_image_is_detected(
    client: OracleAgentMemory, store: SQLMemoryStore, kind: str
) -> None:
    data = picture(kind)
    client.add_image(data, description="x", user_id="u1", image_id="i1")
    assert (image(store, "i1").bytes, image(store, "i1").mime_type) == (data, ImageMimeType[kind])
    assert row_of(store, "i1").document_metadata == {"mime_type": f"image/{kind.lower()}"}


@pytest.mark.parametrize(
    ("data", "mime_type", "words"),
    [
        (picture("GIF"), None, "neither PNG, JPEG nor WebP"),
        (b"junk", PNG, "neither PNG, JPEG nor WebP"),
        (b"", None, "empty"),
        (DATA[:-20], PNG, "damaged or cut off"),
        (moving("PNG"), None, "animated"),
        (moving("WEBP"), ImageMimeType.WEBP, "animated"),
        (DATA, ImageMimeType.JPEG, "is image/png, not image/jpeg"),
        (DATA, "image/png", "must be an ImageMimeType member"),
        ("picture", None, "must be bytes, not str"),
        (bytearray(DATA), None, "must be bytes, not bytearray"),
    ],
)
def test_r069_what_is_no_still_image_is_refused_before_anything_happens(
    client: OracleAgentMemory,
    thread: OracleThread,
    store: SQLMemoryStore,
    server: ScriptedModelServer,
    data: Any,
    mime_type: Any,
    words: str,
) -> None:
    before = everything(store)
    given = {} if mime_type is None else {"mime_type": mime_type}
    for add in (client.add_image, thread.add_image):
        for description in ("x", None):
            with pytest.raises(ValueError, match=words):
                add(data, description=description, user_id="u1", **given)
    assert everything(store) == before
    assert server.requests == []


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"description": 5}, TypeError, "description"),
        ({"description": "a\0b"}, ValueError, "NUL"),
        ({"metadata": "m"}, ValueError, "metadata"),
        ({"metadata": {"a": float("nan")}}, ValueError, "metadata"),
        ({"metadata": {"image_mime_type": "image/webp"}}, ValueError, "leave it out"),
        ({"timestamp": 5}, TypeError, "timestamp"),
        ({"ttl_days": -1}, ValueError, "ttl_days"),
        ({"ttl_anchor": "timestamp"}, ValueError, "ttl_anchor"),
        ({"image_id": "i" * 129}, ValueError, "image_id"),
        ({"image_id": 5}, TypeError, "image_id"),
        ({"user_id": "u" * 129}, ValueError, "user_id"),
        ({"colour": "red"}, TypeError, "colour"),
        ({"index_texts": ["y"]}, TypeError, "index_texts"),
    ],
)
def test_a_bad_argument_is_refused_before_a_model_is_asked(
    client: OracleAgentMemory,
    store: SQLMemoryStore,
    server: ScriptedModelServer,
    given: Any,
    error: type[Exception],
    words: str,
) -> None:
    before = everything(store)
    for description in ("x", None):
        with pytest.raises(error, match=words):
            client.add_image(DATA, **{"description": description, "user_id": "u1", **given})
    assert everything(store) == before
    assert server.requests == []


def test_r073_a_stores_name_of_the_format_stays_out_of_metadata(
    client: OracleAgentMemory, store: SQLMemoryStore
) -> None:
    own = {"image_mime_type": "image/png", "a": 1}
    client.add_image(DATA, description="x", user_id="u1", image_id="i1", metadata=own)
    client.add_image(DATA, description="x", user_id="u1", image_id="i2", metadata={})
    listed = client.list_images(user_id="u1")
    assert [one.metadata for one in listed] == [{"a": 1}, None]
    assert [one.mime_type for one in listed] == [PNG, PNG]
    assert row_of(store, "i1").metadata == {"a": 1}


def test_an_image_lives_as_long_as_it_is_told(
    client: OracleAgentMemory, thread: OracleThread, store: SQLMemoryStore, clock: Clock
) -> None:
    client.add_image(DATA, description="x", user_id="u1", image_id="i1", ttl_days=2)
    thread.add_image(
        DATA, description="x", image_id="i2", ttl_days=5, timestamp=clock.now.isoformat(),
        ttl_anchor=TimeToLiveAnchor.TIMESTAMP,
    )  # fmt: skip
    clock.pass_days(3)
    assert [one.id for one in client.list_images(user_id="u1")] == ["i2"]
    with pytest.raises(KeyError, match="i1"):
        client.update_image("i1", description="y")
    clock.pass_days(3)
    assert thread.list_images() == []
    assert store.purge_expired() == 2
    check_agreement(store)


def test_an_image_is_prepared_first_and_stored_with_other_changes(
    client: OracleAgentMemory, store: SQLMemoryStore, server: ScriptedModelServer
) -> None:
    server.add(ScriptedAnswer(text="A red car."))
    added = client.prepare_add_image(DATA, user_id="u1", image_id="i1")
    assert rows_of(store, store.tables.document) == []
    memory = client.prepare_add_memory("it is mine", user_id="u1")
    assert client.write(in_order([added, memory]))[0] == "i1"
    assert image(store, "i1").content == "A red car."
    assert len(server.requests) == 1


def test_a_thread_that_is_not_stored_yet_is_stored_with_its_first_image(
    store: SQLMemoryStore,
) -> None:
    thread = OracleThread(store, thread_id="t9", user_id="u9", agent_id="a9")
    assert store.get("thread", "t9") is None
    thread.add_image(DATA, description="x", image_id="i1")
    assert store.get("thread", "t9") is not None
    assert [one.id for one in thread.list_images()] == ["i1"]
    check_agreement(store)
