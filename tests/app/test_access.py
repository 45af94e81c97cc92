"""What a credential may see and change."""

from __future__ import annotations

import pytest

from memoryapp.access import Access, Role
from memoryapp.models import Key, Person
from oracleagentmemory.errors import AccessDeniedError


def access(role: Role, **more: object) -> Access:
    return Access(actor="person:x", role=role, **more)  # type: ignore[arg-type]


def test_a_person_brings_name_role_and_users() -> None:
    person = Person(username="ann", role="reviewer", user_ids=["ada"])
    made = Access.of_person(person)
    assert (made.actor, made.role, made.user_ids) == (
        "person:ann",
        Role.REVIEWER,
        frozenset({"ada"}),
    )


def test_a_superuser_is_an_admin_who_sees_all() -> None:
    person = Person(username="root", role="reader", user_ids=["ada"], is_superuser=True)
    assert Access.of_person(person) == Access(actor="person:root", role=Role.ADMIN)


def test_a_key_brings_its_prefix_and_agent() -> None:
    made = Access.of_key(Key(prefix="mk_abc", role="agent", user_ids=None, agent_id="travel"))
    assert (made.actor, made.role, made.user_ids, made.agent_id) == (
        "key:mk_abc",
        Role.AGENT,
        None,
        "travel",
    )


@pytest.mark.parametrize(
    ("user_ids", "user_id", "visible"),
    [
        (None, "ada", True),
        (None, None, True),
        (frozenset({"ada"}), "ada", True),
        (frozenset({"ada"}), "bob", False),
        (frozenset({"ada"}), None, False),
        (frozenset(), "ada", False),
    ],
)
def test_sight(user_ids: frozenset[str] | None, user_id: str | None, visible: bool) -> None:
    assert access(Role.READER, user_ids=user_ids).may_see(user_id) is visible


@pytest.mark.parametrize("role", Role)
def test_only_a_reader_may_not_write_and_only_an_admin_administers(role: Role) -> None:
    assert access(role).may_write is (role is not Role.READER)
    if role is Role.READER:
        with pytest.raises(AccessDeniedError, match="reader"):
            access(role).require_write()
    if role is not Role.ADMIN:
        with pytest.raises(AccessDeniedError, match="needs admin"):
            access(role).require_admin()


def test_a_bound_key_writes_as_its_agent_only() -> None:
    bound = access(Role.AGENT, agent_id="travel", user_ids=frozenset({"ada"}))
    bound.require_scope("ada", "travel")
    for user_id, agent_id in (("ada", "cook"), ("ada", None), ("bob", "travel"), (None, "travel")):
        with pytest.raises(AccessDeniedError):
            bound.require_scope(user_id, agent_id)
