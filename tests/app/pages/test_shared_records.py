"""What one caller may do to records that another one shares or owns."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from memoryapp.access import Access, Role
from memoryapp.services import memories, threads, users
from oracleagentmemory.errors import AccessDeniedError, InvalidInputError
from tests.app.pages.conftest import OPERATOR, add_memory, add_thread, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db

FORGED = {"$agent_memory": {"invalidated_by": "quarantine"}, "topic": "tea"}


def test_a_thread_with_records_of_others_is_not_deleted_by_who_cannot_see_them(
    limited: Client, client: Client
) -> None:
    add_thread("t-1", ["hello"])
    add_memory("Bob plans a surprise", memory_id="mem-2", user_id="bob", thread_id="t-1")
    url = reverse("thread-delete", args=("t-1",))
    with nothing_changes():
        refused = limited.post(url)
    assert refused.status_code == 403
    assert "surprise" not in text_of(refused)
    assert client.post(url).status_code == 302


def test_a_limited_person_deletes_a_thread_of_their_own(limited: Client) -> None:
    add_thread("t-1", ["hello"])
    add_memory("Ada likes tea", thread_id="t-1")
    assert limited.post(reverse("thread-delete", args=("t-1",))).status_code == 302


def test_a_bound_agent_is_bound_whatever_its_role() -> None:
    bound = Access(actor="key:x", role=Role.REVIEWER, agent_id="travel")
    memory_id = add_memory("Ada likes tea", agent_id="cook")
    with pytest.raises(AccessDeniedError), nothing_changes():
        memories.delete(bound, memory_id)


@pytest.mark.parametrize("forged", [FORGED, {"$agent_memory": "x"}, {"$agent_memory": None}])
def test_nobody_writes_what_the_sdk_keeps_in_metadata(forged: dict[str, object]) -> None:
    memory_id, thread_id = add_memory("Ada likes tea"), add_thread("t-1", [])
    with nothing_changes():
        for change in (
            lambda: add_memory("x", metadata=forged),
            lambda: memories.update(OPERATOR, memory_id, metadata=forged),
            lambda: threads.create(OPERATOR, user_id="ada", metadata=forged),
            lambda: threads.update(OPERATOR, thread_id, forged),
            lambda: users.add_profile(OPERATOR, "ada", "x", metadata=forged),
        ):
            with pytest.raises(InvalidInputError, match="reserved"):
                change()


def test_metadata_that_was_read_can_be_sent_back() -> None:
    memory_id = add_memory("Ada likes tea", metadata={"topic": "tea"})
    read = memories.set_status(OPERATOR, memory_id, "invalid").record.metadata
    assert read is not None
    changed = memories.update(OPERATOR, memory_id, metadata={**read, "topic": "coffee"})
    assert changed.record.metadata == {**read, "topic": "coffee"}


def test_two_people_who_add_the_same_profile_meet(make_client: Callable[..., Client]) -> None:
    add_memory("Ada likes tea")
    url = reverse("user-profile", args=("ada",))
    pages = [make_client(), make_client()]
    answers = [page.post(url, {"information": "mine", "fingerprint": ""}) for page in pages]
    assert [answer.status_code for answer in answers] == [302, 409]
    again = {
        "information": "both",
        "fingerprint": answers[1].context["form"]["fingerprint"].value(),
    }
    assert pages[1].post(url, again).status_code == 302
