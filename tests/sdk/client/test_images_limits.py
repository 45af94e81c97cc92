"""Limits of images: who sets them, how far they go, and that none is ever off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oracleagentmemory.apis import ImageContent, ImageMimeType, Message
from oracleagentmemory.core import (
    ImageInputLimitConfig,
    MemoryExtractionConfig,
    MemoryExtractionMode,
    OracleAgentMemory,
    OracleThread,
    SQLiteMemoryStore,
)
from oracleagentmemory.core.llms import Llm
from tests.sdk.client.conftest import EXTRACTION_OFF, SilentLlm
from tests.sdk.images.pictures import png

MIB = 2**20
PNG = ImageMimeType.PNG
SMALL = png()
LARGEST = {
    "max_raw_image_bytes": 32 * MIB,
    "max_images_per_llm_request": 512,
    "max_total_raw_image_bytes_per_llm_request": 256 * MIB,
}

Open = Callable[..., OracleAgentMemory]


@pytest.fixture
def open_client(store: SQLiteMemoryStore) -> Open:
    """Open a client without extraction on the store."""
    return lambda **options: OracleAgentMemory(
        store=store, memory_extraction_config=EXTRACTION_OFF, **options
    )


@pytest.fixture
def saved(store: SQLiteMemoryStore) -> Callable[[str], dict[str, int]]:
    """The limits that a thread has saved."""

    def read(thread_id: str) -> dict[str, int]:
        config = store.get("thread", thread_id).runtime_config  # type: ignore[union-attr]
        return config["image_input_limit_config"]  # type: ignore[no-any-return, index]

    return read


@pytest.mark.parametrize("name", LARGEST)
def test_r075_the_largest_values_are_accepted_and_nothing_above_them(
    open_client: Open, saved: Any, rows: Callable[[], list[str]], name: str
) -> None:
    largest = ImageInputLimitConfig(**{name: LARGEST[name]})
    client = open_client(image_input_limit_config=largest)
    client.create_thread(thread_id="t")
    assert saved("t")[name] == LARGEST[name]
    Llm("openai/scripted", image_input_limit_config=largest)
    before = rows()
    for value in (LARGEST[name] + 1, 0, -1, None, True, 1.5, "9", float("inf")):
        beyond = ImageInputLimitConfig(**{name: value})  # type: ignore[arg-type]
        calls: list[Callable[[], object]] = [
            lambda beyond=beyond: open_client(image_input_limit_config=beyond),
            lambda beyond=beyond: client.create_thread(image_input_limit_config=beyond),
            lambda beyond=beyond: client.get_thread("t", image_input_limit_config=beyond),
            lambda beyond=beyond: client.update_thread("t", image_input_limit_config=beyond),
            lambda beyond=beyond: Llm("openai/scripted", image_input_limit_config=beyond),
        ]
        for call in calls:
            with pytest.raises(ValueError, match=name):
                call()
    assert rows() == before


def test_r075_each_limit_is_inherited_by_itself(open_client: Open, saved: Any) -> None:
    client = open_client(
        image_input_limit_config=ImageInputLimitConfig(
            max_raw_image_bytes=5000, max_images_per_llm_request=7
        )
    )
    client.create_thread(
        thread_id="t", image_input_limit_config=ImageInputLimitConfig(max_raw_image_bytes=6000)
    )
    expected = {
        "max_raw_image_bytes": 6000,
        "max_images_per_llm_request": 7,
        "max_total_raw_image_bytes_per_llm_request": 100 * MIB,
    }
    assert saved("t") == expected
    client.get_thread("t", image_input_limit_config=ImageInputLimitConfig(max_raw_image_bytes=1))
    assert saved("t") == expected
    other = open_client(
        image_input_limit_config=ImageInputLimitConfig(
            max_raw_image_bytes=1, max_total_raw_image_bytes_per_llm_request=1
        )
    )
    other.update_thread(
        "t", image_input_limit_config=ImageInputLimitConfig(max_images_per_llm_request=9)
    )
    assert saved("t") == {**expected, "max_images_per_llm_request": 9}


# -- what they do to images ------------------------------------------------------------------


def image_of(size: int) -> bytes:
    """A PNG file of exactly so many bytes: what follows the image's end is no fault."""
    return SMALL + bytes(size - len(SMALL))


