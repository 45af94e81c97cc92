"""`check` and `repair`: every sort of fault is planted, found, and put right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.storage.store.checking import _MENDS
from oracleagentmemory.storage.writes import Prepared
from tests.sdk.contract.full_store import fill
from tests.sdk.contract.snapshots import check_agreement, everything
from tests.sdk.search.stores import Clock, ScopedWordEmbedder


@pytest.fixture
def embedder() -> ScopedWordEmbedder:
    return ScopedWordEmbedder()


@pytest.fixture
def full(store: SQLMemoryStore, clock: Clock) -> SQLMemoryStore:
    """A store with everything, and states for what has no method yet."""
    fill(store, clock)
    store.repair(store.check())
    return store


def change(store: SQLMemoryStore, statement: Any, values: Any = None) -> None:
    """Do what another program might: locked, but with no note beside the rows."""

    def apply(transaction: Any) -> None:
        if not isinstance(statement, sa.Insert):
            transaction.execute(sa.select(statement.table).with_for_update())
        transaction.execute(statement, values)

    store.write(Prepared(apply))


def chunk(store: SQLMemoryStore, record_id: str) -> Any:
    chunks = store.tables.record_chunks
    with store.engine.read() as connection:
        mine = sa.select(chunks).where(chunks.c.source_id == record_id)
        return connection.execute(mine.order_by(chunks.c.chunk_id)).first()


def orphan_chunk(store: SQLMemoryStore) -> None:
    change(store, sa.delete(store.tables.memory).where(store.tables.memory.c.record_id == "fact-1"))


def chunk_of_no_known_type(store: SQLMemoryStore) -> None:
    chunks = store.tables.record_chunks
    mine = chunks.c.source_id == "fact-1"
    change(store, sa.update(chunks).where(mine).values(source_record_type="rumour"))


def chunk_of_another_user(store: SQLMemoryStore) -> None:
    chunks = store.tables.record_chunks
    change(store, sa.update(chunks).where(chunks.c.source_id == "fact-1").values(user_id="eve"))


def chunk_of_another_status(store: SQLMemoryStore) -> None:
    chunks = store.tables.record_chunks
    change(store, sa.update(chunks).where(chunks.c.source_id == "ann").values(status="invalid"))


def chunk_of_another_type(store: SQLMemoryStore) -> None:
    chunks = store.tables.record_chunks
    mine = chunks.c.source_id == "fact-1"
    change(store, sa.update(chunks).where(mine).values(source_record_type="memory"))


def living_target(store: SQLMemoryStore) -> None:
    change(store, sa.update(store.tables.memory_link).values(relation_type="supersedes"))


def orphan_tokens(store: SQLMemoryStore) -> None:
    row = {"chunk_id": 10**6, "token_ids": b"\1\0\0\0"}
    change(store, sa.insert(store.extras.chunk_token), [row])


def missing_tokens(store: SQLMemoryStore) -> None:
    token = store.extras.chunk_token
    mine = token.c.chunk_id == chunk(store, "fact-1").chunk_id
    change(store, sa.delete(token).where(mine))


def missing_states(store: SQLMemoryStore) -> None:
    state = store.extras.record_state
    change(store, sa.delete(state).where(state.c.record_kind.in_(("memory", "thread"))))


def orphan_states(store: SQLMemoryStore) -> None:
    state = store.extras.record_state
    mine = (state.c.record_kind == "memory", state.c.record_id == "fact-1")
    change(store, sa.update(state).where(*mine).values(record_id="nobody"))
    fact = store.tables.memory.c.record_id == "fact-1"
    change(store, sa.delete(store.tables.memory).where(fact))


def orphan_state_of_no_known_kind(store: SQLMemoryStore) -> None:
    state = store.extras.record_state
    mine = (state.c.record_kind == "profile", state.c.record_id == "ann")
    change(store, sa.update(state).where(*mine).values(record_kind="rumour"))


def changed_memory(store: SQLMemoryStore) -> None:
    memory = store.tables.memory
    change(store, sa.update(memory).where(memory.c.record_id == "fact-1").values(content="sky"))


def changed_thread(store: SQLMemoryStore) -> None:
    change(store, sa.update(store.tables.thread).values(metadata={"x": 1}))


def orphan_sources(store: SQLMemoryStore) -> None:
    source = store.extras.source
    mine = source.c.message_id == "t1-0"
    change(store, sa.update(source).where(mine).values(message_id="nobody"))


@dataclass(frozen=True)
class Plan:
    """A fault: how it is planted, what is found, and one example that is named."""

    plant: Callable[[SQLMemoryStore], None]
    found: dict[str, int]
    example: str


# What else a fault brings with it is found beside it: a record deleted by other means leaves
# its state as well as its chunks.
PLANS = {
    "orphan chunk": Plan(orphan_chunk, {"orphan_chunks": 1, "orphan_states": 1}, "fact fact-1"),
    "unknown type": Plan(chunk_of_no_known_type, {"orphan_chunks": 1}, "rumour fact-1"),
    "chunk's user": Plan(chunk_of_another_user, {"misplaced_chunks": 1}, "fact fact-1"),
    "chunk's status": Plan(chunk_of_another_status, {"misplaced_chunks": 1}, "user_profile ann"),
    "chunk's type": Plan(chunk_of_another_type, {"misplaced_chunks": 1}, "memory fact-1"),
    "superseded": Plan(living_target, {"living_targets": 1}, "memory m2"),
    "token of nothing": Plan(orphan_tokens, {"orphan_tokens": 1}, "chunk 1000000"),
    "no tokens": Plan(missing_tokens, {"missing_tokens": 1}, "fact fact-1"),
    "no states": Plan(missing_states, {"missing_states": 15}, "memory "),
    "state of nothing": Plan(
        orphan_states, {"orphan_chunks": 1, "orphan_states": 1}, "memory nobody"
    ),
    "state of no kind": Plan(
        orphan_state_of_no_known_kind, {"missing_states": 1, "orphan_states": 1}, "rumour ann"
    ),
    "changed memory": Plan(changed_memory, {"changed_outside": 1}, "memory fact-1"),
    "changed threads": Plan(changed_thread, {"changed_outside": 3}, "thread t1"),
    "source of nothing": Plan(orphan_sources, {"orphan_sources": 1}, "memory m1 from message"),
}


def found(store: SQLMemoryStore) -> dict[str, int]:
    return {one.code: one.count for one in store.check().findings}


def test_a_sound_store_has_no_findings_and_a_repair_changes_nothing(full: SQLMemoryStore) -> None:
    before = everything(full)
    report = full.check()
    assert report.ok
    assert full.repair(report) == {}
    assert everything(full) == before


@pytest.mark.parametrize("fault", PLANS)
def test_a_planted_fault_is_found_named_and_put_right(full: SQLMemoryStore, fault: str) -> None:
    plan = PLANS[fault]
    plan.plant(full)
    before = everything(full)
    report = full.check()

    assert everything(full) == before, "a check changes nothing"
    codes = {one.code: one.count for one in report.findings}
    texts = {"wrong_texts": 1} if fault == "chunk's user" and full.keeps_texts else {}
    assert codes == plan.found | texts
    assert any(plan.example in example for one in report.findings for example in one.examples)
    # The words in the wrong scope are right again with their chunk.
    assert full.repair(report).keys() == plan.found.keys()
    assert full.check().ok
    check_states(full)


def check_states(store: SQLMemoryStore) -> None:
    """The suite's own judgement of a sound store; changes need not show restored rows."""

    def drop(transaction: Any) -> None:
        transaction.execute(sa.delete(store.extras.change))

    store.write(Prepared(drop))
    check_agreement(store, with_changes=False)


