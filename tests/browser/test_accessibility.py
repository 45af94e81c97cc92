"""Every page in both themes and on a narrow window: nothing for axe to find, nothing too wide."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from memoryapp.access import Access
from memoryapp.models import JobState, Person
from memoryapp.services import images, memories, messages, relations, threads, users
from oracleagentmemory.core.extractors.jobs import JobProblem
from tests.app.jobs.rows import add_job, result_of
from tests.app.provenance import note
from tests.browser.conftest import overflow, violations
from tests.sdk.images.pictures import picture

pytestmark = pytest.mark.django_db(transaction=True)

OPERATOR = Access.of_command("test")
LONG = "wide" * 30
VIEWS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 844}},
}
PAGES = [
    "/",
    "/memories/",
    "/memories/?m=mem-1",
    "/memories/?user=nobody",
    "/memories/?metadata=x",
    "/memories/new/",
    "/memories/mem-1/edit/",
    "/memories/mem-1/delete/",
    "/threads/",
    "/threads/new/",
    f"/threads/{LONG}/",
    f"/threads/{LONG}/?card=on",
    f"/threads/{LONG}/edit/",
    f"/threads/{LONG}/delete/",
    f"/threads/{LONG}/messages/m-1/edit/",
    f"/threads/{LONG}/messages/m-0/delete/",
    "/memories/mem-1/",
    "/memories/mem-2/",
    "/relations/",
    "/relations/?memory=x&type=likes",
    "/relations/new/?source_id=mem-1",
    f"/relations/{LONG}/",
    f"/relations/{LONG}/edit/",
    f"/relations/{LONG}/delete/",
    "/images/",
    "/images/?user=nobody",
    "/images/?metadata=x",
    "/images/new/",
    f"/images/{LONG}/",
    f"/images/{LONG}/edit/",
    f"/images/{LONG}/delete/",
    "/images/part-1/",
    "/images/part-1/delete/",
    "/jobs/",
    "/jobs/?user=nobody",
    f"/jobs/?user={LONG * 2}",
    "/jobs/j-1/",
    "/jobs/j-1/retry/",
    "/jobs/j-2/",
    "/jobs/j-2/cancel/",
    "/users/",
    "/users/new/",
    "/users/ada/",
    "/users/ada/profile/",
    "/agents/",
    f"/agents/{LONG}/",
    "/search/",
    "/memories/?q=window",
    "/memories/?q=window&type=fact&status=all",
    "/changes/",
    "/changes/outside/",
    "/changes/outside/?kind=thread",
    "/search/?q=window&user=ada&invalid=on",
    "/search/?q=",
    "/account/",
    "/account/password/",
    "/nowhere/",
]


@pytest.fixture
def records(transactional_db: None) -> None:
    """One of each, with long words and an invalid memory."""
    users.add_profile(OPERATOR, "ada", "Flies often", metadata={"miles": LONG})
    threads.create(OPERATOR, thread_id=LONG, user_id="ada", agent_id=LONG, metadata={"topic": LONG})
    told = [("user", LONG), ("assistant", "Window or aisle?\n" * 4)]
    messages.add(
        OPERATOR,
        LONG,
        [
            {"role": role, "content": text, "id": f"m-{number}", "metadata": {"a": LONG}}
            for number, (role, text) in enumerate(told)
        ],
    )
    part = {"type": "image", "mime_type": "image/png", "bytes": picture("PNG"), "id": "part-1"}
    messages.add(OPERATOR, LONG, [{"role": "user", "content": [part | {"description": LONG}]}])
    for image_id, description in [(LONG, f"the window {LONG * 3}"), ("i-1", "")]:
        images.add(
            OPERATOR,
            data=picture("JPEG", size=(900, 300)),
            description=description,
            image_id=image_id,
            thread_id=LONG,
            metadata={"topic": LONG},
        )
    for number in range(4):
        memories.add(
            OPERATOR,
            content=f"Ada likes the window {LONG * number}",
            memory_type=memories.MEMORY_TYPES[number],
            user_id="ada",
            agent_id=LONG,
            thread_id=LONG,
            memory_id=f"mem-{number}",
            metadata={"topic": [LONG, {"x": None}]},
        )
    note(("mem-1", "m-0"), ("mem-3", "m-0"), ("mem-3", "m-1"), job_id=LONG)
    note(("mem-0", "m-0"), ("mem-2", "m-0"), ("mem-1", "m-1"), job_id=None)
    memories.set_status(OPERATOR, "mem-0", "invalid")
    lost = JobProblem("links", LONG, LONG * 3)
    stored = {"memory_ids": ["mem-1"], "relation_ids": [LONG]}
    add_job(
        "j-1", JobState.PARTIAL, thread_id=LONG, message_ids=["m-0", "gone"], earlier_ids=["m-1"],
        result=result_of("j-1", raw=LONG * 9, problems=[lost], **stored),
        agent_id=LONG, error=LONG, model=LONG, requested_by=LONG,
    )  # fmt: skip
    add_job("j-2", thread_id=LONG, wait_reason=LONG)
    for relation_id, target_id, label in [(LONG, "mem-2", LONG), ("r-1", "mem-3", "supersedes")]:
        relations.add(
            OPERATOR,
            source_id="mem-1",
            target_id=target_id,
            relation_type=label,
            relation_id=relation_id,
            metadata={"topic": LONG},
        )


@pytest.mark.parametrize("view", VIEWS)
def test_every_page(
    open_page: Callable[..., Page], person: Person, records: None, view: str
) -> None:
    page = open_page("/", person, **VIEWS[view])
    problems = []
    # A theme changes colours and nothing else.
    rules = ("color-contrast",) if view == "dark" else ()
    for path in PAGES:
        page.goto(path)
        problems += [f"{path}: {problem}" for problem in violations(page, *rules)]
        if overflow(page):
            problems.append(f"{path}: {overflow(page)} px too wide")
    assert problems == []


@pytest.mark.parametrize("view", VIEWS)
def test_pages_of_strangers_and_of_an_empty_store(
    open_page: Callable[..., Page], person: Person, view: str
) -> None:
    stranger = open_page("/login/", **VIEWS[view])
    assert violations(stranger) == []
    page = open_page("/", person, **VIEWS[view])
    problems = []
    for path in ("/", "/memories/", "/threads/", "/users/", "/agents/", "/changes/", "/jobs/"):
        page.goto(path)
        problems += [f"{path}: {problem}" for problem in violations(page)]
        if overflow(page):
            problems.append(f"{path}: {overflow(page)} px too wide")
    assert problems == []
