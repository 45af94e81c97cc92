"""When extraction runs, what it sees and who waits for it, through the documented API."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from oracleagentmemory.apis import RecordStatus
from oracleagentmemory.core import (
    BackgroundExtractionQueueFullBehavior,
    MemoryExtractionConfig,
    OracleAgentMemory,
)
from oracleagentmemory.core import MemoryLinkExtractionMode as LinkMode
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.core.thread import OracleThread
from tests.sdk.client.jobs import LONG_S
from tests.sdk.extraction.answers import item
from tests.sdk.extraction.models import EXTRACTION, LINKS, SUMMARY, inline, memories_of, open_client
from tests.sdk.extraction.steps import StepLlm, linked, shown

QueueFull = BackgroundExtractionQueueFullBehavior
OWNERS: dict[str, Any] = {"thread_id": "t1", "user_id": "u1", "agent_id": "a1"}
#: A thread's places in the queue: one job runs and 16 wait.
PLACES = 17


class Clients:
    """Opens clients that share one model, each on a file of its own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.llm = StepLlm()
        self._folder = folder
        self._stack = stack
        self._count = 0

    def open(
        self, config: MemoryExtractionConfig, llm: StepLlm | None = None
    ) -> tuple[OracleAgentMemory, SQLMemoryStore]:
        """Return a client that is closed after the test, and its store."""
        self._count += 1
        path = self._folder / f"{self._count}.sqlite3"
        return self._stack.enter_context(open_client(path, llm or self.llm, config))


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[Clients]:
    with ExitStack() as stack:
        opened = Clients(tmp_path, stack)
        yield opened
        # The clients close after this, which waits for work that the model keeps waiting.
        opened.llm.may_answer.set()


def tell(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, "id": text} for text in texts]


def stored_messages(store: SQLMemoryStore) -> list[str]:
    return [one.id for one in store.list("message", limit=None)]


def texts_of(store: SQLMemoryStore, thread: OracleThread) -> list[str | None]:
    return [one.content for one in memories_of(store, thread)]


# -- the defaults ------------------------------------------------------------------------------


def test_r122_without_settings_a_call_returns_before_extraction_and_links_come_after(
    clients: Clients,
) -> None:
    llm = clients.llm
    llm.may_answer.clear()
    llm.answers[LINKS] = [linked("refines")]
    client, store = clients.open(MemoryExtractionConfig())
    thread = client.create_thread(**OWNERS)
    thread.add_memory("likes pizza", memory_id="old", autonomous_linking=False)
    assert thread.add_messages(tell("likes pizza with basil")) == ["likes pizza with basil"]
    assert texts_of(store, thread) == ["likes pizza"]
    llm.may_answer.set()
    thread.wait_for_memory_extraction(LONG_S)
    assert llm.steps == [EXTRACTION, LINKS, SUMMARY]
    old, new = memories_of(store, thread)
    assert (old.status, new.content) == (RecordStatus.INVALID, "likes pizza with basil")
    (relation,) = store.list_relations(limit=None)
    assert (relation.source_record_id, relation.target_record_id) == (new.id, "old")


def fill_the_queue(thread: OracleThread, llm: StepLlm) -> None:
    """Let the model think about one message of a thread while 16 more wait."""
    llm.may_answer.clear()
    for number in range(PLACES):
        assert thread.add_messages(tell(f"m{number}")) == [f"m{number}"]


@pytest.mark.parametrize("behavior", [None, QueueFull.WAIT_THEN_DROP])
def test_r122_what_finds_no_place_in_the_queue_is_stored_and_not_learnt_from(
    clients: Clients, behavior: QueueFull | None, caplog: pytest.LogCaptureFixture
) -> None:
    config = MemoryExtractionConfig(enable_context_summary=False)
    if behavior is not None:
        config.background_extraction_queue_full_behavior = behavior
        config.background_extraction_queue_put_timeout_seconds = 0.01
    client, store = clients.open(config)
    thread = client.create_thread(**OWNERS)
    fill_the_queue(thread, clients.llm)
    assert thread.add_messages(tell("late")) == ["late"]
    assert "the background queue is full" in caplog.text
    clients.llm.may_answer.set()
    client.wait_for_memory_extraction(LONG_S)
    assert stored_messages(store) == [*(f"m{number}" for number in range(PLACES)), "late"]
    assert texts_of(store, thread) == [f"m{number}" for number in range(PLACES)]
    (refused,) = (one for one in client.extraction_results() if one.state == "failed")
    assert [one.step for one in refused.problems] == ["queue"]


