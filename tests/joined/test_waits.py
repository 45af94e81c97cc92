"""Background work and deletes on Django's connection: nothing waits inside a caller's block."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import transaction

from oracleagentmemory.core import MemoryExtractionConfig, OracleAgentMemory
from oracleagentmemory.core.threadscheduler import ThreadScheduler
from oracleagentmemory.errors import RetryableError, StateError
from tests.joined.conftest import Joined
from tests.joined.test_store import Store, open_store
from tests.joined.test_transactions import undone
from tests.sdk.client.jobs import LONG_S, GatedRunner, gated, make_job


@pytest.fixture
def store(database: Joined) -> Iterator[Store]:
    opened = open_store(database)
    yield opened
    opened.close()


@pytest.fixture
def work() -> Iterator[tuple[ThreadScheduler, GatedRunner]]:
    with gated() as both:
        yield both


@pytest.fixture
def client(store: Store, work: tuple[ThreadScheduler, GatedRunner]) -> OracleAgentMemory:
    client = OracleAgentMemory(
        store=store,
        memory_extraction_config=MemoryExtractionConfig(extract_memories=False),
        scheduler=work[0],
    )
    client.create_thread(thread_id="t1", user_id="ada", agent_id="a")
    work[0].start([make_job("1", user_id="ada", agent_id="a")], None)
    return client


def test_a_delete_inside_a_block_is_refused_at_once_while_its_work_goes_on(
    database: Joined, client: OracleAgentMemory, work: tuple[ThreadScheduler, GatedRunner]
) -> None:
    prepared = client.prepare_delete_thread("t1")
    for call in (
        lambda: client.delete_thread("t1"),
        lambda: client.delete_user("ada"),
        lambda: client.write(prepared),
    ):
        with undone(transaction.atomic(using=database.alias)):
            database.add_note("never")
            with pytest.raises(RetryableError, match="has not ended"):
                call()
    assert [one.id for one in client.list_threads("ada")] == ["t1"]
    work[1].let()
    client.wait_for_memory_extraction(timeout=LONG_S)
    with transaction.atomic(using=database.alias):
        database.add_note("deleted")
        assert client.write(prepared) == 1
    assert (client.list_threads("ada"), database.notes()) == ([], ["deleted"])


def test_nothing_waits_inside_a_block(database: Joined, client: OracleAgentMemory) -> None:
    with (
        undone(transaction.atomic(using=database.alias)),
        pytest.raises(StateError, match="waiting for background work"),
    ):
        client.wait_for_memory_extraction(timeout=LONG_S)
