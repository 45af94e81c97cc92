"""The queue, one job, and what people may do to it."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from memoryapp.access import Role
from memoryapp.models import AuditEntry, Job, JobState, WorkerBeat
from memoryapp.services import relations
from memoryapp.templatetags.jobs import dollars, duration
from oracleagentmemory.core.extractors.jobs import JobProblem
from tests.app.jobs.rows import add_job, result_of
from tests.app.pages.conftest import OPERATOR, add_memory, add_thread, text_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db


def listed(client: Client, **query: Any) -> list[str]:
    """The ids of the jobs that a list shows."""
    return [job.job_id for job in client.get("/jobs/", query).context["page"].jobs]


def test_an_empty_queue_says_so_and_polls_nothing(client: Client) -> None:
    page = text_of(client.get("/jobs/"))
    assert "No jobs yet" in page
    assert "every " not in page
    assert "nothing is queued or running" in page


def test_the_list_polls_while_something_is_queued_or_runs(client: Client) -> None:
    job = add_job("j-1", age_s=125)
    page = text_of(client.get("/jobs/", {"user": "ada"}))
    assert 'hx-get="/jobs/progress/?user=ada"' in page
    assert 'hx-trigger="every 2s"' in page
    assert "2 min 5 s" in page
    Job.objects.filter(pk=job.pk).update(state=JobState.RUNNING)
    assert 'id="live-poll"' in text_of(client.get("/jobs/progress/"))
    Job.objects.filter(pk=job.pk).update(state=JobState.SUCCEEDED)
    rest = text_of(client.get("/jobs/progress/"))
    assert "<html" not in rest
    assert "j-1" in rest
    assert "hx-trigger" not in rest


def test_each_filter_narrows(client: Client) -> None:
    add_job("j-1", JobState.SUCCEEDED, model="openai/a", age_s=3 * 86_400)
    add_job("j-2", JobState.FAILED, kind="image", thread_id="", image_id="i-1")
    add_job("j-3", user_id="bob", thread_id="t-9")
    assert listed(client) == ["j-3", "j-2", "j-1"]
    tomorrow = timezone.localdate() + timedelta(days=1)
    for query, found in [
        ({"state": "failed"}, ["j-2"]),
        ({"kind": "image"}, ["j-2"]),
        ({"user": "bob"}, ["j-3"]),
        ({"thread": "t-1"}, ["j-1"]),
        ({"model": "openai/a"}, ["j-1"]),
        ({"since": timezone.localdate() - timedelta(days=1)}, ["j-3", "j-2"]),
        ({"since": tomorrow}, []),
        ({"state": "nonsense"}, ["j-3", "j-2", "j-1"]),
    ]:
        assert listed(client, **query) == found, query
    assert client.get("/jobs/", {"user": "x" * 129}).status_code == 422
    assert client.get("/jobs/", {"user": "a\0b"}).status_code == 422
    states = dict(client.get("/jobs/", {"state": "failed", "user": "ada"}).context["counts"])
    assert (states[JobState.FAILED].value, states[JobState.SUCCEEDED].value) == (1, 1)
    assert states[JobState.QUEUED].value == 0


def test_pages_go_to_older_jobs_and_back(client: Client) -> None:
    for number in range(60):
        add_job(f"j-{number}", JobState.SUCCEEDED)
    first = client.get("/jobs/").context["page"]
    assert (first.jobs[0].job_id, len(first.jobs), first.newer) == ("j-59", 25, None)
    second = client.get("/jobs/", {"before": first.older}).context["page"]
    assert second.jobs[0].job_id == "j-34"
    assert [j.pk for j in client.get("/jobs/", {"after": second.newer}).context["page"].jobs] == [
        j.pk for j in first.jobs
    ]
    for odd in ("zz", "-1", "9" * 30, "٣"):
        assert client.get("/jobs/", {"before": odd}).context["page"].jobs[0].job_id == "j-59"


def test_the_page_says_what_jobs_wait_for(client: Client, settings: Any) -> None:
    limit = "today's 5 tokens are used up (MEMORY_LLM_DAILY_TOKENS)"
    add_job("j-1", wait_reason=limit, not_before=timezone.now() + timedelta(hours=3))
    page = text_of(client.get("/jobs/"))
    assert "1 job waits for a limit" in page
    assert "MEMORY_LLM_DAILY_TOKENS" in page
    assert "every 30s" in page, "what waits for tomorrow is not looked at every moment"
    assert "No worker is running" not in page
    add_job("j-2", thread_id="t-2")
    assert "No worker is running" in text_of(client.get("/jobs/"))
    WorkerBeat.objects.create(name="w", started_at=timezone.now(), at=timezone.now())
    assert "No worker is running" not in text_of(client.get("/jobs/"))
    settings.MEMORY_LLM_CONCURRENCY = 1
    add_job("j-3", JobState.RUNNING, thread_id="t-3")
    assert "MEMORY_LLM_CONCURRENCY" in text_of(client.get("/jobs/"))
    assert "MEMORY_LLM_CONCURRENCY" in text_of(client.get("/jobs/j-2/"))
    assert "MEMORY_LLM_DAILY_TOKENS" in text_of(client.get("/jobs/j-1/"))
    add_job("j-4", thread_id="t-2")
    assert "an earlier job of the same thread" in text_of(client.get("/jobs/j-4/"))
    Job.objects.filter(job_id="j-2").update(
        not_before=timezone.now() + timedelta(seconds=9), put_back=1, error="RetryableError: busy"
    )
    waiting = text_of(client.get("/jobs/j-2/"))
    assert "tried again after a pause" in waiting
    assert "Its last run failed" in waiting


def test_a_job_shows_what_it_was_given_said_stored_and_lost(client: Client, thread: str) -> None:
    for number in (1, 2):
        add_memory("Ada likes the window", memory_id=f"mem-{number}")
    ends = {"source_id": "mem-1", "target_id": "mem-2"}
    relations.add(OPERATOR, **ends, relation_type="supports", relation_id="r-1")
    raw = '{"memories": [{"text": "Ada likes'
    lost = JobProblem("extraction", "memory 2 has the type 'wish'", '{"type": "wish"}')
    result = result_of(
        "j-1", raw=raw, problems=[lost], memory_ids=["mem-1", "mem-gone"], relation_ids=["r-1"]
    )
    add_job(
        "j-1", JobState.PARTIAL, message_ids=["m-2", "m-gone"], earlier_ids=["m-1"],
        result=result, error=lost.reason, model="openai/scripted", input_tokens=1_120,
        output_tokens=45, cost=Decimal("0.000204500"), attempts=2, put_back=1,
        requested_by="key:mk_abc",
    )  # fmt: skip
    page = text_of(client.get("/jobs/j-1/"))
    for shown in (
        "/threads/t-1/messages/m-2/", "/threads/t-1/messages/m-1/", "A message that is gone",
        "Context, not learnt from", "/memories/mem-1/", "1 more is gone since", "/relations/r-1/",
        "extract-1", "openai/scripted", "memory 2 has the type &#x27;wish&#x27;",
        "{&quot;type&quot;: &quot;wish&quot;}", "{&quot;memories&quot;: [{",
        "1,165: 1,120 asked, 45 answered", "$0.0002045", "key:mk_abc", "Finding memories",
    ):  # fmt: skip
        assert shown in page, shown
    assert re.search(r"Attempts</dt><dd class=\"num\">2, 1 of them put back", page)
    assert "Try again…" in page
    assert "Cancel…" not in page
    assert "hx-trigger" not in page


MALFORMED = [
    "", "not json", "```json\n{\"memories\": [\n```", "{\"memories\": \"none\"}", "[1, 2", "null",
    "<script>alert(1)</script>", "\u202e{}", "{\"a\": \"\\ud83d\"}", "x" * 20_000,
]  # fmt: skip


@pytest.mark.parametrize("raw", MALFORMED, ids=range(len(MALFORMED)))
def test_an_answer_that_was_no_answer_is_shown_as_it_came(client: Client, raw: str) -> None:
    lost = JobProblem("extraction", "the answer is not JSON", raw)
    add_job("j-1", JobState.FAILED, result=result_of("j-1", raw=raw, problems=[lost]))
    response = client.get("/jobs/j-1/")
    page = text_of(response)
    assert response.context["report"].result.answers[0].raw == raw
    assert "the answer is not JSON" in page
    assert "<script>alert" not in page
    if not raw:
        assert "(no text)" in page


def test_a_job_that_this_release_cannot_read_has_its_page(client: Client) -> None:
    add_job("j-1", JobState.FAILED, payload={"kind": "of tomorrow"}, result={"state": "odd"})
    page = text_of(client.get("/jobs/j-1/"))
    assert "Another release wrote this job" in page


def test_an_images_job_names_its_image(client: Client) -> None:
    add_job("j-1", kind="image", thread_id="", image_id="i-1")
    assert "/images/i-1/" in text_of(client.get("/jobs/j-1/"))


def test_a_retry_is_a_new_job_with_a_reason_in_the_log(client: Client) -> None:
    add_job("j-1", JobState.FAILED)
    assert "Try this job again?" in text_of(client.get("/jobs/j-1/retry/"))
    answer = client.post("/jobs/j-1/retry/", {"reason": "the model was away"})
    again = Job.objects.get(retry_of="j-1")
    assert answer.url == f"/jobs/{again.job_id}/"
    assert again.state == JobState.QUEUED
    entry = AuditEntry.objects.latest("id")
    assert (entry.action, entry.noun, entry.record_id) == ("retry", "job", "j-1")
    assert entry.reason == "the model was away"
    assert f"/jobs/{again.job_id}/" in text_of(client.get("/jobs/j-1/"))
    assert "/jobs/j-1/" in text_of(client.get(answer.url))


def test_a_cancelled_job_stays_and_cannot_be_cancelled_twice(client: Client) -> None:
    add_job("j-1", JobState.RUNNING)
    assert client.post("/jobs/j-1/cancel/", {"reason": "not meant"}).url == "/jobs/j-1/"
    assert Job.objects.get().state == JobState.CANCELLED
    with nothing_changes():
        refused = client.post("/jobs/j-1/cancel/")
    assert refused.status_code == 409
    assert "has ended" in text_of(refused)
    add_job("j-2", JobState.SUCCEEDED)
    assert client.post("/jobs/j-2/retry/").status_code == 409


def test_a_reader_looks_and_changes_nothing(reader: Client) -> None:
    add_job("j-1", JobState.FAILED)
    add_job("j-2")
    page = text_of(reader.get("/jobs/j-1/")) + text_of(reader.get("/jobs/j-2/"))
    assert "Try again…" not in page
    assert "Cancel…" not in page
    with nothing_changes():
        for url in ("/jobs/j-1/retry/", "/jobs/j-2/cancel/"):
            assert reader.get(url).status_code == 403
            assert reader.post(url).status_code == 403


def test_a_limited_person_meets_the_jobs_of_their_users_only(limited: Client) -> None:
    add_job("j-1")
    add_job("j-2", user_id="bob", thread_id="t-2")
    add_job("j-3", user_id="", thread_id="", kind="image", image_id="i-1")
    assert listed(limited) == ["j-1"]
    assert listed(limited, user="bob") == []
    assert limited.get("/jobs/").context["depth"].queued.value == 1
    for url in ("/jobs/j-2/", "/jobs/j-2/progress/", "/jobs/j-3/", "/jobs/j-2/retry/"):
        assert limited.get(url).status_code == 404
    assert limited.post("/jobs/j-2/cancel/").status_code == 404


def test_answers_about_a_thread_that_others_share_are_withheld(
    limited: Client, client: Client, thread: str
) -> None:
    lost = JobProblem("extraction", "zebra", "zebra")
    result = result_of("j-1", raw="zebra", problems=[lost])
    add_job("j-1", JobState.PARTIAL, result=result, error="zebra", message_ids=["m-1"])
    assert "zebra" in text_of(limited.get("/jobs/j-1/"))
    add_memory("Bob's", user_id="bob", thread_id=thread)
    hidden = text_of(limited.get("/jobs/j-1/"))
    assert "zebra" not in hidden
    assert "quotes them and is not shown" in hidden
    assert "zebra" not in text_of(limited.get("/jobs/"))
    assert "zebra" in text_of(client.get("/jobs/j-1/"))


def test_a_thread_leads_to_its_jobs(client: Client) -> None:
    add_thread("a&b=c", [])
    add_job("j-1", thread_id="a&b=c")
    add_job("j-2", thread_id="t-2")
    page = text_of(client.get("/threads/~YSZiPWM/"))
    (link,) = re.findall(r'href="(/jobs/\?[^"]+)"', page)
    assert link == "/jobs/?thread=a%26b%3Dc"
    assert [job.job_id for job in client.get(link).context["page"].jobs] == ["j-1"]


def test_a_jobs_page_polls_until_its_end(client: Client) -> None:
    add_job("j-1", JobState.RUNNING)
    assert 'hx-get="/jobs/j-1/progress/"' in text_of(client.get("/jobs/j-1/"))
    assert "host:1:abc" in text_of(client.get("/jobs/j-1/progress/"))
    Job.objects.update(state=JobState.SUCCEEDED)
    assert "hx-trigger" not in text_of(client.get("/jobs/j-1/progress/"))


def test_a_long_queue_costs_no_more_statements(
    client: Client, django_assert_num_queries: Any, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(20) as empty:
        client.get("/jobs/")
    for number in range(60):
        add_job(f"j-{number}", thread_id=f"t-{number}")
    # Whether as many run as may, and whether a worker lives, are asked only of a queue.
    with django_assert_num_queries(len(empty) + 2):
        client.get("/jobs/")


def test_the_link_is_in_the_navigation(make_client: Callable[..., Client]) -> None:
    page = text_of(make_client(Role.READER).get("/jobs/"))
    assert re.search(r'<a href="/jobs/" aria-current="page">', page)
    assert "Test the model" not in page


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (3_600, "1 h"),
     (7_500, "2 h 5 min"), (90_000, "1 d 1 h"), (864_000_000, "10,000 d")],
)  # fmt: skip
def test_durations_are_said_in_two_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_costs_are_said_as_exact_as_they_are_known() -> None:
    costs = [None, Decimal(0), Decimal("0.000204500"), Decimal("1234.5")]
    assert [dollars(cost) for cost in costs] == ["not known", "$0.00", "$0.0002045", "$1,234.50"]
