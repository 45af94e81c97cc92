"""Images that are stored first and described by a job in the background."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from oracleagentmemory.apis import ILlm, ImageMimeType
from oracleagentmemory.core import (
    BackgroundExtractionQueueFullBehavior,
    MemoryExtractionConfig,
    MemoryExtractionMode,
    OracleAgentMemory,
)
from oracleagentmemory.core.background import ALL_WORK, DELETE_WAIT_S, WorkScope
from oracleagentmemory.core.extractors.jobs import ExtractionJob
from oracleagentmemory.core.llms import Llm
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.threadscheduler import PendingTasks
from oracleagentmemory.errors import InvalidInputError, StateError, WaitTimeoutError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.sdk.contract.snapshots import check_agreement, everything, rows_of
from tests.sdk.images.conftest import OpenClient
from tests.sdk.images.pictures import picture
from tests.sdk.images.test_adding import chunk_texts, image, row_of

PNG, WEBP = ImageMimeType.PNG, ImageMimeType.WEBP
DATA, NEW = picture("PNG"), picture("WEBP")
BACKGROUND = {"extraction_mode": MemoryExtractionMode.BACKGROUND}
LONG_S = 20.0


@pytest.fixture
def client(open_client: OpenClient, vision: Llm) -> OracleAgentMemory:
    """A client whose model describes images in the background; it extracts nothing."""
    return open_client(BACKGROUND, llm=vision)


@pytest.fixture
def gate(server: ScriptedModelServer) -> threading.Event:
    """Holds the model's first answer, "A red car.", back."""
    gate = threading.Event()
    server.add(ScriptedAnswer(text="A red car.", until=gate))
    return gate


class KeptJobs:
    """A scheduler of another process: it records jobs and is told when to begin."""

    delete_wait_s = DELETE_WAIT_S

    def __init__(self) -> None:
        self.accepted: list[ExtractionJob] = []
        self.started: list[ExtractionJob] = []

    def check_llm(self, llm: ILlm | None) -> None:
        """Accept any model."""

    def accept(self, jobs: Sequence[ExtractionJob], transaction: WriteTransaction) -> None:
        """Keep jobs if their transaction is open."""
        assert transaction.now
        self.accepted += jobs

    def start(self, jobs: Sequence[ExtractionJob], llm: ILlm | None) -> None:
        """Keep which jobs are to begin."""
        self.started += jobs

    def pending(self, scope: WorkScope = ALL_WORK) -> PendingTasks:
        """Nothing runs here."""
        return PendingTasks([])


@pytest.mark.parametrize("owner", ["client", "thread"])
def test_r076_an_image_is_stored_at_once_and_described_later(
    client: OracleAgentMemory, store: SQLMemoryStore, gate: threading.Event, owner: str
) -> None:
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    adder: Any = client if owner == "client" else thread
    assert adder.add_image(DATA, user_id="u1", image_id="i1") == "i1"
    assert (image(store, "i1").bytes, image(store, "i1").content) == (DATA, "")
    assert chunk_texts(store) == {}
    gate.set()
    client.wait_for_memory_extraction(LONG_S)
    assert row_of(store, "i1").description == "A red car."
    assert chunk_texts(store) == {"i1": "A red car."}
    assert [one.id for one in client.search("A red car.", user_id="u1")] == ["i1"]
    (result,) = client.extraction_results()
    assert (result.state, [one.raw for one in result.answers]) == ("succeeded", ["A red car."])
    check_agreement(store)


def test_images_of_messages_are_described_in_the_background_too(
    client: OracleAgentMemory, store: SQLMemoryStore, gate: threading.Event
) -> None:
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    part = {"type": "image", "mime_type": "image/png", "bytes": DATA, "id": "i1"}
    thread.add_messages([{"role": "user", "content": [part]}])
    assert image(store, "i1").content == ""
    gate.set()
    thread.wait_for_memory_extraction(LONG_S)
    assert row_of(store, "i1").description == "A red car."
    check_agreement(store)


def test_what_the_background_fails_to_describe_stays_stored_without_a_description(
    client: OracleAgentMemory, store: SQLMemoryStore, server: ScriptedModelServer
) -> None:
    server.add(ScriptedAnswer(status=400, text="no images"))
    client.add_image(DATA, user_id="u1", image_id="i1")
    client.wait_for_memory_extraction(LONG_S)
    assert (image(store, "i1").bytes, image(store, "i1").content) == (DATA, "")
    (result,) = client.extraction_results()
    assert result.state == "failed"
    check_agreement(store)


