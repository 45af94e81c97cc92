"""Time to live: what it counts from, who sees expired records, what a purge takes."""

from __future__ import annotations

import warnings
from datetime import timedelta
from typing import Any

import pytest

from oracleagentmemory.apis import TimeToLiveAnchor
from oracleagentmemory.core import MemoryRetentionConfig
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from tests.sdk.contract.conftest import MakeStore
from tests.sdk.contract.snapshots import check_agreement, rows_of
from tests.sdk.contract.test_adding import make_thread
from tests.sdk.search.stores import Clock, WordEmbedder

TIMESTAMP, CREATED = TimeToLiveAnchor.TIMESTAMP, TimeToLiveAnchor.CREATED_AT
MINUTE = 1 / 24 / 60


@pytest.fixture(autouse=True)
def _own_clock_only(backend: str) -> None:
    if backend == "oracle-live":
        pytest.skip("expiry is compared with the database's clock, which no test can move")


def visible(store: SQLMemoryStore) -> set[str]:
    return {one.id for one in store.list("memory", limit=None)}


def test_a_life_counts_from_creation_or_from_the_time_of_the_event(
    store: SQLMemoryStore, clock: Clock
) -> None:
    early = (clock.now - timedelta(days=9)).isoformat()
    texts = ["red", "blue", "sea", "sky"]
    store.add(texts, "memory", record_ids=["created", "event", "endless", "today"],
              timestamps=early, ttl_days=[10, 10, None, 0],
              ttl_anchor=[CREATED, TIMESTAMP, CREATED, CREATED])  # fmt: skip

    assert visible(store) == {"created", "event", "endless"}
    clock.pass_days(1)
    assert visible(store) == {"created", "endless"}
    clock.pass_days(9 - MINUTE)
    assert visible(store) == {"created", "endless"}
    clock.pass_days(MINUTE)
    assert visible(store) == {"endless"}


@pytest.mark.parametrize(
    "text", ["2026-02-28", "2026-02-28T12:00:00Z", "2026-W09-6", "20260228T120000"]
)
def test_a_time_in_any_iso_form_is_an_anchor(
    store: SQLMemoryStore, clock: Clock, text: str
) -> None:
    store.add(["red"], "memory", record_ids="m", timestamps=text, ttl_days=2, ttl_anchor=TIMESTAMP)
    assert visible(store) == {"m"}
    clock.pass_days(2)
    assert visible(store) == set()


def test_expired_records_are_seen_by_no_read(store: SQLMemoryStore, clock: Clock) -> None:
    make_thread(store)
    store.add(["red"], "memory", record_ids="m", thread_ids="t1", user_ids="u1", ttl_days=1)
    store.add(["red"], "message", record_ids="n", thread_ids="t1", roles="user", ttl_days=1)
    clock.pass_days(1)

    assert store.get("memory", "m") is None
    assert store.get_memory("m") is None
    assert store.fingerprint("memory", "m") is None
    assert store.list("memory") == []
    assert store.list_memories() == []
    assert store.list_thread_messages("t1") == []
    assert store.thread_window("t1", 0, None) == []
    assert store.count_thread_messages("t1") == 0
    assert store.search("red", 5) == []
    assert store.search("red", 5, user_id="u1", exact_user_match=True) == []


def test_the_store_refreshes_an_expired_record_and_its_clients_do_not(
    store: SQLMemoryStore, clock: Clock
) -> None:
    store.add(["red"], "memory", record_ids="m", user_ids="u1", ttl_days=1)
    clock.pass_days(5)
    assert store.write(store.prepare_update("memory", "m", ttl_days=9, visible_only=True)) == 0
    assert store.write(store.prepare_delete("memory", "m", visible_only=True)) == 0
    assert store.update("memory", "m", ttl_days=9) == 1
    assert visible(store) == {"m"}
    assert store.search("red", 1, user_id="u1", exact_user_match=True)[0][0].id == "m"
    clock.pass_days(4)  # nine days after its creation, not after the refresh
    assert visible(store) == set()


def test_an_update_counts_from_the_new_time_else_from_the_stored_one(
    store: SQLMemoryStore, clock: Clock
) -> None:
    store.add(["red"], "memory", record_ids="m", timestamps="2026-03-01")
    store.update("memory", "m", ttl_days=1, ttl_anchor=TIMESTAMP)
    clock.pass_days(0.6)
    assert visible(store) == set()
    store.update("memory", "m", timestamp="2026-03-02", ttl_days=1, ttl_anchor=TIMESTAMP)
    assert visible(store) == {"m"}
    store.update("memory", "m", content="blue")
    store.update("memory", "m", ttl_days=None)
    clock.pass_days(900)
    assert visible(store) == {"m"}