def test_an_orphan_of_one_type_leaves_its_namesake_alone(store: SQLMemoryStore) -> None:
    store.add_agent("x", "red car")
    kept, chunks = chunk(store, "x"), store.tables.record_chunks
    store.add_user("y", "blue")
    mine = chunks.c.source_id == "y"
    change(store, sa.update(chunks).where(mine).values(source_id="x"))

    assert store.repair(store.check())["orphan_chunks"] == 1
    assert chunk(store, "x").chunk_id == kept.chunk_id
    assert chunk(store, "y") is None


def test_a_repair_is_one_transaction(full: SQLMemoryStore) -> None:
    changed_memory(full)
    before = everything(full)

    def fail(_: object) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        full.write_all([full.prepare_repair(full.check()), Prepared(fail)])
    assert everything(full) == before


def test_an_accepted_change_from_outside_counts_as_a_version(full: SQLMemoryStore) -> None:
    def version() -> int:
        state = full.extras.record_state
        mine = (state.c.record_kind == "memory", state.c.record_id == "fact-1")
        with full.engine.read() as connection:
            return int(connection.execute(sa.select(state.c.version).where(*mine)).scalar_one())

    before = version()
    changed_memory(full)
    full.repair(full.check())
    assert version() == before + 1


def test_twins_check_and_repair(full: SQLMemoryStore) -> None:
    async def mend() -> Any:
        return await full.repair_async(await full.check_async())

    changed_memory(full)
    assert asyncio.run(mend()) == {"changed_outside": 1}


def test_every_repairable_check_has_a_mend(store: SQLMemoryStore) -> None:
    assert {check.code for check in store._checks() if check.repairable} <= _MENDS.keys()