def test_the_same_bytes_keep_their_old_description_until_there_is_a_new_one(
    client: OracleAgentMemory, store: SQLMemoryStore, gate: threading.Event
) -> None:
    client.add_image(DATA, description="old", user_id="u1", image_id="i1", metadata={"a": 1})
    client.update_image("i1", description=None, metadata={"b": 2})
    assert (image(store, "i1").content, image(store, "i1").metadata) == ("old", {"b": 2})
    gate.set()
    client.wait_for_memory_extraction(LONG_S)
    assert image(store, "i1").content == "A red car."
    check_agreement(store)


def test_new_bytes_have_no_description_until_there_is_one(
    client: OracleAgentMemory, store: SQLMemoryStore, gate: threading.Event
) -> None:
    client.add_image(DATA, description="old", user_id="u1", image_id="i1")
    client.update_image("i1", image=NEW, mime_type=WEBP, description=None)
    assert (image(store, "i1").content, image(store, "i1").bytes) == ("", NEW)
    assert chunk_texts(store) == {}
    gate.set()
    client.wait_for_memory_extraction(LONG_S)
    assert image(store, "i1").content == "A red car."


def test_a_description_given_meanwhile_is_kept(
    client: OracleAgentMemory,
    store: SQLMemoryStore,
    gate: threading.Event,
    server: ScriptedModelServer,
) -> None:
    client.add_image(DATA, user_id="u1", image_id="i1")
    assert server.wait_for_requests(1)
    client.update_image("i1", description="by hand")
    gate.set()
    client.wait_for_memory_extraction(LONG_S)
    assert image(store, "i1").content == "by hand"
    check_agreement(store)


def test_an_image_deleted_meanwhile_stays_deleted(
    client: OracleAgentMemory,
    store: SQLMemoryStore,
    gate: threading.Event,
    server: ScriptedModelServer,
) -> None:
    client.add_image(DATA, user_id="u1", image_id="i1")
    assert server.wait_for_requests(1)
    assert client.delete_image("i1") == 1
    gate.set()
    client.wait_for_memory_extraction(LONG_S)
    assert rows_of(store, store.tables.document) == []
    assert rows_of(store, store.tables.record_chunks) == []
    check_agreement(store)


def test_a_picture_that_was_replaced_meanwhile_is_not_described_as_the_old_one(
    client: OracleAgentMemory,
    store: SQLMemoryStore,
    gate: threading.Event,
    server: ScriptedModelServer,
) -> None:
    client.add_image(DATA, user_id="u1", image_id="i1")
    assert server.wait_for_requests(1)
    client.update_image("i1", image=NEW, mime_type=WEBP)
    gate.set()
    client.wait_for_memory_extraction(LONG_S)
    assert (image(store, "i1").content, image(store, "i1").bytes) == ("", NEW)


def test_r076_the_queues_settings_say_what_happens_when_it_is_full(
    client: OracleAgentMemory, store: SQLMemoryStore, gate: threading.Event
) -> None:
    thread = client.create_thread(
        thread_id="t1",
        user_id="u1",
        memory_extraction_config=MemoryExtractionConfig(
            background_extraction_queue_full_behavior=(
                BackgroundExtractionQueueFullBehavior.WAIT_THEN_RAISE
            ),
            background_extraction_queue_put_timeout_seconds=0.01,
        ),
    )
    for number in range(17):  # one that is running, 16 that wait
        thread.add_image(DATA, image_id=f"i{number}")
    with pytest.raises(WaitTimeoutError, match="no place"):
        thread.add_image(DATA, image_id="late")
    # The settings saved with a thread hold for its images, whoever adds them.
    with pytest.raises(WaitTimeoutError, match="no place"):
        client.add_image(DATA, thread_id="t1", image_id="later")
    assert image(store, "late").bytes == image(store, "later").bytes == DATA
    client.add_image(DATA, user_id="u1", image_id="free")
    gate.set()
    client.wait_for_memory_extraction(LONG_S)
    assert image(store, "late").content == image(store, "later").content == ""
    described = {f"i{number}" for number in range(17)} | {"free"}
    assert described == chunk_texts(store).keys()


