"""Pages without an LLM say what is off; with one an admin may test it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from pydantic import SecretStr

from memoryapp import memory
from memoryapp.access import Role
from memoryapp.models import AuditEntry
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.app.pages.conftest import add_thread, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db
BUILT = (memory.llm, memory.scheduler, memory.client)
OFF = "No language model is configured."


@pytest.fixture
def server(settings: Any) -> Iterator[ScriptedModelServer]:
    """The scripted model server as the product's model."""
    with ScriptedModelServer() as running:
        settings.MEMORY_LLM = "openai/scripted"
        settings.MEMORY_LLM_API_BASE = running.api_base
        settings.MEMORY_LLM_API_KEY = SecretStr("none")
        for built in BUILT:
            built.cache_clear()
        yield running
    for built in BUILT:
        built.cache_clear()


@pytest.fixture
def admin(make_client: Callable[..., Client]) -> Client:
    return make_client(Role.ADMIN)


def test_without_a_model_pages_say_what_is_off_and_how_to_switch_it_on(
    admin: Client, thread: str
) -> None:
    for url in ("/", "/jobs/", f"/threads/{thread}/"):
        page = text_of(admin.get(url))
        assert OFF in page, url
        assert "<code>MEMORY_LLM</code>" in page, url
        assert "docs/settings.md" in page, url
    assert "Test the model" not in text_of(admin.get("/jobs/"))


def test_an_empty_installation_says_it_too(client: Client) -> None:
    assert OFF in text_of(client.get("/"))


def test_without_a_model_there_is_nothing_to_test(admin: Client) -> None:
    with nothing_changes():
        answer = admin.post("/jobs/llm/", follow=True)
    assert "there is nothing to test" in text_of(answer)


def test_a_thread_that_was_saved_without_extraction_says_so(
    admin: Client, thread: str, server: ScriptedModelServer
) -> None:
    assert "Extraction is off in this thread" not in text_of(admin.get("/jobs/"))
    assert "Extraction is off in this thread" in text_of(admin.get(f"/threads/{thread}/"))
    add_thread("t-2", [])
    page = text_of(admin.get("/threads/t-2/"))
    assert "Extraction is off in this thread" not in page
    assert OFF not in page


def test_the_model_is_asked_once_and_the_page_says_how_it_went(
    admin: Client, server: ScriptedModelServer
) -> None:
    server.add(ScriptedAnswer(text=" ready <b>"))
    page = text_of(admin.post("/jobs/llm/", follow=True))
    assert len(server.requests) == 1
    assert "openai/scripted answered in" in page
    assert "answered “ready &lt;b&gt;” in" in page
    assert "tokens asked and" in page
    before, after = AuditEntry.objects.order_by("id")
    assert [(one.action, one.noun, one.record_id) for one in (before, after)] == [
        ("ask", "llm", "openai/scripted"),
        ("answer", "llm", "openai/scripted"),
    ]
    assert after.detail["input_tokens"] > 0
    assert after.detail["latency_ms"] >= 0


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (400, "&lt;script&gt;alert(1)&lt;/script&gt; no such model"),
        (401, "refuses the key or the permission (401)"),
        (429, "is busy (429)"),
        (500, "failed (500)"),
    ],
)
def test_a_model_that_fails_is_said_to_fail_and_why(
    admin: Client, server: ScriptedModelServer, status: int, why: str
) -> None:
    server.add(ScriptedAnswer(status=status, text="<script>alert(1)</script> no such model"))
    page = text_of(admin.post("/jobs/llm/", follow=True))
    assert "The last test failed" in page
    assert why in page
    assert "<script>alert" not in page
    assert AuditEntry.objects.latest("id").detail["error"]


def test_a_model_that_is_away_is_said_to_be_away(
    admin: Client, server: ScriptedModelServer
) -> None:
    server.close()
    assert "could not be reached" in text_of(admin.post("/jobs/llm/", follow=True))


def test_a_scripted_model_is_called_scripted(
    admin: Client, server: ScriptedModelServer, settings: Any
) -> None:
    assert "No model is asked: a script answers" in text_of(admin.get("/jobs/"))
    settings.MEMORY_LLM = "openai/gpt-4o-mini"
    page = text_of(admin.get("/jobs/"))
    assert "a script answers" not in page
    assert "openai/gpt-4o-mini" in page


@pytest.mark.parametrize("role", [Role.READER, Role.REVIEWER])
def test_only_an_admin_may_test_it(
    make_client: Callable[..., Client], server: ScriptedModelServer, role: Role
) -> None:
    client = make_client(role)
    assert "Test the model" not in text_of(client.get("/jobs/"))
    with nothing_changes():
        assert client.post("/jobs/llm/").status_code == 403
    assert server.requests == []
