"""Messages with image parts, written and read through threads."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from oracleagentmemory.apis import (
    ImageContent,
    ImageMimeType,
    Message,
    TextContent,
    TimeToLiveAnchor,
)
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from oracleagentmemory.errors import DuplicateIdError
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.images.conftest import OpenClient
from tests.sdk.images.pictures import moving, picture
from tests.sdk.images.test_adding import chunk_texts, row_of
from tests.sdk.search.stores import Clock

PNG, WEBP = ImageMimeType.PNG, ImageMimeType.WEBP
CAR, BOAT = picture("PNG"), picture("WEBP")
LOOK = TextContent("look", id="t")


def part(image_id: str, description: str | None, data: bytes | None = None) -> ImageContent:
    return ImageContent(data, WEBP if image_id == "boat" else PNG, description, id=image_id)


@pytest.fixture
def talk(thread: OracleThread) -> OracleThread:
    """A thread whose message m1 has a text and two images, and m2 one image."""
    content = [LOOK, part("car", "red car", CAR), part("boat", "blue boat", BOAT)]
    thread.add_messages(
        [
            Message("user", content, id="m1", timestamp="2026-03-01T12:00:00+00:00"),
            Message("user", [part("tree", "green tree", CAR)], id="m2"),
        ]
    )
    return thread


def bytes_in(message: Message) -> list[bytes | None]:
    return [part.bytes for part in message.content if isinstance(part, ImageContent)]


def test_r036_the_bytes_of_the_named_images_are_loaded(talk: OracleThread) -> None:
    assert bytes_in(talk.get_message("m1")) == [None, None]
    assert bytes_in(talk.get_message("m1", included_image_ids=None)) == [None, None]  # type: ignore[arg-type]
    assert bytes_in(talk.get_message("m1", included_image_ids=[])) == [None, None]
    for ids in (["boat"], ["boat", "tree", "nobody", ""]):
        read = talk.get_message("m1", included_image_ids=ids)
        assert read.content == (LOOK, part("car", "red car"), part("boat", "blue boat", BOAT))
    assert bytes_in(talk.get_message("m1", included_image_ids=["car", "boat"])) == [CAR, BOAT]
    for wrong in ("boat", ("boat",), 5):
        with pytest.raises(ValueError, match="must be a list"):
            talk.get_message("m1", included_image_ids=wrong)  # type: ignore[arg-type]


def test_r072_messages_come_without_bytes_unless_they_are_asked_for(
    talk: OracleThread, client: OracleAgentMemory
) -> None:
    for bounds in ({}, {"start": 0}, {"start": 0, "end": None}, {"start": -2, "end": -1}):
        window: dict[str, Any] = dict(bounds)
        lean = talk.get_messages(**window)
        whole = talk.get_messages(**window, include_image_bytes=True)
        assert list(map(bytes_in, lean)) == [[None, None], [None]], bounds
        assert list(map(bytes_in, whole)) == [[CAR, BOAT], [CAR]], bounds
    assert talk.get_messages(include_image_bytes=False) == lean
    awaited = asyncio.run(talk.get_messages_async(include_image_bytes=True))
    assert awaited == whole
    with pytest.raises(TypeError, match="include_image_bytes"):
        talk.get_messages(include_image_bytes="no")  # type: ignore[arg-type]

    listed = client.list_messages(thread_id="t1", limit=1, include_image_bytes=True)
    assert [one.content for one in listed] == [[part("tree", "green tree", CAR)]]
    assert client.list_messages(thread_id="t1")[1].content == [part("tree", "green tree")]


def test_r038_the_parts_of_a_message_are_a_tuple(talk: OracleThread) -> None:
    assert talk.get_message("m1").content == (
        LOOK, part("car", "red car"), part("boat", "blue boat"),
    )  # fmt: skip
    nothing: list[Any] = [[], ()]
    for empty in nothing:
        with pytest.raises(ValueError, match="at least one part"):
            talk.update_message("m1", empty)


def test_parts_are_given_as_mappings_too(thread: OracleThread, store: SQLMemoryStore) -> None:
    shown = {"type": "image", "mime_type": "image/png", "bytes": CAR, "description": "red car",
             "id": "car", "timestamp": "2025-05-01"}  # fmt: skip
    said = {"type": "text", "text": "look", "id": "t"}
    thread.add_messages([{"role": "user", "content": [said, shown], "id": "m1"}])
    row = row_of(store, "car")
    assert (row.message_id, row.thread_id, row.user_id, row.agent_id) == ("m1", "t1", "u1", "a1")
    assert (row.blob, row.description, row.timestamp) == (CAR, "red car", "2025-05-01")
    read = thread.get_message("m1", included_image_ids=["car"]).content
    assert read == (LOOK, ImageContent(CAR, PNG, "red car", id="car", timestamp="2025-05-01"))
    check_agreement(store)


def test_images_of_messages_are_images_of_the_thread(
    talk: OracleThread, client: OracleAgentMemory, store: SQLMemoryStore
) -> None:
    talk.add_image(CAR, description="sea", image_id="own")
    listed = talk.list_images()
    assert {one.id: one.message_id for one in listed} == {
        "car": "m1", "boat": "m1", "tree": "m2", "own": None,
    }  # fmt: skip
    assert client.list_images(image_id="boat", user_id="u1", include_bytes=True)[0].bytes == BOAT
    found = client.search("blue boat", user_id="u1", record_types=["image"], max_results=1)
    assert [(one.id, one.content) for one in found] == [("boat", "blue boat")]
    check_agreement(store)


@pytest.mark.parametrize("through", ["client", "thread"])
def test_r071_an_image_of_a_message_is_neither_deleted_nor_kept_longer_by_itself(
    talk: OracleThread,
    client: OracleAgentMemory,
    store: SQLMemoryStore,
    server: ScriptedModelServer,
    clock: Clock,
    through: str,
) -> None:
    owner: Any = client if through == "client" else talk
    before = everything(store)
    with pytest.raises(ValueError, match="attached to a message"):
        owner.delete_image("car")
    expiries: list[dict[str, Any]] = [
        {"ttl_days": 3},
        {"ttl_days": None},
        {"ttl_anchor": TimeToLiveAnchor.CREATED_AT},
        {"ttl_days": 3, "description": None},
    ]
    for expiry in expiries:
        with pytest.raises(ValueError, match="update_message"):
            owner.update_image("car", **expiry)
    assert everything(store) == before
    assert server.requests == []

    owner.update_image("car", description="sky", metadata={"a": 1})
    assert talk.get_message("m1").content[1] == part("car", "sky")
    talk.update_message("m1", ttl_days=2)
    clock.pass_days(3)
    assert [one.id for one in talk.list_images()] == ["tree"]
    with pytest.raises(KeyError):
        owner.update_image("car", description="late")
    talk.delete_message("m2")
    assert talk.list_images() == []
    store.purge_expired()
    assert rows_of(store, store.tables.document) == []
    check_agreement(store)


def test_new_content_keeps_takes_in_and_lets_go_of_images(
    talk: OracleThread, store: SQLMemoryStore
) -> None:
    sea = part("sea", "sea", CAR)
    talk.update_message("m1", [part("boat", None), sea])  # type: ignore[list-item]
    read = talk.get_message("m1", included_image_ids=["boat", "sea"]).content
    assert read == (part("boat", "blue boat", BOAT), sea)
    assert chunk_texts(store) == {"boat": "blue boat", "sea": "sea", "tree": "green tree"}
    talk.update_message("m1", "only text")
    assert talk.get_message("m1").content == "only text"
    assert [one.id for one in talk.list_images()] == ["tree"]
    check_agreement(store)


@pytest.mark.parametrize(
    ("image", "error", "words"),
    [
        (part("x", "x"), ValueError, "bytes"),
        (part("x", "x", b"junk"), ValueError, r"content\[0\]: image is neither"),
        (part("x", None, BOAT), ValueError, "is image/webp, not image/png"),
        (part("x", "x", CAR[:-9]), ValueError, "damaged"),
        (part("x", "x", moving("PNG")), ValueError, "animated"),
        (part("x", "a\0b", CAR), ValueError, "NUL"),
        (part("x", 5, CAR), TypeError, "description"),  # type: ignore[arg-type]
        (part("i" * 129, "x", CAR), ValueError, "id"),
        (part("car", "x", CAR), ValueError, "'car'"),
        ({"type": "image", "mime_type": "image/png", "bytes": "aGk="}, TypeError, "bytes"),
        ({"type": "image", "mime_type": "image/gif", "bytes": b"GIF"}, ValueError, "image/webp"),
        ({"type": "image", "mime_type": "image/png", "bytes": CAR, "timestamp": 5}, TypeError,
         "timestamp"),
    ],
)  # fmt: skip
def test_r069_a_message_with_a_bad_image_stores_nothing_of_its_call(
    talk: OracleThread,
    store: SQLMemoryStore,
    server: ScriptedModelServer,
    image: Any,
    error: type[Exception],
    words: str,
) -> None:
    before = everything(store)
    for call in (
        lambda: talk.add_messages([Message("user", "good"), {"role": "u", "content": [image]}]),
        lambda: talk.update_message("m2", [image]),
    ):
        with pytest.raises(error, match=words):
            call()
    assert everything(store) == before
    assert server.requests == []


def test_r076_images_of_messages_are_described_though_nothing_is_extracted(
    thread: OracleThread, store: SQLMemoryStore, server: ScriptedModelServer
) -> None:
    server.add(ScriptedAnswer(text="A red car."), ScriptedAnswer(text="A blue boat."))
    content = [LOOK, part("car", None, CAR), part("tree", "green tree", CAR)]
    thread.add_messages([Message("user", content, id="m1")])
    assert row_of(store, "car").description == "A red car."
    assert thread.get_message("m1").content[1] == part("car", "A red car.")
    thread.update_message("m1", [part("tree", None), part("boat", None, BOAT)])  # type: ignore[list-item]
    assert row_of(store, "boat").description == "A blue boat."
    assert row_of(store, "tree").description == "green tree"
    assert len(server.requests) == 2
    assert rows_of(store, store.tables.memory) == []
    check_agreement(store)


def test_without_a_model_messages_keep_images_that_nobody_describes(
    open_client: OpenClient, store: SQLMemoryStore
) -> None:
    thread = open_client().create_thread(thread_id="t1", user_id="u1")
    thread.add_messages([Message("user", [part("car", None, CAR)], id="m1")])
    assert thread.get_message("m1").content == (part("car", None),)
    assert chunk_texts(store) == {}
    check_agreement(store)


def test_summaries_and_cards_tell_of_images_by_their_descriptions(talk: OracleThread) -> None:
    without = OracleThread(talk._store, thread_id="t1", user_id="u1", agent_id="a1", llm=None)
    with pytest.warns(DeprecationWarning, match="without llm"):
        card = without.get_context_card(max_recent_messages=2).content
    assert "look red car blue boat" in card
    assert "<content>green tree</content>" in card
    assert "look red car blue boat" in without.get_summary().content


def test_a_part_may_be_sent_again_where_nobody_chose_its_id(thread: OracleThread) -> None:
    seen = ImageContent(CAR, PNG, "red car")
    first = thread.add_messages([Message("user", [LOOK, seen])])
    again = thread.add_messages([Message("user", [seen]), Message("user", [seen])])
    messages = [thread.get_message(one) for one in first + again]
    parts = [part for one in messages for part in one.content if isinstance(part, ImageContent)]
    assert parts[0].id == seen.id
    assert len({part.id for part in parts}) == len(parts) == 3
    assert {part.description for part in parts} == {"red car"}


def test_a_chosen_id_is_never_given_up(talk: OracleThread) -> None:
    with pytest.raises(DuplicateIdError, match="'car'"):
        talk.add_messages([Message("user", [part("car", "another car", CAR)])])
    assert [one.id for one in talk.list_images()] == ["car", "boat", "tree"]
