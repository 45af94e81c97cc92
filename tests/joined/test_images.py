"""Images on Django's connection: stored with the caller's rows and their job, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import transaction

from oracleagentmemory.apis import ImageRecord
from oracleagentmemory.core import MemoryExtractionConfig, MemoryExtractionMode, OracleAgentMemory
from oracleagentmemory.errors import StateError
from tests.joined.conftest import Joined
from tests.joined.test_store import Store, open_store
from tests.joined.test_transactions import undone
from tests.sdk.client.models import ListedLlm
from tests.sdk.images.pictures import picture
from tests.sdk.images.test_background import KeptJobs

DATA = picture("WEBP")


@pytest.fixture
def store(database: Joined) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


@pytest.fixture
def llm() -> ListedLlm:
    return ListedLlm("red car")


@pytest.fixture
def jobs() -> KeptJobs:
    return KeptJobs()


def open_client(
    store: Store, llm: ListedLlm, jobs: KeptJobs, mode: MemoryExtractionMode
) -> OracleAgentMemory:
    config = MemoryExtractionConfig(extract_memories=False, extraction_mode=mode)
    return OracleAgentMemory(store=store, llm=llm, scheduler=jobs, memory_extraction_config=config)


def shown(store: Store) -> dict[str, tuple[str | None, bytes | None]]:
    """Descriptions and bytes of the images of ada."""
    images = [
        store.get("image", one.id, include_bytes=True)
        for one in store.list("image", user_id="ada", limit=None)
    ]
    return {one.id: (str(one.content), one.bytes) for one in images if isinstance(one, ImageRecord)}


def test_an_image_described_before_a_block_is_stored_in_it_or_not_at_all(
    database: Joined, store: Store, llm: ListedLlm, jobs: KeptJobs
) -> None:
    client = open_client(store, llm, jobs, MemoryExtractionMode.INLINE)
    prepared = client.prepare_add_image(DATA, user_id="ada", image_id="i")
    with undone(transaction.atomic(using=database.alias)):
        client.write(prepared)
        assert shown(store) == {"i": ("red car", DATA)}
    assert shown(store) == {}
    with transaction.atomic(using=database.alias):
        client.write(prepared)
        database.add_note("kept")
    database.django.close()
    assert (shown(store), database.notes()) == ({"i": ("red car", DATA)}, ["kept"])
    assert llm.calls == 1


def test_inside_a_block_no_model_looks_at_an_image(
    database: Joined, store: Store, llm: ListedLlm, jobs: KeptJobs
) -> None:
    client = open_client(store, llm, jobs, MemoryExtractionMode.INLINE)
    with transaction.atomic(using=database.alias):
        with pytest.raises(StateError, match="describing an image"):
            client.add_image(DATA, user_id="ada")
        database.add_note("still usable")
    assert (llm.calls, shown(store), database.notes()) == (0, {}, ["still usable"])


def test_a_job_is_accepted_in_the_block_that_stores_its_image(
    database: Joined, store: Store, llm: ListedLlm, jobs: KeptJobs
) -> None:
    client = open_client(store, llm, jobs, MemoryExtractionMode.BACKGROUND)
    with transaction.atomic(using=database.alias):
        client.add_image(DATA, user_id="ada", image_id="i")
        assert [(job.kind, job.image_id) for job in jobs.accepted] == [("image", "i")]
    assert shown(store) == {"i": ("", DATA)}
    assert (jobs.started, llm.calls) == (jobs.accepted, 0)
