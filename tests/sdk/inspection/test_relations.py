"""Relations as people read them: pages, counts, scope."""

from __future__ import annotations

from typing import Any

import pytest

from oracleagentmemory.core.sqlmemorystore import SQLMemoryStore
from oracleagentmemory.errors import ConflictError, InvalidInputError
from oracleagentmemory.inspection import StoreInspector, is_cursor

USERS = ("ada", "ada", "ada", "bob", None)
#: Source, target and type: ``mN`` to ``mM``.
LINKS = [
    (1, 0, "supersedes"),
    (2, 0, "supports"),
    (2, 1, "contradicts"),
    (3, 0, "supports"),
    (0, 4, "likes"),
]


@pytest.fixture
def inspector(store: SQLMemoryStore) -> StoreInspector:
    store.write(store.prepare_create_thread("t-1", user_id="ada", agent_id=None))
    for number, user_id in enumerate(USERS):
        store.add(
            [f"text {number}"],
            "fact",
            record_ids=f"m{number}",
            user_ids=user_id,
            thread_ids="t-1" if number == 1 else None,
        )
    for number, (source, target, label) in enumerate(LINKS):
        store.add_relations(
            f"m{source}", "fact", f"m{target}", "fact", label,
            relation_ids=f"r{number}", metadata={"n": number},
        )  # fmt: skip
    return StoreInspector(store)


def ids(inspector: StoreInspector, **filters: Any) -> list[str]:
    found = [row.id for row in inspector.relations(**filters).rows]
    assert inspector.relation_count(**filters).value == len(found)
    return found


def test_a_relation_comes_with_both_its_memories_and_their_status(
    inspector: StoreInspector,
) -> None:
    row = inspector.relation("r0")
    assert row is not None
    assert (row.relation.relation_type, row.relation.metadata) == ("supersedes", {"n": 0})
    assert (row.source.id, row.target.id) == ("m1", "m0")
    assert (row.source.record.status, row.target.record.status) == ("valid", "invalid")
    assert row.created_at.tzinfo is not None
    assert inspector.relation("r9") is None


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["r4", "r3", "r2", "r1", "r0"]),
    ({"memory_id": "m0"}, ["r4", "r3", "r1", "r0"]),
    ({"memory_id": "m1"}, ["r2", "r0"]),
    ({"memory_id": "m9"}, []),
    ({"thread_id": "t-1"}, ["r2", "r0"]),
    ({"relation_type": "supports"}, ["r3", "r1"]),
    ({"user_ids": ["ada"]}, ["r2", "r1", "r0"]),
    ({"user_ids": ["ada", "bob"]}, ["r3", "r2", "r1", "r0"]),
    ({"user_ids": ["bob"]}, []),
    ({"user_ids": []}, []),
    ({"user_ids": ["ada"], "memory_id": "m2"}, ["r2", "r1"]),
    ({"ids": ["r1", "r4"], "user_ids": ["ada"]}, ["r1"]),
]
WRONG: list[dict[str, Any]] = [
    {"before": "x"},
    {"before": "2026-01-01~r1"},
    {"before": "a", "after": "b"},
    {"limit": 0},
    {"limit": 501},
    {"memory_id": ""},
    {"relation_type": "x" * 129},
]


def test_filters_find_what_they_say(inspector: StoreInspector) -> None:
    for filters, expected in FILTERS:
        assert ids(inspector, **filters) == expected, filters


def test_pages_walk_down_and_up(inspector: StoreInspector) -> None:
    first = inspector.relations(limit=2)
    second = inspector.relations(limit=2, before=first.older)
    third = inspector.relations(limit=2, before=second.older)
    assert [[row.id for row in page.rows] for page in (first, second, third)] == [
        ["r4", "r3"], ["r2", "r1"], ["r0"],
    ]  # fmt: skip
    assert (first.newer, third.older) == (None, None)
    back = inspector.relations(limit=2, after=third.newer)
    assert back == second
    assert is_cursor("relation", first.older or "")


def test_what_cannot_be_is_refused(inspector: StoreInspector) -> None:
    for wrong in WRONG:
        with pytest.raises(InvalidInputError):
            inspector.relations(**wrong)


def test_a_relation_goes_with_its_memory(inspector: StoreInspector, store: SQLMemoryStore) -> None:
    store.delete("fact", "m0")
    assert ids(inspector) == ["r2"]


def test_a_relation_changes_only_while_it_is_the_one_that_was_read(
    inspector: StoreInspector, store: SQLMemoryStore
) -> None:
    read = inspector.relation("r1")
    assert read is not None
    state = read.fingerprint
    store.write(store.prepare_update_relations("r1", metadata={"n": "new"}, if_fingerprint=state))
    for stale in (
        store.prepare_update_relations("r1", metadata=None, if_fingerprint=state),
        store.prepare_delete_relations("r1", if_fingerprint=state),
    ):
        with pytest.raises(ConflictError):
            store.write(stale)
    fresh = inspector.relation("r1")
    assert fresh is not None
    assert fresh.relation.metadata == {"n": "new"}
    assert store.write(store.prepare_delete_relations("r1", if_fingerprint=fresh.fingerprint)) == 1
    assert inspector.relation("r1") is None
