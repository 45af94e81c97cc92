"""Users and agents: every id that any visible record carries."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest

from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import Actor, ActorPage, StoreInspector
from tests.sdk.inspection.world import AGENTS, EPOCH, USERS, World


def _walk(inspector: StoreInspector, noun: str, limit: int, **scope: Any) -> list[Actor]:
    read = getattr(inspector, noun)
    pages: list[ActorPage] = [read(limit=limit, **scope)]
    assert pages[0].previous is None
    while pages[-1].next is not None and len(pages) < 100:
        pages.append(read(after=pages[-1].next, limit=limit, **scope))
    back = [pages[-1]]
    while back[-1].previous is not None and len(back) < 100:
        back.append(read(before=back[-1].previous, limit=limit, **scope))
    found = [actor for page in pages for actor in page.actors]
    assert [actor for page in reversed(back) for actor in page.actors] == found
    return found


def _expected(world: World, field: str, user_ids: Any = None) -> dict[str, dict[str, int]]:
    numbers: dict[str, dict[str, int]] = {}
    for kind, records in world.known.items():
        for record in records:
            actor_id = getattr(record, field)
            hidden = record.expired or (user_ids is not None and record.user_id not in user_ids)
            if actor_id is not None and not hidden:
                mine = numbers.setdefault(actor_id, dict.fromkeys(world.known, 0))
                mine[kind] += 1
    return numbers


def _numbers(actors: list[Actor]) -> dict[str, dict[str, int]]:
    return {
        actor.id: {"thread": actor.threads, "message": actor.messages, "memory": actor.memories}
        for actor in actors
    }


@pytest.mark.parametrize(("noun", "field"), [("users", "user_id"), ("agents", "agent_id")])
def test_pages_hold_every_id_with_the_numbers_of_its_visible_records(
    world: World, noun: str, field: str
) -> None:
    scopes: tuple[Any, ...] = (None, {"ada"}, {"ada", "空", "stranger"}, set())
    for user_ids, limit in itertools.product(scopes, (1, 2, 50)):
        expected = _expected(world, field, user_ids)
        actors = _walk(StoreInspector(world.store), noun, limit, user_ids=user_ids)
        assert [actor.id for actor in actors] == sorted(expected)
        assert _numbers(actors) == expected


def test_an_id_with_a_profile_alone_is_listed_with_its_profile(world: World) -> None:
    world.store.add_user("Zoë", "likes trains")
    world.store.add_agent("zed", "books trains")
    inspector = StoreInspector(world.store)
    zoe = inspector.user("Zoë")
    assert zoe is not None
    assert zoe.profile == world.store.get("user_profile", "Zoë")
    assert (zoe.threads, zoe.messages, zoe.memories, zoe.last_effective_at) == (0, 0, 0, None)
    assert sorted((*USERS, "Zoë")) == [user.id for user in inspector.users().actors]
    assert sorted((*AGENTS, "zed")) == [agent.id for agent in inspector.agents().actors]
    assert inspector.user("zed") is None
    assert inspector.agent("Zoë") is None


def test_a_scope_hides_other_users_and_agents_that_serve_only_others(world: World) -> None:
    world.store.add_user("Zoë", "likes trains")
    world.store.add_agent("zed", "books trains")
    inspector = StoreInspector(world.store)
    assert inspector.user("Zoë", user_ids={"Zoë"}) is not None
    assert inspector.user("Zoë", user_ids={"ada"}) is None
    assert inspector.agent("zed") is not None
    assert inspector.agent("zed", user_ids={"ada"}) is None
    assert inspector.agent("zed", user_ids={"zed"}) is None
    world.store.add(["hello"], "memory", user_ids="ada", agent_ids="zed")
    zed = inspector.agent("zed", user_ids={"ada"})
    assert zed is not None
    assert zed.profile is not None
    assert inspector.agent("zed", user_ids={"béla"}) is None


def test_a_cursor_beyond_either_end_leads_nowhere_further(world: World) -> None:
    inspector = StoreInspector(world.store)
    assert inspector.users(after="!", limit=2) == inspector.users(limit=2)
    last = inspector.users(before="\U0010ffff", limit=2)
    assert [user.id for user in last.actors] == sorted(USERS)[-2:]
    assert last.next is None
    assert last.previous is not None


def test_an_id_of_expired_records_alone_does_not_exist(store: Any) -> None:
    store.add(["gone"], "memory", user_ids="ada", agent_ids="scout", ttl_days=0)
    inspector = StoreInspector(store)
    assert inspector.users().actors == []
    assert inspector.agent("scout") is None


def test_the_last_time_is_that_of_the_newest_records(store: Any) -> None:
    store.engine.clock = lambda: EPOCH
    inspector = StoreInspector(store)
    store.add(["old news"], "memory", user_ids="ada", timestamps="2001-02-03T04:05:06Z")
    ada = inspector.user("ada")
    assert ada is not None
    assert ada.last_effective_at is not None
    assert ada.last_effective_at.isoformat() == "2001-02-03T04:05:06+00:00"
    store.engine.clock = lambda: EPOCH + timedelta(days=1)
    store.add(["now"], "memory", user_ids="ada")
    ada = inspector.user("ada")
    assert ada is not None
    assert ada.last_effective_at == EPOCH + timedelta(days=1)


def test_storing_old_talk_makes_nobody_heard_of_today(store: Any) -> None:
    store.engine.clock = lambda: EPOCH
    store.write(store.prepare_create_thread("t-1", user_id="ada", agent_id=None))
    inspector = StoreInspector(store)
    assert inspector.users().actors[0].last_effective_at == EPOCH
    told = "2001-02-03T04:05:06+00:00"
    store.add(["old"], "message", roles="user", user_ids="ada", thread_ids="t-1", timestamps=told)
    last = inspector.users().actors[0].last_effective_at
    assert last is not None
    assert last.isoformat() == told


@pytest.mark.parametrize("noun", ["users", "agents"])
def test_bad_arguments_are_refused(store: Any, noun: str) -> None:
    read = getattr(StoreInspector(store), noun)
    for arguments in (
        {"limit": 0},
        {"before": "a", "after": "b"},
        {"after": ""},
        {"before": "\0"},
        {"ids": [""]},
    ):
        with pytest.raises(InvalidInputError):
            read(**arguments)
