"""Limits of images: who sets them, how far they go, and that none is ever off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oracleagentmemory.core import ImageInputLimitConfig, OracleAgentMemory, SQLiteMemoryStore
from oracleagentmemory.core.llms import Llm
from tests.sdk.client.conftest import EXTRACTION_OFF

MIB = 2**20
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
