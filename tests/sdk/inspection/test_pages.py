"""Pages: complete, in order, each row once, whatever is filtered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oracleagentmemory.errors import InvalidInputError, WrongTypeError
from oracleagentmemory.inspection import ANY, Page, StoreInspector
from tests.sdk.inspection.world import (
    AGENTS,
    EPOCH,
    METADATA_FILTERS,
    THREADS,
    TYPES,
    USERS,
    World,
)

KINDS = ("memory", "message", "thread")
_ids = {
    "memory": [f"memory {n}" for n in range(0, 75, 4)],
    "message": [f"message {n}" for n in range(0, 75, 3)],
    "thread": list(THREADS),
}
_moments = st.integers(-45, 45).map(lambda days: EPOCH + timedelta(days=days))


def _filters(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    optional: dict[str, st.SearchStrategy[Any]] = {
        "user_id": st.sampled_from((*USERS, None, "stranger", ANY)),
        "agent_id": st.sampled_from((*AGENTS, None, ANY)),
        "thread_id": st.sampled_from((*THREADS, None, ANY)),
        "user_ids": st.frozensets(st.sampled_from((*USERS, "stranger"))),
        "since": _moments,
        "until": _moments,
        "metadata_filter": st.sampled_from([one for one, _ in METADATA_FILTERS]),
        "ids": st.frozensets(st.sampled_from((*_ids[kind], "unknown"))),
    }
    if kind != "thread":
        optional["status"] = st.sampled_from(("valid", "invalid", None))
    else:
        # Every thread has itself as its thread.
        optional["thread_id"] = st.sampled_from((*THREADS, ANY))
    if kind == "memory":
        optional["memory_types"] = st.frozensets(st.sampled_from(TYPES))
    return st.fixed_dictionaries({}, optional=optional)


def walk_older(inspector: StoreInspector, kind: Any, limit: int, filters: Any) -> list[Page]:
    pages = [inspector.page(kind, limit=limit, **filters)]
    while pages[-1].older is not None:
        assert len(pages) < 1_000, "the pages have no end"
        pages.append(inspector.page(kind, before=pages[-1].older, limit=limit, **filters))
    return pages


def walk_newer(
    inspector: StoreInspector, kind: Any, limit: int, filters: Any, last: Page
) -> list[Page]:
    pages = [last]
    while pages[-1].newer is not None:
        assert len(pages) < 1_000, "the pages have no end"
        pages.append(inspector.page(kind, after=pages[-1].newer, limit=limit, **filters))
    return pages


def ids_of(pages: list[Page]) -> list[str]:
    return [row.id for page in pages for row in page.rows]


@pytest.mark.parametrize("kind", KINDS)
def test_walking_pages_gives_exactly_the_rows_of_a_plain_filter(world: World, kind: Any) -> None:
    inspector = StoreInspector(world.store)

    @settings(max_examples=40, deadline=None, database=None)
    @example({}, 1)
    @example({"user_ids": frozenset(USERS)}, 4)
    @given(_filters(kind), st.integers(1, 12))
    def check(filters: Mapping[str, Any], limit: int) -> None:
        expected = world.ids(kind, filters)
        older = walk_older(inspector, kind, limit, filters)
        assert ids_of(older) == expected
        assert all(len(page.rows) == limit for page in older[:-1])
        newer = walk_newer(inspector, kind, limit, filters, older[-1])
        assert ids_of(newer[::-1]) == expected
        assert inspector.count(kind, **filters).value == len(expected)

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_more_visible_users_than_merged_walks_give_the_same_rows(world: World, kind: Any) -> None:
    many = frozenset({*USERS, *(f"user-{number}" for number in range(40))})
    pages = walk_older(StoreInspector(world.store), kind, 5, {"user_ids": many})
    assert ids_of(pages) == world.ids(kind, {"user_ids": many})


def test_a_page_between_others_knows_both_neighbours(world: World) -> None:
    inspector = StoreInspector(world.store)
    first = inspector.page("memory", limit=3)
    middle = inspector.page("memory", before=first.older, limit=3)
    assert first.newer is None
    assert middle.older is not None
    back = inspector.page("memory", after=middle.newer, limit=3)
    assert back == first


def test_a_cursor_beyond_either_end_leads_nowhere_further(world: World) -> None:
    inspector = StoreInspector(world.store)
    assert inspector.page("memory", before=2**63 - 1, limit=3) == inspector.page("memory", limit=3)
    oldest = inspector.page("memory", after=0, limit=3)
    assert ids_of([oldest]) == world.ids("memory", {})[-3:]
    assert oldest.older is None
    assert oldest.newer is not None


def test_rows_deleted_between_two_pages_are_neither_missed_nor_repeated(world: World) -> None:
    inspector = StoreInspector(world.store)
    first = inspector.page("memory", limit=4)
    for row in (first.rows[-1], first.rows[-2]):
        world.store.delete(row.record.record_type, row.id)
    second = inspector.page("memory", before=first.older, limit=4)
    assert ids_of([second]) == world.ids("memory", {})[4:8]
    back = inspector.page("memory", after=second.newer, limit=4)
    assert ids_of([back]) == ids_of([first])[:2]


def test_a_page_emptied_meanwhile_leads_back(world: World) -> None:
    inspector = StoreInspector(world.store)
    *_, before_last, last = walk_older(inspector, "message", 4, {})
    for row in last.rows:
        world.store.delete("message", row.id)
    empty = inspector.page("message", before=before_last.older, limit=4)
    assert (empty.rows, empty.older) == ([], None)
    assert inspector.page("message", after=empty.newer, limit=4).rows


def test_a_row_carries_what_the_store_knows(world: World) -> None:
    inspector = StoreInspector(world.store)
    told = next(one for one in world.known["memory"] if not one.expired and one.type == "fact")
    row = inspector.record("memory", told.id)
    assert row is not None
    assert row.record == world.store.get("fact", told.id)
    assert row.fingerprint == world.store.fingerprint("fact", told.id)
    assert row.effective_at == told.effective_at
    assert (row.kind, row.version, row.expires_at) == ("memory", 1, None)
    assert row.created_at == row.updated_at
    assert row.created_at.tzinfo is UTC
    world.store.update("fact", told.id, content="changed")
    changed = inspector.record("memory", told.id)
    assert changed is not None
    assert (changed.record.content, changed.version) == ("changed", 2)
    assert changed.seq == row.seq
    assert changed.fingerprint != row.fingerprint


def test_a_record_outside_the_scope_or_expired_is_not_found(world: World) -> None:
    inspector = StoreInspector(world.store)
    shown = next(one for one in world.known["memory"] if one.user_id == "ada" and not one.expired)
    hidden = next(one for one in world.known["memory"] if one.expired)
    unowned = next(one for one in world.known["memory"] if one.user_id is None and not one.expired)
    assert inspector.record("memory", shown.id, user_ids={"ada"}) is not None
    assert inspector.record("memory", shown.id, user_ids={"béla"}) is None
    assert inspector.record("memory", shown.id, user_ids=()) is None
    assert inspector.record("memory", unowned.id) is not None
    assert inspector.record("memory", unowned.id, user_ids=set(USERS)) is None
    assert inspector.record("memory", hidden.id) is None
    assert inspector.record("memory", "no such id") is None
    assert inspector.record("message", shown.id) is None


BAD_ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"limit": 0},
    {"limit": 1001},
    {"limit": "5"},
    {"before": "1", "after": "1"},
    {"before": ""},
    {"before": "-1"},
    {"after": "1e3"},
    {"before": "٣"},
    {"before": "9" * 40},
    {"before": "2026-01-01T00:00:00~x"},
    {"after": "0001-01-01T00:00:00+14:00~x"},
    {"after": "2026-01-01T00:00:00+00:00~"},
    {"after": "2026-01-01T00:00:00+00:00~\0"},
    {"status": "gone"},
    {"memory_types": ["image"]},
    {"since": datetime(2026, 1, 1)},
    {"until": datetime.max},
    {"until": datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))},
    {"metadata_filter": []},
    {"metadata_filter": {"k": {"$not": 1, "x": 2}}},
    {"user_id": ""},
    {"user_id": "x" * 129},
    {"user_ids": {"\ud800"}},
)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_arguments_are_refused_before_any_read(
    store: Any, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspector = StoreInspector(store)
    monkeypatch.setattr(store.engine, "read", None)

    def accepts(arguments: dict[str, Any]) -> bool:
        try:
            inspector.page(kind, **arguments)
        except InvalidInputError:
            return False
        return True

    assert [arguments for arguments in BAD_ARGUMENTS if accepts(arguments)] == []


def test_filters_that_do_not_fit_the_kind_are_refused_not_ignored(world: World) -> None:
    inspector = StoreInspector(world.store)
    with pytest.raises(InvalidInputError, match="memory_types do not apply"):
        inspector.page("message", memory_types=["fact"])
    with pytest.raises(InvalidInputError, match="status does not apply"):
        inspector.count("thread", status="valid")
    with pytest.raises(InvalidInputError, match="unknown kind 'relation'"):
        inspector.page("relation")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unknown filter 'userid'"):
        inspector.page("memory", userid="ada")  # type: ignore[call-arg]
    with pytest.raises(WrongTypeError):
        inspector.page("memory", user_id=7)  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError):
        inspector.page("memory", ids="ada")


def test_one_memory_type_may_be_a_string(world: World) -> None:
    page = StoreInspector(world.store).page("memory", memory_types="fact")
    assert ids_of([page]) == world.ids("memory", {"memory_types": ["fact"]})