def adders(
    client: OracleAgentMemory, thread: OracleThread
) -> dict[str, Callable[[bytes, str | None], object]]:
    """Every way by which an image comes into a thread, with its description."""

    def part(data: bytes, text: str | None) -> list[ImageContent]:
        return [ImageContent(data, PNG, text)]

    return {
        "client": lambda data, text: client.add_image(data, text, thread_id=thread.thread_id),
        "thread": thread.add_image,
        "message": lambda data, text: thread.add_messages([Message("user", part(data, text))]),
    }


@pytest.mark.parametrize("way", ["client", "thread", "message"])
def test_r075_an_image_may_have_as_many_bytes_as_its_thread_says(
    open_client: Open, rows: Callable[[], list[str]], way: str
) -> None:
    of_client = ImageInputLimitConfig(max_raw_image_bytes=5000)
    of_thread = ImageInputLimitConfig(max_raw_image_bytes=6000)
    client = open_client(image_input_limit_config=of_client)
    thread = client.create_thread(user_id="u1", image_input_limit_config=of_thread)
    inheriting = client.create_thread(user_id="u1")
    lowered = client.get_thread(
        thread.thread_id, image_input_limit_config=ImageInputLimitConfig(max_raw_image_bytes=70)
    )
    for one, most in ((thread, 6000), (inheriting, 5000), (lowered, 70)):
        if one is lowered and way == "client":
            continue  # the client knows what is saved, not what a handle was given
        add = adders(client, one)[way]
        add(image_of(most), "x")
        before = rows()
        with pytest.raises(ValueError, match=rf"{most + 1} bytes.*max_raw_image_bytes of {most}"):
            add(image_of(most + 1), "x")
        assert rows() == before


def test_r075_images_of_no_thread_have_the_clients_limit(
    open_client: Open, rows: Callable[[], list[str]]
) -> None:
    client = open_client(image_input_limit_config=ImageInputLimitConfig(max_raw_image_bytes=5000))
    client.add_image(image_of(5000), "x", user_id="u1", image_id="i1")
    before = rows()
    for call in (
        lambda: client.add_image(image_of(5001), "x", user_id="u1"),
        lambda: client.update_image("i1", image=image_of(5001), mime_type=PNG),
    ):
        with pytest.raises(ValueError, match="max_raw_image_bytes of 5000"):
            call()
    assert rows() == before
    client.update_image("i1", image=image_of(4000), mime_type=PNG)


def test_r075_without_a_limit_of_ones_own_images_have_the_default(
    open_client: Open, store: SQLiteMemoryStore
) -> None:
    client = open_client()
    client.add_image(image_of(10 * MIB), "x", user_id="u1")
    with pytest.raises(ValueError, match=f"max_raw_image_bytes of {10 * MIB}"):
        client.add_image(image_of(10 * MIB + 1), "x", user_id="u1")
    # The store itself knows no configuration; what none may allow it refuses, too.
    metadata = {"image_mime_type": "image/png"}
    with pytest.raises(ValueError, match=str(32 * MIB)):
        store.add([image_of(32 * MIB + 1)], "image", user_ids="u1", metadata=metadata)


def test_r075_what_exceeds_a_limit_is_shown_to_no_model(
    open_client: Open, rows: Callable[[], list[str]]
) -> None:
    llm = SilentLlm()
    limits = ImageInputLimitConfig(
        max_raw_image_bytes=5000, max_total_raw_image_bytes_per_llm_request=4000
    )
    client = open_client(image_input_limit_config=limits, llm=llm)
    inline = MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.INLINE)
    thread = client.create_thread(user_id="u1", memory_extraction_config=inline)
    before = rows()
    for size, named in ((5001, "max_raw_image_bytes"), (4001, "max_total_raw_image_bytes")):
        for way in ("client", "thread"):
            with pytest.raises(ValueError, match=named):
                adders(client, thread)[way](image_of(size), None)
    assert rows() == before
    assert llm.calls == 0
    thread.add_image(image_of(5000), "by hand")
