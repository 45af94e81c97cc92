"""Bearer keys: made once, stored as a hash, found by their secret, revoked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memoryapp.access import Role
from memoryapp.models import AuditEntry, Key
from memoryapp.services import keys
from oracleagentmemory.errors import InvalidInputError, NotFoundError
from tests.app.api.conftest import OPERATOR, Api
from tests.app.tables import contents, nothing_changes

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("memory_key", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_command_prints_a_key_that_works() -> None:
    secret = run("create", "first").strip()
    assert secret.startswith("mk_")
    assert Api(secret).get("/threads").status_code == 200


def test_secret_is_stored_nowhere() -> None:
    secret = run("create", "first").strip()
    assert secret not in repr(contents())
    assert secret[3:] not in repr(contents())


def test_every_bad_key_gets_the_same_answer() -> None:
    expired, expired_secret = keys.create(OPERATOR, name="old")
    Key.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    revoked, revoked_secret = keys.create(OPERATOR, name="revoked")
    keys.revoke(OPERATOR, revoked.prefix)
    secrets = [None, "", "mk_", "mk_unknown", "空", "mk_\x00", expired_secret, revoked_secret]
    with nothing_changes():
        answers = [Api(secret).get("/threads") for secret in secrets]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.content for answer in answers}) == 1
    assert all(answer["WWW-Authenticate"] == "Bearer" for answer in answers)


def test_key_in_another_scheme_is_no_key(api: Api) -> None:
    secret = run("create", "first").strip()
    answer = Api(None).get("/threads", headers={"Authorization": f"Basic {secret}"})
    assert answer.status_code == 401


def test_last_use_is_written_once_a_minute() -> None:
    key, secret = keys.create(OPERATOR, name="first")
    assert key.last_used_at is None
    keys.find(secret)
    first = Key.objects.get(pk=key.pk).last_used_at
    assert first is not None
    keys.find(secret)
    assert Key.objects.get(pk=key.pk).last_used_at == first
    earlier = first - timedelta(minutes=2)
    Key.objects.filter(pk=key.pk).update(last_used_at=earlier)
    keys.find(secret)
    assert Key.objects.get(pk=key.pk).last_used_at > earlier


def test_making_and_revoking_a_key_leave_audit_entries_without_the_secret() -> None:
    secret = run("create", "first", "--role", "reader", "--user", "ada").strip()
    prefix = secret[:11]
    run("revoke", prefix)
    run("revoke", prefix)
    entries = AuditEntry.objects.filter(noun="key", record_id=prefix).order_by("id")
    assert [entry.action for entry in entries] == ["create", "revoke"]
    assert entries[0].actor == "command:memory_key"
    assert entries[0].detail.keys() >= {"role", "user_ids", "agent_id", "expires_at"}
    assert secret not in repr([entry.detail for entry in entries])


def test_list_shows_state_role_and_users_but_no_secret() -> None:
    secret = run("create", "nightly", "--role", "reader", "--user", "ada", "--user", "bob").strip()
    listed = run("list")
    assert "nightly" in listed
    assert "never used" in listed
    assert "ada, bob" in listed
    assert secret not in listed
    run("revoke", secret[:11])
    assert "revoked" in run("list")


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", " "),
        ("create", "x", "--role", "king"),
        ("create", "x", "--days", "0"),
        ("create", "x", "--days", "soon"),
        ("create", "x", "--user", ""),
        ("create", "x", "--user", "u" * 129),
        ("create", "x", "--agent", "a\0b"),
        ("revoke", "mk_unknown"),
        ("create",),
        (),
    ],
)
def test_bad_arguments_make_no_key(arguments: tuple[str, ...]) -> None:
    with nothing_changes(), pytest.raises(CommandError):
        run(*arguments)


def test_service_refuses_what_cannot_work() -> None:
    with pytest.raises(InvalidInputError, match="at least one user"):
        keys.create(OPERATOR, name="x", user_ids=[])
    with pytest.raises(InvalidInputError, match="future"):
        keys.create(OPERATOR, name="x", expires_at=timezone.now())
    with pytest.raises(NotFoundError):
        keys.revoke(OPERATOR, "mk_nobody")


def test_reader_key_reads_and_changes_nothing(
    make_api: Callable[..., Api], thread: str, memory: str
) -> None:
    reader = make_api(Role.READER)
    for path in ("/threads", thread, f"{thread}/messages", f"{thread}/messages/m-1", "/memories"):
        assert reader.get(path).status_code == 200
    assert reader.get(memory).status_code == 200
    assert reader.post("/search", {"query": "Lisbon"}).status_code == 200
    message = {"messages": [{"role": "user", "content": "x"}]}
    with nothing_changes():
        answers = [
            reader.post("/threads", {"user_id": "ada"}),
            reader.patch(thread, {"metadata": {}}),
            reader.delete(thread),
            reader.post(f"{thread}/messages", message),
            reader.patch(f"{thread}/messages/m-1", {"content": "x"}),
            reader.delete(f"{thread}/messages/m-1"),
            reader.post("/memories", {"content": "x", "user_id": "ada"}),
            reader.patch(memory, {"content": "x"}),
            reader.delete(memory),
        ]
    assert {answer.status_code for answer in answers} == {403}


def test_agent_key_writes_as_its_agent_only(make_api: Callable[..., Api]) -> None:
    bound = make_api(agent_id="travel", user_ids=["ada"])
    created = bound.post("/memories", {"content": "likes tea"})
    assert created.status_code == 201
    assert (created.json()["user_id"], created.json()["agent_id"]) == ("ada", "travel")
    other = {"content": "x", "user_id": "ada", "agent_id": "banking"}
    assert bound.post("/memories", other).status_code == 403
    assert bound.post("/threads", {"user_id": "bob"}).status_code == 403
