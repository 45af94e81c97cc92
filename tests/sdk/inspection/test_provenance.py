"""Where memories came from, as people read it: scope, expiry, order, number of statements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.apis.records import RecordStatus
from oracleagentmemory.apis.sources import MemorySource
from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import StoreInspector

#: Memory, message, and whether an extraction found it.
NOTED = [("one", "n1"), ("both", "n2"), ("both", "n1"), ("theirs", "n1"), ("old", "n2")]


def note(store: SQLMemoryStore, pairs: list[tuple[str, str]]) -> None:
    """Note sources as an extraction does."""
    sources = [
        MemorySource(memory_id=a, message_id=b, job_id="j1", model="m1", prompt_version="e_1")
        for a, b in pairs
    ]
    store.write(store.prepare_add_sources(sources))


@pytest.fixture
def inspector(store: SQLMemoryStore) -> StoreInspector:
    """Ada's thread with a message of bob's, and memories of both, one of them invalid."""
    store.write(store.prepare_create_thread("t1", user_id="ada", agent_id="a1"))
    for name, user_id in (("n1", "ada"), ("n2", "bob"), ("n3", "ada")):
        store.add(
            [f"text of {name}"], "message", record_ids=name, roles="user",
            thread_ids="t1", user_ids=user_id,
        )  # fmt: skip
    for name, user_id in (("one", "ada"), ("both", "ada"), ("none", "ada"), ("theirs", "bob")):
        store.add([f"text of {name}"], "fact", record_ids=name, thread_ids="t1", user_ids=user_id)
    store.add(
        ["text of old"], "fact", record_ids="old", user_ids="ada", statuses=RecordStatus.INVALID
    )
    note(store, NOTED)
    return StoreInspector(store)


@contextmanager
def statements(store: SQLMemoryStore) -> Iterator[list[str]]:
    """Collect what is executed."""
    seen: list[str] = []

    def collect(_c: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        seen.append(statement)

    engine = store.engine.engine
    sa.event.listen(engine, "before_cursor_execute", collect)
    try:
        yield seen
    finally:
        sa.event.remove(engine, "before_cursor_execute", collect)


def test_a_memory_names_its_messages_in_their_order(inspector: StoreInspector) -> None:
    found = inspector.sources(["both", "none", "stranger"])
    assert [one.source.message_id for one in found["both"].rows] == ["n1", "n2"]
    first = found["both"].rows[0]
    assert first.message is not None
    assert first.message.record.thread_id == "t1"
    assert (first.source.job_id, first.source.model, first.source.prompt_version) == (
        "j1",
        "m1",
        "e_1",
    )
    assert first.source.recorded_at is not None
    for name in ("none", "stranger"):
        assert (found[name].rows, found[name].count, found[name].is_recorded) == ([], 0, True)


def test_only_the_first_sources_are_read_and_all_are_counted(inspector: StoreInspector) -> None:
    found = inspector.sources(["both"], limit=1)["both"]
    assert ([one.source.message_id for one in found.rows], found.count) == (["n1"], 2)


@pytest.mark.parametrize(
    ("user_ids", "seen"), [(None, {"n1", "n2"}), ({"ada"}, {"n1"}), ({"bob"}, {"n2"}), (set(), {})]
)
def test_a_message_out_of_sight_is_not_given(
    inspector: StoreInspector, user_ids: Any, seen: Any
) -> None:
    rows = inspector.sources(["both"], user_ids=user_ids)["both"].rows
    assert len(rows) == 2
    assert {one.message.id for one in rows if one.message} == set(seen)


def test_messages_give_their_memories_whatever_their_status(inspector: StoreInspector) -> None:
    found = inspector.derived(["n2", "n1", "n3", "stranger"])
    assert {name: [row.id for row in rows] for name, rows in found.items()} == {
        "n2": ["both", "old"],
        "n1": ["one", "both", "theirs"],
        "n3": [],
        "stranger": [],
    }
    assert found["n2"][1].record.status == "invalid"


def test_memories_of_others_are_left_out(inspector: StoreInspector) -> None:
    assert [row.id for row in inspector.derived(["n1"], user_ids={"ada"})["n1"]] == ["one", "both"]
    assert inspector.derived(["n1"], user_ids=set()) == {"n1": []}


def test_what_has_expired_exists_for_nobody(
    store: SQLMemoryStore, inspector: StoreInspector
) -> None:
    past = datetime(2001, 1, 1, tzinfo=UTC)
    tables = store.tables
    with store.engine.write() as transaction:
        for table, name in ((tables.memory, "one"), (tables.message, "n1")):
            mine = table.c.record_id == name
            transaction.execute(sa.select(table.c.record_id).where(mine).with_for_update())
            transaction.execute(sa.update(table).where(mine).values(expires_at=past))
    assert [row.id for row in inspector.derived(["n1"])["n1"]] == ["both", "theirs"]
    rows = inspector.sources(["both"])["both"].rows
    assert [one.message and one.message.id for one in rows] == [None, "n2"]


def test_many_messages_take_as_many_statements_as_one(
    store: SQLMemoryStore, inspector: StoreInspector
) -> None:
    names = [f"many-{number}" for number in range(100)]
    scope = {"thread_ids": "t1", "user_ids": "ada"}
    store.add(names, "message", record_ids=names, roles="user", **scope)
    store.add(names, "fact", record_ids=[f"of {name}" for name in names], **scope)
    note(store, [(f"of {name}", name) for name in names])
    counts = []
    for some in (names[:1], names):
        with statements(store) as seen:
            derived = inspector.derived(some)
            sources = inspector.sources([f"of {name}" for name in some])
        counts.append(len(seen))
        assert [row.id for rows in derived.values() for row in rows] == [f"of {n}" for n in some]
        assert [one.message.id for of in sources.values() for one in of.rows if one.message] == some
    assert counts == [4, 4]


@pytest.mark.parametrize("ids", [["a\x00"], "one", ["x" * 129], [1]])
def test_wrong_ids_are_refused(inspector: StoreInspector, ids: Any) -> None:
    for read in (inspector.sources, inspector.derived):
        with pytest.raises((InvalidInputError, TypeError)):
            read(ids)


@pytest.mark.parametrize("limit", [0, 501, "1"])
def test_a_wrong_limit_is_refused(inspector: StoreInspector, limit: Any) -> None:
    with pytest.raises(InvalidInputError, match="limit must be a whole number from 1 to 500"):
        inspector.sources(["one"], limit=limit)


def test_statistics_count_notes_and_those_that_lost_an_end(
    store: SQLMemoryStore, inspector: StoreInspector
) -> None:
    numbers = inspector.statistics()
    assert (numbers.sources, numbers.orphan_sources) == (len(NOTED), 0)
    # Another SDK's delete leaves the notes behind.
    table = store.tables.message
    gone = table.c.record_id == "n2"
    with store.engine.write() as transaction:
        transaction.execute(sa.select(table.c.record_id).where(gone).with_for_update())
        transaction.execute(sa.delete(table).where(gone))
    assert inspector.statistics().orphan_sources == 2
