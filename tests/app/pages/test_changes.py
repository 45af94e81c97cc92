"""The pages of changes: what was recorded, by whom, and what was changed outside."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from django.test import Client

from memoryapp.memory import inspector, store
from memoryapp.services import change_list, memories, messages, threads, users
from tests.app.pages.conftest import OPERATOR, add_memory, text_of

pytestmark = pytest.mark.django_db


def shown(client: Client, **query: Any) -> list[tuple[str, str, str | None]]:
    """Operation, record and actor of each change."""
    response = client.get("/changes/", query)
    assert response.status_code == 200
    return [
        (known.change.operation, known.change.record_id, known.entry and known.entry.actor)
        for known in response.context["page"].changes
    ]


def written_outside(memory_id: str, text: str) -> None:
    """Change a memory as another program would."""
    table = store().tables.memory
    with store().engine.write() as transaction:
        statement = sa.update(table).where(table.c.record_id == memory_id)
        transaction.execute(statement.values(content=text), {})


def test_each_change_is_listed_with_who_made_it(client: Client, memory: str) -> None:
    person = client.get("/").wsgi_request.user.get_username()
    client.post(f"/memories/{memory}/status/", {"status": "invalid", "reason": "too old"})
    client.post(f"/memories/{memory}/delete/", {"reason": "wrong"})
    assert shown(client) == [
        ("delete", "mem-1", f"person:{person}"),
        ("update", "mem-1", f"person:{person}"),
        ("add", "mem-1", "command:test"),
    ]
    page = text_of(client.get("/changes/"))
    assert "too old" in page
    assert "/memories/mem-1/" not in page  # it is gone


def test_records_that_are_there_are_linked_with_their_text(client: Client, thread: str) -> None:
    add_memory("Ada likes the window", memory_id="a/b")
    users.add_profile(OPERATOR, "ada", "Flies often")
    page = text_of(client.get("/changes/"))
    assert 'href="/memories/~YS9i/"' in page
    assert "Ada likes the window" in page
    assert 'href="/threads/t-1/messages/m-1/"' in page
    assert 'href="/threads/t-1/"' in page
    assert 'href="/users/ada/"' in page


def test_several_messages_of_one_call_have_one_author(client: Client, thread: str) -> None:
    assert [one for one in shown(client) if one[1].startswith("m-")] == [
        ("add", "m-2", "command:test"),
        ("add", "m-1", "command:test"),
    ]


def test_a_deleted_thread_is_one_change(client: Client, thread: str) -> None:
    threads.delete(OPERATOR, "t-1")
    assert shown(client)[0] == ("scope", "t-1", "command:test")
    assert "Deleted with its records" in text_of(client.get("/changes/"))


def test_what_the_sdk_alone_wrote_has_no_author(client: Client) -> None:
    store().add(["written by an agent"], "memory", record_ids="direct", user_ids="ada")
    assert shown(client) == [("add", "direct", None)]
    page = text_of(client.get("/changes/"))
    assert "SDK, process " in page


def test_an_entry_of_another_change_is_not_taken(client: Client, memory: str) -> None:
    store().update("memory", "mem-1", content="by the SDK alone")
    assert shown(client)[0] == ("update", "mem-1", None)


def test_a_limited_person_sees_their_users_changes_alone(
    limited: Client, memory: str, foreign: str
) -> None:
    add_memory("of nobody", user_id=None, memory_id="mem-3")
    written_outside(foreign, "bob's secret")
    assert shown(limited) == [("add", "mem-1", "command:test")]
    for url in ("/changes/", "/changes/outside/"):
        page = text_of(limited.get(url))
        assert "mem-2" not in page
        assert "bob" not in page.lower()


def test_pages_walk_down_and_up(client: Client) -> None:
    for number in range(120):
        add_memory(f"memory {number}", memory_id=f"m{number:03}")
    page = client.get("/changes/").context["page"]
    seen = [known.change.record_id for known in page.changes]
    while page.older:
        page = client.get("/changes/", {"before": page.older}).context["page"]
        seen += [known.change.record_id for known in page.changes]
    assert seen == [f"m{number:03}" for number in reversed(range(120))]
    up = client.get("/changes/", {"after": page.newer}).context["page"]
    assert up.changes[0].change.record_id == "m069"


@pytest.mark.parametrize("odd", ["x", "-1", "9" * 30, "a\x00b"])
def test_odd_cursors_and_kinds_count_as_not_given(client: Client, memory: str, odd: str) -> None:
    assert len(shown(client, before=odd)) == 1
    response = client.get("/changes/outside/", {"before": odd, "kind": odd})
    assert response.status_code == 200
    assert response.context["kind"] == "memory"


def test_a_memory_changed_outside_is_found_until_it_is_written_again(
    client: Client, memory: str, foreign: str
) -> None:
    assert "All as our SDK left it" in text_of(client.get("/changes/outside/"))
    written_outside(memory, "Ada likes trains")
    page = text_of(client.get("/changes/outside/"))
    assert "2 compared, 1 changed outside" in page
    assert 'href="/memories/mem-1/"' in page
    assert "/memories/mem-2/" not in page
    memories.update(OPERATOR, memory, content="Ada likes boats")
    assert "All as our SDK left it" in text_of(client.get("/changes/outside/"))


def test_messages_and_threads_are_compared_too(client: Client, thread: str) -> None:
    messages.update(OPERATOR, "t-1", "m-1", content="I fly to Porto")
    assert "2 compared, 0 changed" in text_of(client.get("/changes/outside/?kind=message"))
    assert "1 compared, 0 changed" in text_of(client.get("/changes/outside/?kind=thread"))


def test_a_long_store_is_compared_in_parts(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        add_memory(f"memory {number}", memory_id=f"m{number}")
    written_outside("m0", "changed")
    whole = inspector().changed_outside

    def in_parts(kind: Any, **given: Any) -> Any:
        return whole(kind, **given, scan=3)

    monkeypatch.setattr(inspector(), "changed_outside", in_parts)
    response = client.get("/changes/outside/")
    assert "older ones are still to be compared" in text_of(response)
    older = response.context["page"].older
    assert f"?kind=memory&amp;before={older}" in text_of(response)
    assert "m0" in text_of(client.get("/changes/outside/", {"before": older}))


def test_a_store_without_our_tables_says_so(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store(), "has_extras", False)
    for url in ("/changes/", "/changes/outside/"):
        assert "Not recorded here" in text_of(client.get(url))


def test_an_empty_store_says_what_will_appear(client: Client) -> None:
    assert "No changes yet" in text_of(client.get("/changes/"))
    assert "Nothing to compare" in text_of(client.get("/changes/outside/"))


def test_hostile_text_stays_text(client: Client) -> None:
    evil = "<script>alert(1)</script>"
    add_memory(evil, memory_id=evil, user_id=evil, reason=evil)
    written_outside(evil, evil * 2)
    for url in ("/changes/", "/changes/outside/"):
        page = text_of(client.get(url))
        assert "&lt;script&gt;alert(1)" in page
        assert evil not in page


def test_a_page_takes_as_many_queries_for_fifty_changes_as_for_one(
    client: Client, memory: str, thread: str, django_assert_max_num_queries: Any
) -> None:
    for number in range(50):
        add_memory(f"memory {number}")
    with django_assert_max_num_queries(8):
        client.get("/changes/")


def test_entries_far_from_their_change_are_not_taken(client: Client, memory: str) -> None:
    page = change_list.list_page(OPERATOR)
    (known,) = page.changes
    assert known.entry is not None
    late = known.entry
    late.at = known.change.changed_at + change_list._LATEST * 2
    assert change_list._entry_of(known.change, None, [late]) is None