# -- a full queue ------------------------------------------------------------------------------


def raising(put_s: float) -> MemoryExtractionConfig:
    return MemoryExtractionConfig(
        enable_context_summary=False,
        background_extraction_queue_full_behavior=QueueFull.WAIT_THEN_RAISE,
        background_extraction_queue_put_timeout_seconds=put_s,
    )


def test_r123_a_wait_that_raises_has_stored_the_message(clients: Clients) -> None:
    client, store = clients.open(raising(0.01))
    thread = client.create_thread(**OWNERS)
    fill_the_queue(thread, clients.llm)
    with pytest.raises(TimeoutError, match=r"no place within 0\.01 s"):
        thread.add_messages(tell("late"))
    assert thread.get_message("late").content == "late"
    clients.llm.may_answer.set()
    client.wait_for_memory_extraction(LONG_S)
    # The thread goes on as if nothing had happened.
    thread.add_messages(tell("later"))
    client.wait_for_memory_extraction(LONG_S)
    assert texts_of(store, thread) == [*(f"m{number}" for number in range(PLACES)), "later"]
    assert stored_messages(store)[-2:] == ["late", "later"]


def test_r123_a_wait_in_which_a_place_comes_free_raises_nothing(clients: Clients) -> None:
    client, store = clients.open(raising(LONG_S))
    thread = client.create_thread(**OWNERS)
    fill_the_queue(thread, clients.llm)
    added: list[str] = []
    waiting = threading.Thread(target=lambda: added.extend(thread.add_messages(tell("late"))))
    waiting.start()
    while len(stored_messages(store)) <= PLACES:
        waiting.join(0.001)
    assert added == []
    clients.llm.may_answer.set()
    waiting.join(LONG_S)
    client.wait_for_memory_extraction(LONG_S)
    assert added == ["late"]
    assert texts_of(store, thread)[-1] == "late"


def test_a_full_queue_of_one_thread_refuses_no_other_thread(clients: Clients) -> None:
    client, store = clients.open(raising(0.01))
    fill_the_queue(client.create_thread(**OWNERS), clients.llm)
    other = client.create_thread(thread_id="t2", user_id="u1", agent_id="a1")
    assert other.add_messages(tell("other")) == ["other"]
    clients.llm.may_answer.set()
    client.wait_for_memory_extraction(LONG_S)
    assert texts_of(store, other) == ["other"]


# -- links -------------------------------------------------------------------------------------


def link_sizes(llm: StepLlm) -> list[int]:
    """Return the characters of each request for links, system prompt included."""
    return [
        len(system) + len(told)
        for (step, told), system in zip(llm.asked, llm.systems, strict=True)
        if step == LINKS
    ]


def learn_many(
    clients: Clients, llm: StepLlm, budget: int, count: int = 25
) -> tuple[OracleThread, SQLMemoryStore]:
    """Learn memories that all have candidates, with a budget for their links."""
    config = inline(enable_context_summary=False, memory_link_extraction_token_limit=budget)
    client, store = clients.open(config, llm)
    thread = client.create_thread(**OWNERS)
    thread.add_memory("likes pizza", memory_id="old", autonomous_linking=False)
    thread.add_messages(tell(*(f"likes pizza number {number}" for number in range(count))))
    return thread, store


def test_r124_the_budget_is_a_total_of_all_requests_of_one_pass(clients: Clients) -> None:
    free, bound = StepLlm(), StepLlm()
    thread, _ = learn_many(clients, free, 0)
    sizes = link_sizes(free)
    # Below 1 there is no budget: ten new memories a request.
    assert len(sizes) == 3
    assert [one.state for one in thread.extraction_results()] == ["succeeded"]

    budget = int(sum(sizes[:2]) / 3.5)
    thread, store = learn_many(clients, bound, budget)
    assert 0 < sum(link_sizes(bound)) <= budget * 3.5
    assert len(memories_of(store, thread)) == 26
    (result,) = thread.extraction_results()
    assert result.state == "partial"
    assert "memory_link_extraction_token_limit" in result.problems[-1].reason


