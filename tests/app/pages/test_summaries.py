"""Summary and context card on the page of a thread."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from memoryapp.memory import store
from memoryapp.models import AuditEntry
from memoryapp.services import memories
from oracleagentmemory.apis import ILlm, LlmResponse
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.errors import ModelError
from tests.app.pages.conftest import OPERATOR, add_memory, add_thread, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)>"


class OneAnswer(ILlm):
    """A model that gives one summary."""

    def generate(self, prompt: Any, **kwargs: Any) -> LlmResponse:
        """Give it."""
        return LlmResponse('{"summary": "Ada flies & sleeps", "topics": ["<travel>"]}')


def summed_up(thread_id: str) -> None:
    """Save a summary as an agent with a model does."""
    OracleAgentMemory(store=store()).get_thread(thread_id, llm=OneAnswer()).get_summary()


def test_without_a_model_the_page_says_that_its_messages_stand_for_it(
    client: Client, thread: str
) -> None:
    with nothing_changes():
        response = client.get("/threads/t-1/")
    summary = response.context["summary"]
    assert "I fly to Lisbon" in summary.text
    assert summary.is_transcript
    page = text_of(response)
    assert "No language model has summed this thread up" in page
    assert "Context card" in page


def test_a_summary_of_a_model_is_shown_with_its_topics(client: Client, thread: str) -> None:
    summed_up("t-1")
    page = text_of(client.get("/threads/t-1/"))
    assert "Ada flies &amp; sleeps" in page
    assert "&lt;travel&gt;" in page
    assert "No language model has summed this thread up" not in page
    client.post("/threads/t-1/messages/", {"role": "user", "content": "more"})
    assert "Newer messages" in text_of(client.get("/threads/t-1/"))


def test_the_card_is_drawn_when_asked_for_and_writes_nothing(client: Client) -> None:
    add_thread("t-1", [f"{HOSTILE} flies to Lisbon"])
    add_memory(f"{HOSTILE} likes Lisbon", memory_id="m-1", thread_id="t-1", agent_id="travel")
    add_memory("Ada left Lisbon", memory_id="m-2", thread_id="t-1", agent_id="travel")
    memories.set_status(OPERATOR, "m-2", "invalid")
    assert "card" not in client.get("/threads/t-1/").context
    with nothing_changes():
        response = client.get("/threads/t-1/", {"card": "on"})
    content = response.context["card"].content
    assert "likes Lisbon" in content
    assert "Ada left Lisbon" not in content
    page = text_of(response)
    assert "&lt;context_card&gt;" in page
    assert HOSTILE not in page


def test_a_card_that_cannot_be_drawn_leaves_the_thread_readable(
    client: Client, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ModelError("the embedder is away")

    monkeypatch.setattr(store().embedder, "embed", refuse)
    response = client.get("/threads/t-1/", {"card": "on"})
    assert response.status_code == 200
    assert "The embedder is away" in text_of(response)
    assert "I fly to Lisbon" in text_of(response)


def test_refreshing_saves_the_summary_with_its_audit_entry(client: Client, thread: str) -> None:
    response = client.post("/threads/t-1/summary/", follow=True)
    assert "Summary refreshed." in text_of(response)
    saved = store().list("thread_summary", thread_id="t-1", limit=None)
    assert [one.status for one in saved] == ["valid"]
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.noun, entry.record_id) == ("refresh", "summary", "t-1")
    assert entry.user_id == "ada"


def test_a_thread_without_messages_has_nothing_to_sum_up(client: Client) -> None:
    add_thread("t-1", [])
    page = text_of(client.get("/threads/t-1/"))
    assert "Context card" not in page
    response = client.post("/threads/t-1/summary/", follow=True)
    assert "has no messages" in text_of(response)
    assert not AuditEntry.objects.filter(noun="summary").exists()


def test_earlier_messages_come_without_the_summary(client: Client, thread: str) -> None:
    assert "summary" not in client.get("/threads/t-1/", {"before": "99999"}).context


def test_who_may_not(anonymous: Client, reader: Client, limited: Client, thread: str) -> None:
    add_thread("t-2", ["Bob speaks"], user_id="bob")
    with nothing_changes():
        assert anonymous.post("/threads/t-1/summary/").url.startswith("/login/")
        assert reader.post("/threads/t-1/summary/").status_code == 403
        assert limited.post("/threads/t-2/summary/").status_code == 404
    assert "Refresh" not in text_of(reader.get("/threads/t-1/"))


def test_who_may_not_see_all_messages_sees_no_text_of_them(limited: Client, thread: str) -> None:
    store().add(["a zebra of bob's"], "message", thread_ids="t-1", user_ids="bob", roles="user")
    response = limited.get("/threads/t-1/", {"card": "on"})
    assert response.status_code == 200
    assert "zebra" not in text_of(response)
    assert "summary" not in response.context
    with nothing_changes():
        assert limited.post("/threads/t-1/summary/").status_code == 403
