"""Jobs in a browser: the queue renews itself while something moves, and rests when nothing does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from memoryapp.models import Job, JobState, Person
from oracleagentmemory.core.extractors.jobs import JobProblem
from tests.app.jobs.rows import add_job, result_of

pytestmark = pytest.mark.django_db(transaction=True)

OpenPage = Callable[..., Page]


def opened(open_page: OpenPage, path: str, person: Person) -> tuple[Page, list[str]]:
    """Open a page whose clock the test moves, and note what it polls."""
    page = open_page("/livez", person)
    polled: list[str] = []
    page.on("request", lambda request: "/progress/" in request.url and polled.append(request.url))
    page.clock.install()
    page.goto(path)
    page.wait_for_function("window.htmx !== undefined")
    return page, polled


def poll(page: Page) -> None:
    """Let two seconds go by, and wait for what they bring."""
    with page.expect_response("**/progress/**"):
        page.clock.run_for(2_100)


def test_the_queue_renews_itself_and_comes_to_rest(open_page: OpenPage, person: Person) -> None:
    add_job("j-1")
    page, polled = opened(open_page, "/jobs/", person)
    row = page.locator("#job-j-1, [id^='job-']").first
    expect(row).to_contain_text("Queued")
    link = row.get_by_role("link")
    link.focus()
    Job.objects.update(state=JobState.RUNNING)
    add_job("j-2", thread_id="t-2")
    poll(page)
    expect(page.locator(".row")).to_have_count(2)
    expect(page.locator(".row").nth(1)).to_contain_text("Running")
    expect(page.locator(".row").nth(1).get_by_role("link")).to_be_focused()
    Job.objects.update(state=JobState.SUCCEEDED)
    poll(page)
    expect(page.get_by_text("nothing is queued or running")).to_be_visible()
    before = len(polled)
    page.clock.run_for(60_000)
    assert len(polled) == before, "at rest nothing is asked any more"


def test_a_poll_closes_no_menu_and_moves_no_focus(open_page: OpenPage, person: Person) -> None:
    add_job("j-1")
    page, _ = opened(open_page, "/jobs/", person)
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Open menu").click()
    expect(page.locator("#side")).to_be_visible()
    poll(page)
    expect(page.locator("#side")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_label("User", exact=True).fill("ad")
    expect(page.get_by_label("User", exact=True)).to_be_focused()
    poll(page)
    expect(page.get_by_label("User", exact=True)).to_be_focused()
    expect(page.get_by_label("User", exact=True)).to_have_value("ad")


def test_a_job_shows_its_end_by_itself(open_page: OpenPage, person: Person) -> None:
    add_job("j-1", JobState.RUNNING)
    page, polled = opened(open_page, "/jobs/j-1/", person)
    expect(page.get_by_role("link", name="Cancel…")).to_be_visible()
    lost = JobProblem("extraction", "the answer is not JSON", "<b>no</b>")
    Job.objects.update(
        state=JobState.FAILED, result=result_of("j-1", raw="<b>no</b>", problems=[lost])
    )
    poll(page)
    expect(page.get_by_role("heading", name="Refused or lost")).to_be_visible()
    expect(page.locator("#lost pre")).to_have_text("<b>no</b>")
    page.get_by_text("Text as it came").click()
    expect(page.locator("#answers pre")).to_have_text("<b>no</b>")
    before = len(polled)
    page.clock.run_for(60_000)
    assert len(polled) == before


@pytest.mark.parametrize("scripts", [True, False])
def test_a_job_is_tried_again(open_page: OpenPage, person: Person, scripts: bool) -> None:
    add_job("j-1", JobState.FAILED)
    page = open_page("/jobs/", person, java_script_enabled=scripts)
    page.get_by_role("link", name="New messages of t-1").click()
    page.get_by_role("link", name="Try again…").click()
    page.get_by_label("Reason").fill("the model was away")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Another try of")).to_be_visible()
    again = Job.objects.get(retry_of="j-1")
    assert again.state == JobState.QUEUED
    Job.objects.filter(pk=again.pk).update(state=JobState.SUCCEEDED)
    page.get_by_role("link", name="Refresh").click()
    expect(page.get_by_text("Succeeded")).to_be_visible()
