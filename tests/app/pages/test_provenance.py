"""Where memories came from, on their page, in the conversation, and when a message is deleted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memoryapp.access import Role
from memoryapp.ids import encode_tilde
from memoryapp.memory import store
from memoryapp.models import AuditEntry, Job, JobState, Revision
from memoryapp.services import memories, messages
from oracleagentmemory.core import OracleAgentMemory
from oracleagentmemory.errors import NotFoundError
from oracleagentmemory.testing import ScriptedAnswer, ScriptedModelServer
from tests.app.jobs.rows import add_job
from tests.app.pages.conftest import OPERATOR, add_memory, add_thread, text_of
from tests.app.provenance import note
from tests.app.tables import nothing_changes
from tests.sdk.extraction.models import EXTRACTION, inline, scripted_llm

pytestmark = pytest.mark.django_db

HOSTILE = '"><img src=x onerror=alert(1)>{{ 7|add:7 }}'


@pytest.fixture
def taught(thread: str) -> str:
    """Memories: of ``m-1`` alone, of both messages, of ``m-1`` but older, of none."""
    for name in ("alone", "both", "older", "none"):
        add_memory(f"text of {name}", memory_id=name, thread_id=thread, agent_id="travel")
    note(("alone", "m-1"), ("both", "m-1"), ("both", "m-2"))
    note(("older", "m-1"), job_id=None)
    return thread


def learnt_from(client: Client, memory_id: str) -> str:
    """The section of a memory's page."""
    page = text_of(client.get(f"/memories/{memory_id}/"))
    return page.partition('id="sources"')[2].partition("</section>")[0]


def beside(client: Client, path: str = "/threads/t-1/") -> list[str]:
    """What stands beside each message, from old to new."""
    turns = text_of(client.get(path)).split('<div class="turn">')[1:]
    return [turn.partition("</article>")[2].partition("</section>")[0] for turn in turns]


def test_a_memory_quotes_the_messages_that_taught_it(client: Client, taught: str) -> None:
    section = learnt_from(client, "both")
    assert section.index("I fly to Lisbon") < section.index("Window or aisle?")
    for word in ("job-1", "model-1", "extraction_1", 'href="/threads/t-1/messages/m-1/"', "<time"):
        assert word in section
    place, anchor = client.get("/threads/t-1/messages/m-1/").url.split("#")
    assert f'id="{anchor}"' in text_of(client.get(place))


def test_a_job_that_has_a_page_is_linked_for_who_may_see_it(
    client: Client, limited: Client, taught: str
) -> None:
    assert "/jobs/job-1/" not in learnt_from(client, "both")
    job = add_job("job-1", JobState.SUCCEEDED)
    for who in (client, limited):
        assert 'href="/jobs/job-1/"' in learnt_from(who, "both")
    Job.objects.filter(pk=job.pk).update(user_id="bob")
    assert "/jobs/job-1/" not in learnt_from(limited, "both")


def test_a_memory_that_was_there_before_says_so(client: Client, taught: str) -> None:
    section = learnt_from(client, "older")
    assert "Stored before; this message says the same" in section
    assert "job-1" not in section


def test_a_memory_without_a_message_says_how_it_came(client: Client, taught: str) -> None:
    assert "Added by the command test." in learnt_from(client, "none")
    sent = {"content": "by hand", "memory_type": "fact", "user_id": "ada"}
    path = client.post("/memories/new/", sent).url
    section = learnt_from(client, path.split("/")[-2])
    assert "Added by hand, by reviewer0. No message is noted as its source." in section
    (stored,) = store().add(["with the SDK"], "fact", user_ids="ada")
    assert "stored with the SDK or by an import" in learnt_from(client, stored)


def test_a_memory_of_many_messages_shows_the_first_and_counts_all(client: Client) -> None:
    add_thread("t-1", [f"message {number:03}" for number in range(30)])
    add_memory("learnt slowly", memory_id="slow", thread_id="t-1")
    note(*(("slow", f"m-{number}") for number in range(1, 31)))
    section = learnt_from(client, "slow")
    assert "message 019" in section
    assert "message 020" not in section
    assert "the first 20 of 30 messages" in section