def test_a_job_is_accepted_with_its_image_and_holds_the_settings_of_its_thread(
    open_client: OpenClient, vision: Llm, store: SQLMemoryStore
) -> None:
    kept = KeptJobs()
    client = open_client(BACKGROUND, llm=vision, scheduler=kept)
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    thread.add_image(DATA, image_id="i1")
    (job,) = kept.accepted
    assert kept.started == [job]
    assert (job.kind, job.image_id, job.reason) == ("image", "i1", "add_image")
    assert (job.thread_id, job.user_id, job.agent_id) == ("t1", "u1", "a1")
    record = store.get("thread", "t1")
    assert job.settings == record.runtime_config  # type: ignore[union-attr]

    # Prepared beside others and rolled back, nothing is accepted that is not stored.
    prepared = client.prepare_update_image("i1", description=None)
    assert len(kept.accepted) == 1
    client.write(prepared)
    assert [one.reason for one in kept.accepted] == ["add_image", "update_image"]
    assert len(kept.started) == 1
    store.delete("image", "i1")
    with pytest.raises(KeyError, match="i1"):
        client.write(prepared)
    assert len(kept.accepted) == 2


def test_in_a_callers_transaction_only_another_process_can_describe(
    open_client: OpenClient, vision: Llm, store: SQLMemoryStore
) -> None:
    own = open_client(BACKGROUND, llm=vision)
    before = everything(store)
    with store.engine.write(), pytest.raises(StateError, match="describing an image is slow"):
        own.add_image(DATA, user_id="u1")
    assert everything(store) == before
    kept = KeptJobs()
    elsewhere = open_client(BACKGROUND, llm=vision, scheduler=kept)
    with store.engine.write():
        elsewhere.add_image(DATA, user_id="u1", image_id="i1")
    assert [job.image_id for job in kept.started] == ["i1"]
    assert image(store, "i1").content == ""


@pytest.mark.parametrize("mode", list(MemoryExtractionMode))
def test_a_closed_client_has_no_image_described(
    open_client: OpenClient, vision: Llm, store: SQLMemoryStore, mode: MemoryExtractionMode
) -> None:
    client = open_client({"extraction_mode": mode}, llm=vision)
    client.close()
    before = everything(store)
    with pytest.raises(StateError, match="closed"):
        client.add_image(DATA, user_id="u1")
    assert everything(store) == before


def test_a_thread_may_have_another_mode_than_its_client(
    client: OracleAgentMemory, store: SQLMemoryStore, server: ScriptedModelServer
) -> None:
    inline = MemoryExtractionConfig(extraction_mode=MemoryExtractionMode.INLINE)
    client.create_thread(thread_id="t1", user_id="u1", memory_extraction_config=inline)
    server.add(ScriptedAnswer(text="At once."))
    client.add_image(DATA, thread_id="t1", image_id="i1")
    assert image(store, "i1").content == "At once."
    assert client.extraction_results() == []


def test_without_a_model_the_background_takes_no_image(
    open_client: OpenClient, store: SQLMemoryStore
) -> None:
    client = open_client(BACKGROUND)
    before = everything(store)
    with pytest.raises(InvalidInputError, match="no model"):
        client.add_image(DATA, user_id="u1")
    assert everything(store) == before


def test_async_twins_do_what_their_methods_do(
    client: OracleAgentMemory, store: SQLMemoryStore, gate: threading.Event
) -> None:
    gate.set()

    async def main() -> None:
        thread = await client.create_thread_async(thread_id="t1", user_id="u1")
        for owner in (client, thread):
            image_id = await owner.add_image_async(DATA, user_id="u1")
            await client.wait_for_memory_extraction_async(LONG_S)
            assert image(store, image_id).content
            await owner.update_image_async(image_id, description="sea")
            scope: dict[str, Any] = {"user_id": "u1"} if owner is client else {}
            (one,) = await owner.list_images_async(image_id, **scope)
            assert one.content == "sea"
            assert await owner.delete_image_async(image_id) == 1
            assert await owner.delete_image_async(image_id) == 0

    asyncio.run(main())
    check_agreement(store)