@pytest.mark.parametrize(("budget", "links"), [(1, 0), (0, 1), (100_000, 1)])
def test_r124_add_memory_has_the_same_budget(clients: Clients, budget: int, links: int) -> None:
    config = inline(memory_link_extraction_token_limit=budget)
    client, store = clients.open(config)
    thread = client.create_thread(**OWNERS)
    for adder in (client, thread):
        clients.llm.asked.clear()
        clients.llm.answers[LINKS] = [linked("supports")]
        scope: dict[str, Any] = {"user_id": "u2", "agent_id": "a2"} if adder is client else {}
        adder.add_memory("likes pizza", autonomous_linking=False, **scope)
        new = adder.add_memory("likes pizza with basil", **scope)
        assert store.get_memory(new) is not None
        assert clients.llm.steps == [LINKS] * links
        sources = [one.source_record_id for one in store.list_relations(limit=None)]
        assert sources.count(new) == links


def test_r125_disabled_linking_ignores_every_setting_of_links(clients: Clients) -> None:
    config = inline(
        enable_context_summary=False,
        memory_link_extraction_mode=LinkMode.DISABLED,
        memory_link_extraction_custom_instructions="Mind the basil.",
        memory_link_extraction_token_limit=1,
    )
    client, store = clients.open(config)
    thread = client.create_thread(**OWNERS)
    thread.add_memory("likes pizza", autonomous_linking=False)
    thread.add_messages(tell("likes pizza with basil"))
    assert clients.llm.steps == [EXTRACTION]
    assert "Mind the basil" not in clients.llm.systems[0]
    assert "candidate_index" not in clients.llm.asked[0][1]
    assert texts_of(store, thread) == ["likes pizza", "likes pizza with basil"]
    assert store.list_relations(limit=None) == []
    (result,) = thread.extraction_results()
    assert (result.state, result.problems) == ("succeeded", ())


def test_r125_linking_during_extraction_has_no_budget_and_no_request_of_its_own(
    clients: Clients,
) -> None:
    config = inline(
        enable_context_summary=False,
        memory_link_extraction_mode=LinkMode.DURING_EXTRACTION,
        memory_link_extraction_token_limit=1,
    )
    client, store = clients.open(config)
    thread = client.create_thread(**OWNERS)
    thread.add_memory("likes pizza", memory_id="old", autonomous_linking=False)
    link = {"target_candidate_index": 1, "link_type": "refines"}
    found = {**item("likes pizza with basil"), "links": [link]}
    clients.llm.answers[EXTRACTION] = [{"thoughts": None, "memories": [found]}]
    thread.add_messages(tell("with basil, please"))
    assert clients.llm.steps == [EXTRACTION]
    (relation,) = store.list_relations(limit=None)
    assert (relation.target_record_id, relation.relation_type) == ("old", "refines")
    assert [one.status for one in memories_of(store, thread)] == [
        RecordStatus.INVALID,
        RecordStatus.VALID,
    ]


def test_r125_an_added_memory_is_linked_whatever_the_mode_of_extraction(clients: Clients) -> None:
    client, store = clients.open(inline(memory_link_extraction_mode=LinkMode.DISABLED))
    thread = client.create_thread(**OWNERS)
    clients.llm.answers[LINKS] = [linked("supports")]
    thread.add_memory("likes pizza", memory_id="old", autonomous_linking=False)
    thread.add_memory("likes pizza with basil", memory_id="new")
    (relation,) = store.list_relations(limit=None)
    assert (relation.source_record_id, relation.target_record_id) == ("new", "old")


# -- windows -----------------------------------------------------------------------------------


