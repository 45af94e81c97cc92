"""Waiting for extraction, deletes that wait for it, and closing with work under way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from oracleagentmemory._threaded import DEFAULT_POOL_SIZE
from oracleagentmemory.core import OracleAgentMemory, OracleThread, SQLiteMemoryStore
from oracleagentmemory.core.threadscheduler import ThreadScheduler
from oracleagentmemory.errors import RetryableError, StateError, WaitTimeoutError
from oracleagentmemory.observability import (
    Event,
    GenericEventListener,
    register_event_listeners,
)
from tests.sdk.client.conftest import EXTRACTION_OFF
from tests.sdk.client.jobs import LONG_S, GatedRunner, gated, make_job


@pytest.fixture
def work() -> Iterator[tuple[ThreadScheduler, GatedRunner]]:
    """A scheduler whose jobs wait at gates, with deletes that wait for moments only."""
    with gated(delete_wait_s=0.01) as both:
        yield both


@pytest.fixture
def scheduler(work: tuple[ThreadScheduler, GatedRunner]) -> ThreadScheduler:
    """The scheduler alone."""
    return work[0]


@pytest.fixture
def runner(work: tuple[ThreadScheduler, GatedRunner]) -> GatedRunner:
    """Its runner."""
    return work[1]


@pytest.fixture
def client(store: SQLiteMemoryStore, scheduler: ThreadScheduler) -> OracleAgentMemory:
    """A client of that scheduler."""
    return OracleAgentMemory(
        store=store, memory_extraction_config=EXTRACTION_OFF, scheduler=scheduler
    )


@pytest.fixture
def thread(client: OracleAgentMemory) -> OracleThread:
    """The thread t1 of u1 and a1, with a message and memories in and outside of it."""
    client.add_user("u1", "likes pizza")
    client.add_agent("a1", "serves pizza")
    thread = client.create_thread(thread_id="t1", user_id="u1", agent_id="a1")
    thread.add_messages([{"role": "user", "content": "pizza", "id": "n"}])
    thread.add_memory("pizza", memory_id="m")
    client.add_memory("pasta", memory_id="free", user_id="u1")
    return thread


@pytest.fixture
def busy(thread: OracleThread, scheduler: ThreadScheduler, runner: GatedRunner) -> OracleThread:
    """The thread with a job that is running."""
    scheduler.start([make_job("1", user_id="u1", agent_id="a1")], None)
    runner.wait_until_begun(1)
    return thread


Deletion = Callable[[OracleAgentMemory, OracleThread], Any]

#: What waits for the work on t1, each with what its async twin is called by.
WAITING: dict[str, tuple[str, str, dict[str, Any]]] = {
    "message": ("thread", "delete_message", {"message_id": "n"}),
    "memory of a thread": ("thread", "delete_memory", {"memory_id": "m"}),
    "memory": ("client", "delete_memory", {"memory_id": "m"}),
    "thread": ("client", "delete_thread", {"thread_id": "t1"}),
    "user": ("client", "delete_user", {"user_id": "u1"}),
    "user alone": ("client", "delete_user", {"user_id": "u1", "cascade": False}),
    "agent": ("client", "delete_agent", {"agent_id": "a1"}),
    "agent alone": ("client", "delete_agent", {"agent_id": "a1", "cascade": False}),
}
FREE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "unknown message": ("thread", "delete_message", {"message_id": "no"}),
    "unknown memory of a thread": ("thread", "delete_memory", {"memory_id": "no"}),
    "memory of no thread by a thread": ("thread", "delete_memory", {"memory_id": "free"}),
    "unknown memory": ("client", "delete_memory", {"memory_id": "no"}),
    "unknown thread": ("client", "delete_thread", {"thread_id": "t2"}),
    "another user": ("client", "delete_user", {"user_id": "u2"}),
    "another agent": ("client", "delete_agent", {"agent_id": "a2"}),
}


def call_of(
    case: tuple[str, str, dict[str, Any]], client: OracleAgentMemory, thread: OracleThread
) -> Callable[..., Any]:
    """Return the delete of a case; `how` is put around its name."""
    owner, name, arguments = case
    one: Any = client if owner == "client" else thread

    def call(how: str = "{}") -> Any:
        return getattr(one, how.format(name))(**arguments)

    return call


# -- deletes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WAITING)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_r129_r130_a_delete_that_waits_too_long_deletes_nothing(
    client: OracleAgentMemory,
    busy: OracleThread,
    runner: GatedRunner,
    rows: Callable[[], list[str]],
    name: str,
    asynchronous: bool,
) -> None:
    delete = call_of(WAITING[name], client, busy)
    before = rows()
    with pytest.raises(TimeoutError, match=r"0\.01 s.*nothing was deleted.*thread t1"):
        asyncio.run(delete("{}_async")) if asynchronous else delete()
    assert rows() == before
    runner.let()
    assert (asyncio.run(delete("{}_async")) if asynchronous else delete()) == 1
    assert rows() != before


@pytest.mark.parametrize("name", FREE)
def test_r048_r129_what_is_unknown_or_of_another_scope_is_not_waited_for(
    client: OracleAgentMemory, busy: OracleThread, name: str
) -> None:
    delete = call_of(FREE[name], client, busy)
    assert delete() == 0
    assert asyncio.run(delete("{}_async")) == 0


def test_r048_a_memory_of_no_thread_is_deleted_at_once(
    client: OracleAgentMemory, busy: OracleThread
) -> None:
    assert client.delete_memory("free") == 1


def test_r129_a_delete_waits_until_the_work_has_ended_and_for_no_later_work(
    client: OracleAgentMemory,
    busy: OracleThread,
    scheduler: ThreadScheduler,
    runner: GatedRunner,
) -> None:
    scheduler.delete_wait_s = LONG_S
    prepared = client.prepare_delete_thread("t1")
    scheduler.start([make_job("2", user_id="u1")], None)
    deleting = threading.Thread(target=lambda: gone.append(client.delete_memory("m")))
    gone: list[int] = []
    deleting.start()
    with pytest.raises(RetryableError):
        client.write(prepared)
    runner.let("1")
    runner.wait_until_begun(2)
    # What was prepared before the second job does not wait for it.
    assert client.write(prepared) == 1
    assert busy.get_messages() == []
    runner.let()
    deleting.join(LONG_S)
    assert gone == [0]


@pytest.mark.parametrize("name", WAITING)
def test_a_prepared_delete_is_refused_while_its_work_goes_on(
    client: OracleAgentMemory,
    busy: OracleThread,
    runner: GatedRunner,
    store: SQLiteMemoryStore,
    rows: Callable[[], list[str]],
    name: str,
) -> None:
    prepared = call_of(WAITING[name], client, busy)("prepare_{}")
    before = rows()
    with pytest.raises(RetryableError, match="nothing was deleted: 1"):
        store.write_all([client.prepare_add_memory("x"), prepared])
    assert rows() == before
    runner.let()
    client.wait_for_memory_extraction(timeout=LONG_S)
    assert store.write_all([prepared]) == [1]


@pytest.mark.parametrize("name", WAITING)
def test_inside_an_open_transaction_a_delete_does_not_wait(
    client: OracleAgentMemory,
    busy: OracleThread,
    scheduler: ThreadScheduler,
    store: SQLiteMemoryStore,
    rows: Callable[[], list[str]],
    name: str,
) -> None:
    scheduler.delete_wait_s = LONG_S
    before = rows()
    with store.engine.write(), pytest.raises(RetryableError, match="has not ended"):
        call_of(WAITING[name], client, busy)()
    assert rows() == before


# -- waiting -----------------------------------------------------------------------------------


def test_r128_a_thread_waits_for_its_own_work_and_the_client_for_all(
    client: OracleAgentMemory,
    busy: OracleThread,
    scheduler: ThreadScheduler,
    runner: GatedRunner,
) -> None:
    other = client.create_thread(thread_id="t2", user_id="u2")
    other.wait_for_memory_extraction(timeout=0.001)
    asyncio.run(other.wait_for_memory_extraction_async(timeout=0.001))
    for one in (client, busy):
        with pytest.raises(TimeoutError, match=r"0\.001 s: 1 \(messages, thread t1\)"):
            one.wait_for_memory_extraction(timeout=0.001)
        with pytest.raises(TimeoutError, match="thread t1"):
            asyncio.run(one.wait_for_memory_extraction_async(timeout=0.001))
    scheduler.start([make_job("2", "t2")], None)
    runner.let("1")
    busy.wait_for_memory_extraction(timeout=None)
    with pytest.raises(WaitTimeoutError):
        client.wait_for_memory_extraction(timeout=0.001)
    runner.let("2")
    client.wait_for_memory_extraction(timeout=None)
    asyncio.run(client.wait_for_memory_extraction_async(timeout=None))


def test_r128_failed_work_has_ended_and_raises_nothing(
    client: OracleAgentMemory, busy: OracleThread, runner: GatedRunner
) -> None:
    runner.fails["1"] = ValueError("no")
    runner.let()
    busy.wait_for_memory_extraction(timeout=LONG_S)
    client.wait_for_memory_extraction(timeout=LONG_S)


def test_r128_work_accepted_after_the_wait_began_is_not_waited_for(
    client: OracleAgentMemory, busy: OracleThread, scheduler: ThreadScheduler, runner: GatedRunner
) -> None:
    async def main() -> None:
        waiting = asyncio.create_task(client.wait_for_memory_extraction_async(timeout=LONG_S))
        await asyncio.sleep(0)
        scheduler.start([make_job("later", "t2")], None)
        runner.let("1")
        await waiting
        assert len(scheduler.pending().unfinished()) == 1

    asyncio.run(main())


def test_r128_timeouts_are_checked_as_documented(
    client: OracleAgentMemory, busy: OracleThread
) -> None:
    for timeout in (0, -1, float("nan")):
        for one in (client, busy):
            with pytest.raises(ValueError, match="above 0"):
                one.wait_for_memory_extraction(timeout=timeout)
            with pytest.raises(ValueError, match="above 0"):
                asyncio.run(one.wait_for_memory_extraction_async(timeout=timeout))
    with pytest.raises(TypeError, match="seconds"):
        client.wait_for_memory_extraction(timeout="soon")  # type: ignore[arg-type]


def test_nothing_waits_inside_an_open_transaction(
    client: OracleAgentMemory, busy: OracleThread, store: SQLiteMemoryStore
) -> None:
    for one in (client, busy):
        with store.engine.write(), pytest.raises(StateError, match="waiting for background work"):
            one.wait_for_memory_extraction(timeout=LONG_S)


def test_waits_and_waiting_deletes_leave_the_pool_to_others(
    client: OracleAgentMemory, busy: OracleThread, scheduler: ThreadScheduler, runner: GatedRunner
) -> None:
    scheduler.delete_wait_s = LONG_S

    async def main() -> list[Any]:
        waits = [
            asyncio.create_task(wait)
            for _ in range(DEFAULT_POOL_SIZE + 1)
            for wait in (
                client.wait_for_memory_extraction_async(timeout=LONG_S),
                busy.wait_for_memory_extraction_async(timeout=LONG_S),
                client.delete_memory_async("m"),
            )
        ]
        found = await asyncio.wait_for(client.search_async("pasta", user_id="u1"), LONG_S)
        assert found[0].id == "free"
        assert not any(wait.done() for wait in waits)
        runner.let()
        return await asyncio.gather(*waits)

    results = asyncio.run(main())
    assert sum(one for one in results if one is not None) == 1


def test_a_wait_given_up_disturbs_neither_the_job_nor_other_waits(
    client: OracleAgentMemory,
    busy: OracleThread,
    runner: GatedRunner,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def given_up() -> None:
        waiting = asyncio.create_task(client.wait_for_memory_extraction_async(timeout=None))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(given_up())
    with pytest.raises(WaitTimeoutError):
        client.wait_for_memory_extraction(timeout=0.001)
    runner.let()
    client.wait_for_memory_extraction(timeout=LONG_S)
    assert caplog.records == []


# -- closing -----------------------------------------------------------------------------------


def own_work(client: OracleAgentMemory, runner: GatedRunner) -> ThreadScheduler:
    """Return the scheduler that a client made for itself, over another runner."""
    own = client._work._own
    assert own is not None
    own._run = runner
    return own


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_r131_closing_returns_at_its_timeout_names_the_rest_and_runs_it(
    store: SQLiteMemoryStore, caplog: pytest.LogCaptureFixture, asynchronous: bool
) -> None:
    client = OracleAgentMemory(store=store, memory_extraction_config=EXTRACTION_OFF)
    thread = client.create_thread(thread_id="t1", user_id="u1")
    thread.add_memory("pizza", memory_id="m")
    runner = GatedRunner()
    own_work(client, runner).start([make_job("1"), make_job("2")], None)
    asyncio.run(client.close_async(timeout=0.001)) if asynchronous else client.close(timeout=0.001)
    assert "unfinished: 1 (messages, thread t1), 2 (messages, thread t1)" in caplog.text
    for refused in (
        lambda: thread.add_messages([{"role": "user", "content": "late"}]),
        client.create_thread,
        client.wait_for_memory_extraction,
        thread.wait_for_memory_extraction,
        lambda: asyncio.run(client.wait_for_memory_extraction_async()),
    ):
        with pytest.raises(RuntimeError, match="closed"):
            refused()
    assert thread.get_messages() == []
    assert [one.id for one in client.search("pizza", user_id="u1")] == ["m"]
    caplog.clear()
    runner.let()
    asyncio.run(client.close_async(timeout=LONG_S)) if asynchronous else client.close(LONG_S)
    assert runner.begun == ["1", "2"]
    assert caplog.records == []


def test_r131_work_is_refused_from_the_moment_that_closing_begins(
    store: SQLiteMemoryStore,
) -> None:
    client = OracleAgentMemory(store=store, memory_extraction_config=EXTRACTION_OFF)
    runner = GatedRunner()
    own = own_work(client, runner)
    own.start([make_job("1")], None)

    async def main() -> None:
        closing = asyncio.create_task(client.close_async(timeout=None))
        await asyncio.sleep(0)
        assert not closing.done()
        with pytest.raises(RuntimeError, match="closed"):
            client.create_thread()
        with pytest.raises(RuntimeError, match="stopped"):
            own.start([make_job("2")], None)
        runner.let()
        await closing

    asyncio.run(main())
    assert runner.begun == ["1"]


def test_closing_inside_an_open_transaction_with_work_under_way_is_refused(
    store: SQLiteMemoryStore,
) -> None:
    client = OracleAgentMemory(store=store, memory_extraction_config=EXTRACTION_OFF)
    runner = GatedRunner()
    own_work(client, runner).start([make_job("1")], None)
    with store.engine.write(), pytest.raises(StateError, match="waiting for background work"):
        client.close()
    client.create_thread(thread_id="t")
    runner.let()
    client.close(LONG_S)


def test_a_scheduler_of_the_callers_stays_open(
    client: OracleAgentMemory, busy: OracleThread, scheduler: ThreadScheduler
) -> None:
    client.close(timeout=None)
    scheduler.start([make_job("2")], None)
    assert len(scheduler.pending().unfinished()) == 2


def test_a_standalone_thread_has_work_of_its_own_and_a_clients_threads_share_it(
    store: SQLiteMemoryStore, client: OracleAgentMemory, thread: OracleThread
) -> None:
    alone = OracleThread(store)
    assert alone._work.scheduler is not OracleThread(store)._work.scheduler
    assert thread._work is client.get_thread("t1")._work is client._work
    runner = GatedRunner()
    own = alone._work._own
    assert own is not None
    own._run = runner
    own.start([make_job("1", alone.thread_id)], None)
    with pytest.raises(WaitTimeoutError):
        alone.wait_for_memory_extraction(timeout=0.001)
    runner.let()
    alone.wait_for_memory_extraction(timeout=LONG_S)


# -- events ------------------------------------------------------------------------------------


def test_waits_and_waiting_deletes_are_heard_once_in_both_forms(
    client: OracleAgentMemory, busy: OracleThread, runner: GatedRunner
) -> None:
    heard: list[str] = []
    ear = GenericEventListener(Event, lambda event: heard.append(event.event_name))
    wait, delete = "wait_for_memory_extraction", "agent_memory.delete_memory"

    async def main() -> None:
        with pytest.raises(WaitTimeoutError):
            await client.wait_for_memory_extraction_async(timeout=0.001)
        runner.let()
        await busy.wait_for_memory_extraction_async(timeout=LONG_S)
        await client.delete_memory_async("m")

    with register_event_listeners([ear]):
        asyncio.run(main())
        client.wait_for_memory_extraction()
    waits = [f"{one}.{wait}" for one in ("agent_memory", "thread", "agent_memory")]
    assert [name for name in heard if wait in name] == [
        f"{name}.{end}" for name in waits for end in ("started", "completed")
    ]
    assert [name for name in heard if name.startswith(delete)] == [
        f"{delete}.started",
        f"{delete}.completed",
    ]