def test_a_message_out_of_sight_is_neither_quoted_nor_linked(
    limited: Client, client: Client, taught: str
) -> None:
    add_thread("t-2", ["the plan of bob"], user_id="bob")
    note(("both", "t-2-1"))
    section = learnt_from(limited, "both")
    assert "A message you may not see" in section
    for word in ("plan", "t-2", "bob"):
        assert word not in section
    assert "the plan of bob" in learnt_from(client, "both")


def test_the_conversation_shows_what_each_message_taught(client: Client, taught: str) -> None:
    memories.set_status(OPERATOR, "both", "invalid")
    first, second = beside(client)
    for name in ("alone", "both", "older"):
        assert f'href="/memories/{name}/"' in first
    assert "text of none" not in first + second
    assert 'href="/memories/both/"' in second
    assert "text of alone" not in second
    assert first.count("Invalid") == second.count("Invalid") == 1


def test_a_thread_that_taught_nothing_has_no_margin(client: Client, thread: str) -> None:
    assert not any("learnt" in part for part in beside(client))


def test_many_memories_of_a_message_are_folded(client: Client, thread: str) -> None:
    for number in range(7):
        add_memory(f"thing {number}", memory_id=f"thing-{number}", thread_id=thread)
        note((f"thing-{number}", "m-1"))
    shown, folded = beside(client)[0].split("<details")
    assert [f"thing {number}" in shown for number in range(5)] == [True] * 4 + [False]
    assert "3 more" in folded
    assert "thing 6" in folded


def test_memories_of_others_are_not_beside_a_message(limited: Client, taught: str) -> None:
    add_memory("the plan of bob", memory_id="theirs", user_id="bob", thread_id=taught)
    note(("theirs", "m-1"))
    assert "plan" not in text_of(limited.get("/threads/t-1/"))
    assert "text of alone" in beside(limited)[0]


