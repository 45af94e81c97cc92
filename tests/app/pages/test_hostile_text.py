"""Text of users and models is hostile, and their ids are anything."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from memoryapp.models import JobState
from memoryapp.services import images, memories, messages, relations, threads, users
from oracleagentmemory.core.extractors.jobs import (
    JobProblem,
    JobResult,
    ModelAnswer,
    Proposal,
)
from tests.app.jobs.rows import add_job
from tests.app.pages.conftest import OPERATOR, text_of
from tests.sdk.images.pictures import picture

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)>"
#: A few of each kind; tests/app/test_ids.py has them all.
NASTY = [
    "a/b",
    "a%2Fb",
    'a"b',
    "..",
    "search",
    "new",
    "~x",
    "空",
    "空" * 42 + "ab",
    "abc\n",
    HOSTILE,
]
BREAKERS = [HOSTILE, '"><script>alert(1)</script>', "{{ 7|add:7 }}", "'; DROP TABLE memory; --"]


def fill(text: str) -> None:
    """Put a text into every field that a caller writes."""
    short = text.encode()[:30].decode(errors="ignore")  # the bytes that a role may have
    users.add_profile(OPERATOR, text, text, metadata={text: text})
    threads.create(OPERATOR, thread_id=text, user_id=text, agent_id=text, metadata={text: [text]})
    messages.add(
        OPERATOR,
        text,
        [{"role": short, "content": text, "id": text, "metadata": {text: text}}],
    )
    described = {"description": text, "metadata": {text: text}, "timestamp": short}
    images.add(OPERATOR, data=picture("PNG"), image_id=text, thread_id=text, **described)
    part = {"type": "image", "mime_type": "image/png", "bytes": picture("PNG"), "description": text}
    told = {"role": short, "content": [part | {"id": f"{text[:20]}-part"}], "id": f"{text[:20]}-2"}
    messages.add(OPERATOR, text, [told])
    memories.add(
        OPERATOR,
        content=text,
        memory_id=text,
        user_id=text,
        agent_id=text,
        thread_id=text,
        metadata={text: {text: text}},
        timestamp=short,
    )
    other = memories.add(OPERATOR, content=text, user_id=text, thread_id=text, agent_id=text)
    add_hostile_job(text)
    relations.add(
        OPERATOR, source_id=text, target_id=other, relation_type=text, relation_id=text,
        opposite_relation_type=text, timestamp=short, metadata={text: text},
    )  # fmt: skip


def add_hostile_job(text: str) -> None:
    """Store a job that failed, with a text wherever a model, a thread or a worker says one."""
    answer = ModelAnswer(text, text, text, text, finish_reason=text)
    result = JobResult(
        job_id=text, state="partial", memory_ids=(text,), relation_ids=(text,),
        proposals=(Proposal(text, text, text),), problems=(JobProblem(text, text, text),),
        answers=(answer,),
    )  # fmt: skip
    add_job(
        text[:60], JobState.PARTIAL, user_id=text, thread_id=text, agent_id=text, error=text,
        message_ids=[text], image_id=text, result=result.to_json(), model=text, reason=text,
        requested_by=text, claimed_by=text, retry_of=text[:60], wait_reason=text,
    )  # fmt: skip


def addresses(text: str) -> list[str]:
    """Every page that shows one of the records, and every list."""
    pages = [
        reverse(name, args=(text,))
        for name in (
            "memory-detail",
            "memory-edit",
            "memory-delete",
            "thread-detail",
            "thread-edit",
            "thread-delete",
            "user-detail",
            "user-profile",
            "agent-detail",
            "relation-detail",
            "relation-edit",
            "relation-delete",
            "image-detail",
            "image-edit",
            "image-delete",
        )
    ]
    pages += [reverse(name, args=(text, text)) for name in ("message-edit", "message-delete")]
    pages += [reverse(f"job-{page}", args=(text[:60],)) for page in ("detail", "progress")]
    pages += [reverse(f"job-{page}", args=(text[:60],)) for page in ("retry", "cancel")]
    lists = (
        "overview",
        "memory-list",
        "thread-list",
        "user-list",
        "agent-list",
        "relation-list",
        "image-list",
        "job-list",
        "job-list-progress",
        "change-list",
    )
    return pages + [reverse(name) for name in lists]


@pytest.mark.parametrize("text", BREAKERS)
def test_hostile_text_in_every_field_comes_out_as_text(client: Client, text: str) -> None:
    fill(text)
    for url in addresses(text):
        page = text_of(client.get(url))
        assert "<img src=x" not in page, url
        assert "<script>alert" not in page, url
    opened = client.get("/memories/", {"m": text, "user": text, "agent": text, "thread": text})
    found = client.get("/search/", {"q": text, "user": text})
    for response in (opened, found):
        assert response.status_code == 200
        assert "<img src=x" not in text_of(response)
        assert "<script>alert" not in text_of(response)
    assert opened.context["drawer"].record.content == text


@pytest.mark.parametrize("record_id", NASTY)
def test_a_nasty_id_has_all_its_pages(client: Client, record_id: str) -> None:
    fill(record_id)
    for url in addresses(record_id):
        response = client.get(url)
        assert response.status_code == 200, url
        assert text_of(response).count("<h1") == (0 if "/progress/" in url else 1)
    for name, url in {"m": "/memories/", "user": "/threads/", "agent": "/threads/"}.items():
        response = client.get(url, {name: record_id})
        assert response.status_code == 200
        assert record_id in [row.record.id for row in response.context["page"].rows]
    assert client.get("/users/").context["page"].actors[0].id == record_id
    found = client.get(reverse("message-detail", args=(record_id, record_id)))
    assert found.status_code == 302
    assert client.get(found.url.split("#")[0]).status_code == 200


@pytest.mark.parametrize("record_id", NASTY)
def test_a_nasty_id_can_be_changed_and_deleted(client: Client, record_id: str) -> None:
    fill(record_id)
    state = memories.get(OPERATOR, record_id).fingerprint
    edit = reverse("memory-edit", args=(record_id,))
    assert client.post(edit, {"content": "new", "fingerprint": state}).status_code == 302
    assert memories.get(OPERATOR, record_id).record.content == "new"
    relation = relations.get(OPERATOR, record_id).fingerprint
    edit = reverse("relation-edit", args=(record_id,))
    sent = {"relation_type": "supports", "fingerprint": relation}
    assert client.post(edit, sent).status_code == 302
    assert relations.get(OPERATOR, record_id).relation.relation_type == "supports"
    message = reverse("message-delete", args=(record_id, record_id))
    gone = [reverse(f"{noun}-delete", args=(record_id,)) for noun in ("relation", "memory")]
    for url in (*gone, message):
        assert client.post(url).status_code == 302
        assert client.get(url).status_code == 404
    assert client.post(reverse("thread-delete", args=(record_id,))).status_code == 302
    assert client.get(reverse("thread-detail", args=(record_id,))).status_code == 404


def test_a_search_result_leads_to_a_nasty_message(client: Client) -> None:
    fill("a/b c")
    page = text_of(client.get("/search/", {"q": "a", "user": "a/b c", "types": "message"}))
    assert reverse("message-detail", args=("a/b c", "a/b c")) in page