def seen(llm: StepLlm) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Return the earlier and the new messages of each extraction, in order."""
    prompts = llm.told(EXTRACTION)
    return [(shown(one, "earlier_messages"), shown(one, "new_messages")) for one in prompts]


BATCHES = [("m1",), ("m2", "m3"), ("m4", "m5", "m6")]


@pytest.mark.parametrize(
    ("window", "frequency", "expected"),
    [
        # Each call, and only what it adds.
        (-1, -1, [([], list(batch)) for batch in BATCHES]),
        # Each call, with those before as context.
        (4, -1, [([], ["m1"]), (["m1"], ["m2", "m3"]), (["m3"], ["m4", "m5", "m6"])]),
        # Calls are counted where a window looks at one call only.
        (-1, 2, [([], ["m2", "m3"])]),
        # Messages are counted where it reaches back.
        (4, 2, [([], ["m1", "m2"]), (["m1", "m2"], ["m3", "m4"]), (["m3", "m4"], ["m5", "m6"])]),
    ],
)
@pytest.mark.parametrize("reloaded", [False, True], ids=["one handle", "a handle a call"])
def test_r127_windows_and_frequencies(
    clients: Clients, window: int, frequency: int, expected: list[Any], *, reloaded: bool
) -> None:
    config = inline(
        enable_context_summary=False,
        memory_extraction_window=window,
        memory_extraction_frequency=frequency,
    )
    client, store = clients.open(config)
    thread = client.create_thread(**OWNERS)
    for batch in BATCHES:
        thread = client.get_thread("t1") if reloaded else thread
        thread.add_messages(tell(*batch))
    assert seen(clients.llm) == expected
    learnt = [text for _, new in expected for text in new]
    assert texts_of(store, thread) == learnt


# -- metadata ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "inherited", "named"),
    [
        (True, {"shop": "Lyon"}, "till"),
        (["shop"], {"shop": "Lyon"}, None),
        (["till"], None, "till"),
        (False, None, None),
    ],
)
def test_r126_metadata_on_which_messages_differ_is_not_inherited_and_costs_nothing(
    clients: Clients, setting: bool | list[str], inherited: Any, named: str | None
) -> None:
    config = inline(
        enable_context_summary=False, memory_extraction_inherit_message_metadata=setting
    )
    client, store = clients.open(config)
    thread = client.create_thread(**OWNERS)
    thread.add_messages(
        tell("m1", "m2"), metadata=[{"shop": "Lyon", "till": 1}, {"shop": "Lyon", "till": 2}]
    )
    assert [one.metadata for one in memories_of(store, thread)] == [inherited, inherited]
    assert [one.metadata for one in thread.get_messages()] == [
        {"shop": "Lyon", "till": 1},
        {"shop": "Lyon", "till": 2},
    ]
    (result,) = thread.extraction_results()
    # Nothing that was said is lost by it.
    assert result.state == "succeeded"
    assert [one.step for one in result.problems] == ([] if named is None else ["metadata"])
    assert named is None or named in result.problems[0].reason
    found = client.search("m1", user_id="u1", metadata_filter={"shop": "Lyon"})
    kinds = {one.record.record_type for one in found}
    assert kinds == ({"message", "fact"} if inherited else {"message"})


# -- waits -------------------------------------------------------------------------------------


def test_r128_a_client_waits_for_its_own_work_and_not_for_anothers(clients: Clients) -> None:
    busy, store = clients.open(MemoryExtractionConfig(enable_context_summary=False))
    idle = OracleAgentMemory(store=store, llm=clients.llm)
    clients.llm.may_answer.clear()
    busy.create_thread(**OWNERS).add_messages(tell("m1"))
    idle.get_thread("t1").wait_for_memory_extraction(LONG_S)
    with pytest.raises(TimeoutError, match="thread t1"):
        busy.wait_for_memory_extraction(0.01)
    assert store.list_memories(limit=None) == []
    clients.llm.may_answer.set()
    busy.wait_for_memory_extraction(None)
    assert [one.content for one in store.list_memories(limit=None)] == ["m1"]
    idle.close()


def test_r128_extraction_that_failed_has_ended(clients: Clients) -> None:
    client, store = clients.open(MemoryExtractionConfig(enable_context_summary=False))
    clients.llm.answers[EXTRACTION] = [ValueError("no")]
    thread = client.create_thread(**OWNERS)
    thread.add_messages(tell("m1"))
    thread.add_messages(tell("m2"))
    thread.wait_for_memory_extraction(LONG_S)
    assert texts_of(store, thread) == ["m2"]
    assert [one.state for one in thread.extraction_results()] == ["failed", "succeeded"]