def test_defaults_apply_to_what_is_omitted_and_the_maximum_to_all(
    make_store: MakeStore, clock: Clock
) -> None:
    config = MemoryRetentionConfig(default_ttl_days=2, max_ttl_days=4)
    store = make_store(memory_retention_config=config)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.add(["red"], "memory", record_ids="omitted")
        store.add(["red"], "memory", record_ids="none", ttl_days=None)
    with pytest.warns(UserWarning, match="4 days are used"):
        store.add(["red"], "memory", record_ids="long", ttl_days=99)
    clock.pass_days(2)
    assert visible(store) == {"none", "long"}
    store.update("memory", "none", ttl_anchor=CREATED)
    assert visible(store) == {"long"}
    clock.pass_days(2)
    assert visible(store) == set()


def test_the_rules_are_kept_with_the_store_and_change_no_expiry(
    make_store: MakeStore, clock: Clock
) -> None:
    first = make_store(memory_retention_config=MemoryRetentionConfig(default_ttl_days=2))
    first.add(["red"], "memory", record_ids="two")
    again = make_store()
    again.add(["red"], "memory", record_ids="kept")
    longer = make_store(memory_retention_config=MemoryRetentionConfig(default_ttl_days=5))
    longer.add(["red"], "memory", record_ids="five")
    clock.pass_days(3)
    assert visible(longer) == {"five"}
    with pytest.raises(ValueError, match="REQUIRE_EXISTING"):
        make_store(
            memory_retention_config=MemoryRetentionConfig(), schema_policy="require_existing"
        )


@pytest.mark.parametrize(
    "config",
    [
        MemoryRetentionConfig(default_ttl_days=-1),
        MemoryRetentionConfig(max_ttl_days=True),
        MemoryRetentionConfig(max_ttl_days=1.5),  # type: ignore[arg-type]
        MemoryRetentionConfig(default_ttl_days=5, max_ttl_days=4),
    ],
)
def test_bad_rules_are_refused_when_a_store_opens(make_store: MakeStore, config: Any) -> None:
    with pytest.raises(ValueError, match="ttl_days"):
        make_store(memory_retention_config=config)


def test_a_life_beyond_the_calendar_is_refused(store: SQLMemoryStore) -> None:
    with pytest.raises(ValueError, match="9999"):
        store.add(["red"], "memory", ttl_days=10**8)
    with pytest.raises(ValueError, match="ISO-8601"):
        store.add(["red"], "memory", timestamps="soon", ttl_days=1, ttl_anchor=TIMESTAMP)
    assert store.list("memory") == []


def test_a_purge_takes_what_has_expired_and_nothing_else(
    store: SQLMemoryStore, clock: Clock
) -> None:
    make_thread(store)
    summary = {"text": "about red", "topics": []}
    store.add([summary], "thread_summary", record_ids="s", thread_ids="t1",
              metadata={"$agent_memory": {"revision": 4}})  # fmt: skip
    for record_type, roles in (("memory", None), ("message", "user")):
        for life in (1, 5):
            store.add(["red car"], record_type, record_ids=f"{record_type}{life}", roles=roles,
                      thread_ids="t1", user_ids="u1", ttl_days=life)  # fmt: skip
    assert store.count_expired() == 0
    assert store.purge_expired() == 0
    clock.pass_days(1)

    assert store.count_expired() == 2
    assert store.purge_expired() == 2
    assert store.count_expired() == 0
    kept = [rows_of(store, table) for table in (store.tables.memory, store.tables.message)]
    assert [[row.record_id for row in rows] for rows in kept] == [["memory5"], ["message5"]]
    saved: Any = store.get("thread_summary", "s")
    assert (saved.status, saved.metadata) == ("invalid", {"$agent_memory": {"revision": 5}})
    check_agreement(store)


def test_a_purge_works_in_batches(
    make_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("oracleagentmemory.storage.store.deleting.PURGE_BATCH", 3)
    store = make_store(embedder=WordEmbedder())
    store.add(["red"] * 10, "memory", ttl_days=1)
    clock.pass_days(2)
    assert store.purge_expired() == 10
    assert rows_of(store, store.tables.record_chunks) == []
