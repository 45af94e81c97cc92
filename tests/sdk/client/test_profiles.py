"""Profiles of users and agents, and deleting an owner with all that belongs to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from oracleagentmemory.core import OracleAgentMemory, SQLiteMemoryStore


def test_r151_a_profile_has_its_owners_id_and_no_scope(
    client: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    assert client.add_user("u1", "Likes apples", metadata={"age": 30}) == "u1"
    assert client.add_agent("a1", "Sells apples") == "a1"
    user, agent = client.list_users()[0], client.list_agents()[0]
    assert (user.id, user.content, user.metadata) == ("u1", "Likes apples", {"age": 30})
    assert (agent.id, agent.content, agent.metadata) == ("a1", "Sells apples", None)
    assert not hasattr(user, "user_id")


@pytest.mark.parametrize("add", ["add_user", "add_agent"])
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("", "x"), ValueError),
        (("x" * 129, "x"), ValueError),
        ((None, "x"), TypeError),
        (("u", "a\0"), ValueError),
        (("u", None), ValueError),
        (("u", 5), TypeError),
        (("u", "x", [1]), ValueError),
        (("u", "x", {"a": float("nan")}), ValueError),
    ],
)
def test_a_bad_profile_stores_nothing(
    client: OracleAgentMemory,
    rows: Callable[[], list[str]],
    add: str,
    arguments: Any,
    error: type[Exception],
) -> None:
    before = rows()
    with pytest.raises(error):
        getattr(client, add)(*arguments)
    assert rows() == before


def test_a_profile_is_not_overwritten(client: OracleAgentMemory) -> None:
    client.add_user("u1", "first")
    with pytest.raises(ValueError, match="'u1' exists"):
        client.add_user("u1", "second")
    assert [user.content for user in client.list_users()] == ["first"]


def test_lists_of_profiles_filter_and_limit(client: OracleAgentMemory) -> None:
    client.add_user("u1", "one", metadata={"age": 30})
    client.add_user("u2", "two")

    def ids(**options: Any) -> list[str]:
        return [user.id for user in client.list_users(**options)]

    assert ids() == ["u1", "u2"]
    assert ids(metadata_filter={"age": 30}) == ["u1"]
    assert ids(metadata_filter=None) == ["u2"]
    assert ids(limit=1) == ["u2"]
    assert ids(limit=0) == []


def test_r095_a_profile_is_found_in_its_own_scope_only(client: OracleAgentMemory) -> None:
    client.add_user("u1", "likes apples")
    client.add_user("u2", "likes pears")
    client.add_agent("a1", "sells apples")

    def found(user_id: str | None) -> list[Any]:
        return [result.id for result in client.search("apples", user_id=user_id)]

    assert (found("u1"), found("u2"), found(None)) == (["u1"], ["u2"], ["a1"])


@pytest.fixture
def town(client: OracleAgentMemory) -> OracleAgentMemory:
    """Two users, two agents, three threads, and records outside of threads."""
    client.add_user("u1", "first user")
    client.add_agent("a1", "first agent")
    for name, user_id, agent_id in (("t1", "u1", "a1"), ("t2", "u1", "a2"), ("t3", "u2", "a1")):
        thread = client.create_thread(thread_id=name, user_id=user_id, agent_id=agent_id)
        thread.add_messages([{"role": "user", "content": "hello", "id": f"n-{name}"}])
        thread.add_memory("hello", memory_id=f"m-{name}")
    client.add_memory("hello", memory_id="m-u1", user_id="u1")
    client.add_memory("hello", memory_id="m-u2", user_id="u2", memory_type="fact")
    client.add_memory("hello", memory_id="m-a1", agent_id="a1", memory_type="preference")
    client.add_memory("hello", memory_id="m-free", memory_type="guideline")
    return client


EVERYTHING = {
    "threads": "t1 t2 t3",
    "messages": "n-t1 n-t2 n-t3",
    "memories": "m-a1 m-free m-t1 m-t2 m-t3 m-u1 m-u2",
    "users": "u1",
    "agents": "a1",
}
WITHOUT_U1 = {
    "threads": "t3",
    "messages": "n-t3",
    "memories": "m-a1 m-free m-t3 m-u2",
    "users": "",
    "agents": "a1",
}


def left(client: OracleAgentMemory) -> dict[str, str]:
    """Ids of everything that is left."""
    threads = [thread for who in ("u1", "u2") for thread in client.list_threads(who)]
    kinds: dict[str, Any] = {
        "threads": threads,
        "messages": client.list_messages(),
        "memories": client.list_memories(),
        "users": client.list_users(),
        "agents": client.list_agents(),
    }
    return {name: " ".join(sorted(one.id for one in rows)) for name, rows in kinds.items()}


def test_r152_r153_a_user_goes_with_all_that_it_owns(town: OracleAgentMemory) -> None:
    assert left(town) == EVERYTHING
    assert town.delete_user("u1") == 1
    assert left(town) == WITHOUT_U1
    assert town.delete_user("u1") == 0


def test_r153_a_cascade_that_fails_at_its_end_deletes_nothing(
    town: OracleAgentMemory, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(tmp_path / "memory.sqlite3")) as raw:
        raw.execute(
            "CREATE TRIGGER planted BEFORE DELETE ON actor_profile "
            "BEGIN SELECT RAISE(ABORT, 'planted'); END"
        )
        with pytest.raises(sa.exc.IntegrityError, match="planted"):
            town.delete_user("u1")
        assert left(town) == EVERYTHING
        assert len(town.search("hello", user_id="u1")) == 6
        raw.execute("DROP TRIGGER planted")
    assert town.delete_user("u1") == 1
    assert left(town) == WITHOUT_U1


def test_r152_without_cascade_only_the_profile_goes(town: OracleAgentMemory) -> None:
    assert town.delete_user("u1", cascade=False) == 1
    assert left(town) == {**EVERYTHING, "users": ""}


def test_r152_the_cascade_runs_without_a_profile(town: OracleAgentMemory) -> None:
    assert town.delete_user("u2") == 0
    assert left(town) == {
        "threads": "t1 t2",
        "messages": "n-t1 n-t2",
        "memories": "m-a1 m-free m-t1 m-t2 m-u1",
        "users": "u1",
        "agents": "a1",
    }


def test_an_agent_goes_with_all_that_it_owns(town: OracleAgentMemory) -> None:
    assert town.delete_agent("a1") == 1
    assert left(town) == {
        "threads": "t2",
        "messages": "n-t2",
        "memories": "m-free m-t2 m-u1 m-u2",
        "users": "u1",
        "agents": "",
    }


def test_r152_the_stores_own_delete_does_not_cascade(
    town: OracleAgentMemory, store: SQLiteMemoryStore
) -> None:
    assert store.delete("user_profile", "u1") == 1
    assert left(town) == {**EVERYTHING, "users": ""}
    assert store.delete("user_profile", "u1", cascade=True) == 0
    assert left(town) == WITHOUT_U1


def test_a_cascade_that_is_no_bool_deletes_nothing(town: OracleAgentMemory) -> None:
    for delete in (town.delete_user, town.delete_agent):
        with pytest.raises(TypeError, match="cascade"):
            delete("u1", cascade="no")  # type: ignore[arg-type]
    assert left(town) == EVERYTHING


def test_nothing_that_was_deleted_is_found(town: OracleAgentMemory) -> None:
    town.delete_user("u1")
    assert town.search("hello", user_id="u1") == []