def test_hostile_texts_stay_texts(client: Client) -> None:
    add_thread(HOSTILE, [])
    message = {"role": "user", "content": HOSTILE, "id": HOSTILE}
    messages.add(OPERATOR, HOSTILE, [message])
    add_memory(HOSTILE, memory_id=HOSTILE, thread_id=HOSTILE)
    note((HOSTILE, HOSTILE), job_id=HOSTILE)
    for path in ("/memories/{0}/", "/threads/{0}/", "/threads/{0}/messages/{0}/delete/"):
        answer = client.get(path.format(encode_tilde(HOSTILE)))
        page = text_of(answer)
        assert page.count("&lt;img src=x onerror=alert(1)&gt;{{ 7|add:7 }}") > 1, path
        assert "<img src=x" not in page, path


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect what the SDK and Django execute."""
    seen: list[str] = []

    def collect(_c: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        seen.append(statement)

    engine = store().engine.engine
    sa.event.listen(engine, "before_cursor_execute", collect)
    try:
        with CaptureQueriesContext(connection):
            yield seen
    finally:
        sa.event.remove(engine, "before_cursor_execute", collect)


def test_a_page_of_many_taught_messages_takes_as_many_statements_as_one(client: Client) -> None:
    for thread_id, count in (("t-1", 1), ("t-2", 50)):
        add_thread(thread_id, [f"message {number}" for number in range(count)])
        prefix = thread_id.replace("t-1", "m")
        for number in range(1, count + 1):
            add_memory(f"of {number}", memory_id=f"{thread_id}-{number}", thread_id=thread_id)
            note((f"{thread_id}-{number}", f"{prefix}-{number}"))
    counts = []
    for thread_id, count in (("t-1", 1), ("t-2", 50)):
        client.get(f"/threads/{thread_id}/")
        with statements() as seen:
            page = text_of(client.get(f"/threads/{thread_id}/"))
        assert page.count('role="group"') == count
        counts.append(len(seen))
    assert counts[0] == counts[1]


class TestDeletingAMessage:
    PATH = "/threads/t-1/messages/m-1/delete/"

    def sent(self, client: Client, **more: Any) -> dict[str, Any]:
        form = client.get(self.PATH).context["form"]
        return {name: form[name].value() for name in ("fingerprint", "going")} | more

    def test_the_question_says_what_would_go_and_what_stays(
        self, client: Client, taught: str
    ) -> None:
        page = text_of(client.get(self.PATH))
        assert "Only this message taught 1 memory" in page
        assert "2 memories stay in any case" in page
        going, staying = page.partition('id="staying-title"')[::2]
        assert "text of alone" in going
        assert "text of both" in staying
        assert "text of older" in staying
        choices = page.partition('name="derived"')[2].partition("</select>")[0]
        assert choices.index('value="keep"') < choices.index('value="delete"')
        assert "selected" not in choices

    def test_a_message_that_taught_nothing_asks_nothing(self, client: Client, thread: str) -> None:
        page = text_of(client.get(self.PATH))
        assert 'name="derived"' not in page
        assert "stay and are still found" in page

    @pytest.mark.parametrize("more", [{}, {"derived": "keep"}, {"derived": ""}])
    def test_memories_stay_unless_asked_otherwise(
        self, client: Client, taught: str, more: dict[str, str]
    ) -> None:
        assert client.post(self.PATH, self.sent(client, **more)).url == "/threads/t-1/"
        assert memories.get(OPERATOR, "alone").record.content == "text of alone"
        assert "No message is noted as its source" in learnt_from(client, "alone")

    def test_what_only_this_message_taught_goes_with_it(self, client: Client, taught: str) -> None:
        sent = self.sent(client, derived="delete", reason="wrong")
        answer = client.post(self.PATH, sent, follow=True)
        assert "Message and what it taught deleted." in text_of(answer)
        with pytest.raises(NotFoundError):
            memories.get(OPERATOR, "alone")
        for name in ("both", "older", "none"):
            memories.get(OPERATOR, name)
        message, memory = AuditEntry.objects.order_by("-id")[:2]
        assert (message.noun, message.detail["memories"]) == ("message", 1)
        assert (memory.noun, memory.record_id, memory.reason) == ("memory", "alone", "wrong")
        assert Revision.objects.get(audit_entry=memory).before["content"] == "text of alone"
        changes = text_of(client.get("/changes/"))
        assert "wrong" in changes

    def test_more_than_the_question_said_is_refused(self, client: Client, taught: str) -> None:
        sent = self.sent(client, derived="delete")
        add_memory("one more", memory_id="more", thread_id=taught)
        note(("more", "m-1"))
        with nothing_changes():
            answer = client.post(self.PATH, sent)
        assert answer.status_code == 409

    def test_an_unknown_choice_is_said(self, client: Client, taught: str) -> None:
        for wrong in ({"derived": "all"}, {"going": "-1"}):
            with nothing_changes():
                answer = client.post(self.PATH, self.sent(client) | wrong)
            assert answer.status_code == 422

    def test_what_one_may_not_delete_keeps_the_others(self, make_client: Any, taught: str) -> None:
        add_memory("the plan of bob", memory_id="theirs", user_id="bob", thread_id=taught)
        note(("theirs", "m-1"))
        limited = make_client(Role.REVIEWER, user_ids=["ada"])
        page = text_of(limited.get(self.PATH))
        assert "memories that you may not delete" in page
        assert "plan" not in page
        assert 'name="derived"' not in page
        with nothing_changes():
            answer = limited.post(self.PATH, self.sent(limited, derived="delete"))
        assert answer.status_code == 403
        assert limited.post(self.PATH, self.sent(limited)).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_what_a_model_finds_in_a_message_is_shown_on_both_pages(client: Client) -> None:
    found = [{"text": "Ada flies to Lisbon in May", "record_type": "fact"}]
    script = [ScriptedAnswer(when=EXTRACTION, json={"thoughts": None, "memories": found})]
    with ScriptedModelServer(script) as server:
        agent = OracleAgentMemory(
            store=store(),
            llm=scripted_llm(server),
            memory_extraction_config=inline(memory_extraction_frequency=1),
        )
        told = agent.create_thread(thread_id="t-1", user_id="ada", agent_id="travel")
        told.add_messages([{"role": "user", "content": "To Lisbon, in May", "id": "m-1"}])
        agent.close()
    (beside_it,) = beside(client)
    assert "Ada flies to Lisbon in May" in beside_it
    memory_id = beside_it.partition('href="/memories/')[2].partition("/")[0]
    section = learnt_from(client, memory_id)
    assert "To Lisbon, in May" in section
    assert "openai/scripted" in section
    assert "extraction" in section
