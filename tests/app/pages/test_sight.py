"""A person or key limited to some users meets nothing of others, on any page and in any answer."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from django.test import Client

from memoryapp.access import Role
from memoryapp.models import JobState
from memoryapp.services import agents, images, keys, memories, messages, relations, users
from oracleagentmemory.core.extractors.jobs import JobProblem
from tests.app.jobs.rows import add_job, result_of
from tests.app.pages.conftest import OPERATOR, add_image, add_memory, add_thread
from tests.app.pages.test_frame import routes
from tests.app.provenance import note
from tests.sdk.images.pictures import picture

pytestmark = pytest.mark.django_db

#: In everything of bob's, and in nothing that the tests send.
SECRET = "zebra"


@pytest.fixture(autouse=True)
def worlds(db: None) -> None:
    """Ada's records, bob's, and a thread of ada's that holds a memory of bob's."""
    add_thread("t-1", ["I fly to Lisbon"])
    add_memory("Ada likes the window", memory_id="mem-1", thread_id="t-1", agent_id="travel")
    add_thread("t-2", [f"the {SECRET} is mine"], user_id="bob", metadata={SECRET: SECRET})
    hidden = {"user_id": "bob", "agent_id": f"{SECRET}-agent", "metadata": {SECRET: 1}}
    add_memory(f"Bob saw a {SECRET} by the window", memory_id="mem-2", thread_id="t-1", **hidden)
    add_memory(f"Bob fears the {SECRET}", memory_id="mem-3", thread_id="t-2", **hidden)
    for number, (source, target) in enumerate([("mem-1", "mem-2"), ("mem-2", "mem-3")]):
        relations.add(
            OPERATOR, source_id=source, target_id=target, relation_type=f"{SECRET}-like",
            relation_id=f"r-{number}", metadata={SECRET: 1},
        )  # fmt: skip
    add_image("i-1", description="Ada's window")
    for number, owner in [
        (2, {"user_id": "bob"}),
        (3, {"thread_id": "t-2"}),
        (4, {"user_id": "bob"}),
    ]:
        add_image(
            f"i-{number}",
            description=f"a {SECRET}",
            metadata={SECRET: SECRET},
            reason=SECRET,
            **owner,
        )
    part = {"type": "image", "mime_type": "image/png", "bytes": picture("PNG"),
            "description": f"a {SECRET}"}  # fmt: skip
    messages.add(OPERATOR, "t-2", [{"role": "user", "content": [part], "id": "t-2-2"}])
    note(("mem-1", "t-2-2"))
    images.update(OPERATOR, "i-4", description=f"the {SECRET}", reason=SECRET)
    images.delete(OPERATOR, "i-4", reason=SECRET)
    told = result_of("x", raw=SECRET, problems=[JobProblem("extraction", SECRET, SECRET)])
    for number, (user_id, thread_id) in enumerate(
        [("ada", "t-1"), ("bob", "t-2"), ("bob", "t-1"), ("", ""), ("ada", "t-gone")], start=1
    ):
        add_job(
            f"j-{number}", JobState.PARTIAL, user_id=user_id, thread_id=thread_id, error=SECRET,
            result=told, message_ids=["m-1", "t-2-1"], model=SECRET if user_id != "ada" else "",
            requested_by=SECRET if user_id != "ada" else "",
        )  # fmt: skip
    note(("mem-1", "m-1"), ("mem-1", "t-2-1"), ("mem-2", "m-1"), ("mem-2", "t-2-1"))
    memories.update(OPERATOR, "mem-2", content=f"Bob met the {SECRET}", reason=SECRET)
    relations.delete(OPERATOR, "r-1", reason=SECRET)
    memories.delete(OPERATOR, "mem-3", reason=SECRET)
    users.add_profile(OPERATOR, "bob", f"Owner of a {SECRET}")
    agents.add_profile(OPERATOR, f"{SECRET}-agent", f"Feeds the {SECRET}")


QUERIES: list[dict[str, Any]] = [
    {},
    {"user": "bob"},
    {"user_id": "bob"},
    {"m": "mem-2"},
    {"thread": "t-1", "status": "all"},
    {"thread": "t-2", "status": "all"},
    {"q": "stripes by the window"},
    {"q": "window", "user": "bob"},
    {"q": "window", "user": "ada", "thread": "t-2", "k": "100", "invalid": "on"},
    {"id": "bob"},
    {"kind": "thread"},
    {"kind": "image"},
    {"memory": "mem-1"},
    {"memory": "mem-2", "type": "like"},
    {"before": "999999999"},
    {"after": "1"},
    {"before": "zz"},
    {"status": "all", "since": "2000-01-01", "until": "2100-01-01"},
]


def test_no_page_shows_a_limited_person_what_others_have(make_client: Any) -> None:
    limited: Client = make_client(Role.ADMIN, user_ids=["ada"])
    ids = {
        "memory_id": ("mem-1", "mem-2", "mem-3"),
        "thread_id": ("t-1", "t-2"),
        "message_id": ("m-1", "t-2-1"),
        "user_id": ("ada", "bob"),
        "agent_id": ("travel",),
        "relation_id": ("r-0", "r-1"),
        "image_id": ("i-1", "i-2", "i-3", "i-4"),
        "job_id": ("j-1", "j-2", "j-3", "j-4", "j-5"),
    }
    for route in routes():
        pattern = "/" + str(route.pattern)
        names = re.findall(r"<id:(\w+)>", pattern)
        for chosen in product(*(ids[name] for name in names)):
            path = pattern
            for name, value in zip(names, chosen, strict=True):
                path = path.replace(f"<id:{name}>", value)
            for query in QUERIES if not names else [{}]:
                answer = limited.get(path, query)
                assert answer.status_code < 500, (path, query)
                assert SECRET.encode() not in answer.content, (path, query)
                assert SECRET not in answer.headers.get("Location", ""), (path, query)


def test_no_answer_gives_a_limited_key_what_others_have() -> None:
    _, secret = keys.create(OPERATOR, name="limited", user_ids=["ada"])
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    paths = [
        "threads", "threads/t-1", "threads/t-2", "threads/t-1/messages", "threads/t-2/messages",
        "threads/t-1/messages/t-2-1", "threads/t-1/messages/m-1/memories",
        "threads/t-2/messages/t-2-1/memories", "memories/mem-1/sources", "memories/mem-2/sources",
        "threads/t-2/messages/t-2-1", "memories", "memories/mem-2",
        "memories/mem-3", "search", "relations", "relations/r-0", "images",
        "images/i-2", "images/i-3", "images/i-2/bytes",
        "jobs", "jobs/j-1", "jobs/j-2", "jobs/j-3", "jobs/j-4", "jobs/j-5",
    ]  # fmt: skip
    queries: list[dict[str, Any]] = [
        {},
        {"user_id": "bob"},
        {"user_id": "ada", "thread_id": "t-2", "status": "any"},
        {"thread_id": "t-1", "status": "any"},
        {"q": "stripes by the window", "max_results": 100, "include_invalid": True},
        {"q": "window", "user_id": "bob"},
        {"cursor": "nOTk5OTk5", "limit": 200},
    ]
    for path, query in product(paths, queries):
        answer = client.get(f"/api/v1/{path}", query)
        assert answer.status_code < 500, (path, query)
        assert SECRET not in answer.content.decode(), (path, query)
        assert '"bob"' not in answer.content.decode(), (path, query)


def test_who_sees_all_meets_it(client: Client) -> None:
    pages = ("/", "/memories/", "/threads/", "/users/", "/agents/", "/relations/", "/images/")
    jobs = ("/jobs/", *(f"/jobs/j-{number}/" for number in range(1, 6)))
    for path in (
        *pages,
        *jobs,
        "/search/?q=window",
        "/memories/mem-1/",
        "/threads/t-1/",
        "/changes/",
    ):
        assert SECRET in client.get(path).content.decode(), path
