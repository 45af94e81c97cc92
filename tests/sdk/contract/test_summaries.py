"""Saved summaries: who may save one, how many are kept, and what empties them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from oracleagentmemory.apis import MessageRecord, RecordStatus, TextContent
from oracleagentmemory.apis.records import ThreadSummaryRecord
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.storage.store.summaries import (
    KEPT_SUMMARIES,
    SummaryDraft,
    seen_summaries,
    summary_strategy,
)
from tests.sdk.contract.snapshots import check_agreement, everything
from tests.sdk.search.stores import Clock

EMPTY = {"text": "", "topics": []}


@pytest.fixture
def store(store: SQLMemoryStore) -> SQLMemoryStore:
    """A store with the thread t1 of u1 and a1 and three messages in it."""
    store.write(store.prepare_create_thread("t1", user_id="u1", agent_id="a1"))
    add(store, "one", "two", "three")
    return store


def add(store: SQLMemoryStore, *texts: str, **more: Any) -> None:
    scope = {"user_ids": "u1", "agent_ids": "a1"} | more
    store.add(
        list(texts), "message", record_ids=list(texts), roles="user", thread_ids="t1", **scope
    )


def saved(store: SQLMemoryStore) -> list[ThreadSummaryRecord]:
    """The summaries of t1 by what they cover."""
    found = cast("list[ThreadSummaryRecord]", store.list("thread_summary", thread_id="t1"))
    return sorted(found, key=lambda one: one._covered_through_seq_no)


def texts(store: SQLMemoryStore) -> list[Any]:
    return [one.content["text"] for one in saved(store) if one.content is not None]


def draft(
    store: SQLMemoryStore, text: str, *, until: str | None = None, strategy: str = "llm"
) -> SummaryDraft:
    """A summary of the messages up to one of them, by somebody who sees what is there now."""
    messages: Sequence[MessageRecord] = store.list_thread_messages("t1")
    if until is not None:
        names = [message.id for message in messages]
        messages = messages[: names.index(until) + 1]
    return SummaryDraft(
        text=text,
        topics=["sea"],
        parameters={"strategy": strategy},
        messages=messages,
        covers=messages[-1].seq_no,
        seen=seen_summaries(saved(store)),
    )


def save(store: SQLMemoryStore, clock: Clock, text: str, **options: Any) -> bool:
    clock.pass_days(0.01)
    return store.write(store.prepare_save_summary("t1", draft(store, text, **options)))


def test_the_first_summary_takes_the_row_that_the_thread_began_with(
    store: SQLMemoryStore, clock: Clock
) -> None:
    (placeholder,) = saved(store)
    assert save(store, clock, "S") is True
    (summary,) = saved(store)
    assert (summary.id, summary.status) == (placeholder.id, RecordStatus.VALID)
    assert summary.content == {"text": "S", "topics": ["sea"]}
    reserved = cast("dict[str, Any]", summary.metadata)["$agent_memory"]
    assert reserved == {
        "revision": 2,
        "summary_last_message_order_seq": store.list_thread_messages("t1")[-1].seq_no,
        "saved_at": reserved["saved_at"],
        "generation_parameters": {"strategy": "llm"},
    }
    assert summary_strategy(summary) == "llm"
    assert summary.user_id == "u1"
    check_agreement(store)


def test_a_later_summary_has_a_row_of_its_own(store: SQLMemoryStore, clock: Clock) -> None:
    save(store, clock, "S1", until="one")
    save(store, clock, "S3")
    assert texts(store) == ["S1", "S3"]
    revisions = [revision for _, revision in sorted(seen_summaries(saved(store)))]
    assert sorted(revisions) == [2, 3]
    assert {(one.user_id, one.agent_id, one.thread_id) for one in saved(store)} == {
        ("u1", "a1", "t1")
    }
    check_agreement(store)


def test_fifty_summaries_are_kept_the_newest_ones(store: SQLMemoryStore, clock: Clock) -> None:
    for number in range(KEPT_SUMMARIES + 2):
        assert save(store, clock, f"S{number}") is True
    assert len(saved(store)) == KEPT_SUMMARIES == 50
    assert set(texts(store)) == {f"S{number}" for number in range(2, 52)}
    check_agreement(store)


def test_a_transcript_gives_way_to_what_comes_after_it(store: SQLMemoryStore, clock: Clock) -> None:
    save(store, clock, "S1", until="one")
    save(store, clock, "lines", until="two", strategy="transcript_fallback")
    save(store, clock, "more lines", strategy="transcript_fallback")
    assert texts(store) == ["S1", "more lines"]
    save(store, clock, "S3")
    assert texts(store) == ["S1", "S3"]
    check_agreement(store)


def test_r108_of_two_that_saw_the_same_only_the_first_is_saved(
    store: SQLMemoryStore, clock: Clock
) -> None:
    first, second = draft(store, "first"), draft(store, "second")
    assert store.write(store.prepare_save_summary("t1", first)) is True
    assert store.write(store.prepare_save_summary("t1", second)) is False
    assert texts(store) == ["first"]
    assert save(store, clock, "third") is True


def edit(store: SQLMemoryStore) -> None:
    store.update("message", "two", content="changed")


def drop(store: SQLMemoryStore) -> None:
    store.delete("message", "two")


def drop_thread(store: SQLMemoryStore) -> None:
    store.delete_thread("t1")


@pytest.mark.parametrize("change", [edit, drop, drop_thread])
def test_a_summary_of_messages_that_changed_meanwhile_is_not_saved(
    store: SQLMemoryStore, change: Callable[[SQLMemoryStore], None]
) -> None:
    late = draft(store, "two was here")
    change(store)
    before = everything(store)
    assert store.write(store.prepare_save_summary("t1", late)) is False
    assert everything(store) == before


def test_a_summary_of_a_message_that_expired_meanwhile_is_not_saved(
    store: SQLMemoryStore, clock: Clock
) -> None:
    add(store, "brief", ttl_days=1)
    late = draft(store, "brief was here")
    clock.pass_days(2)
    assert store.write(store.prepare_save_summary("t1", late)) is False
    assert texts(store) == [""]


def test_new_messages_do_not_stop_a_summary_of_those_before(
    store: SQLMemoryStore, clock: Clock
) -> None:
    early = draft(store, "three")
    add(store, "four")
    assert store.write(store.prepare_save_summary("t1", early)) is True


@pytest.mark.parametrize("change", [edit, drop])
def test_a_message_that_goes_or_changes_empties_the_summaries_that_cover_it(
    store: SQLMemoryStore, clock: Clock, change: Callable[[SQLMemoryStore], None]
) -> None:
    for until in ("one", "two", "three"):
        save(store, clock, f"S {until}", until=until)
    change(store)
    assert texts(store) == ["", "", "S one"]
    gone = [one for one in saved(store) if one.content == EMPTY]
    assert [(one.status, one._covered_through_seq_no) for one in gone] == [
        (RecordStatus.INVALID, 0)
    ] * 2
    assert all("generation" not in str(one.metadata) for one in gone)
    assert not [table for table, rows in everything(store).items() if "S three" in "".join(rows)]
    check_agreement(store)
    # An emptied row is used again, and the others of its kind go.
    save(store, clock, "S new")
    assert texts(store) == ["S one", "S new"]
    check_agreement(store)


def test_other_changes_of_a_message_leave_the_summaries(
    store: SQLMemoryStore, clock: Clock
) -> None:
    save(store, clock, "S")
    store.update("message", "two", metadata={"a": 1})
    store.update("message", "two", ttl_days=3)
    assert texts(store) == ["S"]


def test_messages_taken_out_of_anothers_thread_empty_its_summaries(
    store: SQLMemoryStore, clock: Clock
) -> None:
    add(store, "guest", user_ids="u2")
    save(store, clock, "the guest was here")
    store.delete("user_profile", "u2", cascade=True)
    assert texts(store) == [""]
    check_agreement(store)


def test_a_purge_empties_the_summaries_of_threads_that_lost_messages(
    store: SQLMemoryStore, clock: Clock
) -> None:
    add(store, "brief", ttl_days=1)
    save(store, clock, "S")
    clock.pass_days(2)
    store.purge_expired()
    assert texts(store) == [""]
    check_agreement(store)


def test_a_summary_holds_until_one_of_its_messages_expires(
    store: SQLMemoryStore, clock: Clock
) -> None:
    add(store, "brief", ttl_days=1)
    save(store, clock, "S one", until="one")
    save(store, clock, "S all")
    assert [store.summary_holds(one) for one in saved(store)] == [True, True]
    clock.pass_days(2)
    assert [store.summary_holds(one) for one in saved(store)] == [True, False]
    # What is saved after the expiry did not read the message.
    save(store, clock, "S after", until="three")
    assert [store.summary_holds(one) for one in saved(store)] == [True, True, False]


def test_a_summary_from_elsewhere_that_says_nothing_of_itself_can_be_used(
    store: SQLMemoryStore, clock: Clock
) -> None:
    store.add(["foreign"], "thread_summary", thread_ids="t1")
    assert summary_strategy(saved(store)[-1]) == "llm"
    assert all(store.summary_holds(one) for one in saved(store))
    assert save(store, clock, "S") is True
    store.delete("message", "one")
    assert set(texts(store)) == {""}


def test_a_message_of_parts_is_compared_part_by_part(store: SQLMemoryStore, clock: Clock) -> None:
    parts = [TextContent("a"), TextContent("b")]
    store.add([parts], "message", roles="user", thread_ids="t1", user_ids="u1")
    assert save(store, clock, "S") is True
    late = draft(store, "late")
    store.update("message", late.messages[-1].id, content=[*parts, TextContent("c")])
    assert store.write(store.prepare_save_summary("t1", late)) is False


def test_nothing_is_saved_for_no_messages_or_no_thread(store: SQLMemoryStore) -> None:
    empty = SummaryDraft(
        text="S", topics=(), parameters={}, messages=(), covers=0, seen=frozenset()
    )
    for thread_id in ("t1", "nowhere", ""):
        assert store.write(store.prepare_save_summary(thread_id, empty)) is False
