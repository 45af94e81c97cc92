"""Jobs over the API: the queue, one job, another try, the end of one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from memoryapp.access import Role
from memoryapp.models import AuditEntry, Job, JobState
from memoryapp.services import memories
from oracleagentmemory.core.extractors.jobs import JobProblem
from tests.app.api.conftest import OPERATOR, Api, path_id
from tests.app.jobs.rows import add_job, result_of
from tests.app.tables import nothing_changes

pytestmark = pytest.mark.django_db

MakeApi = Callable[..., Api]


def listed(api: Api, **query: object) -> list[str]:
    """The ids of the jobs that a list answers."""
    return [job["id"] for job in api.get("/jobs", query).json()["jobs"]]


def test_the_list_has_the_queue_and_its_filters(api: Api) -> None:
    add_job("j-1", JobState.SUCCEEDED, model="openai/a", agent_id="travel", age_s=7_200)
    add_job("j-2", JobState.FAILED, kind="image", thread_id="", image_id="i-1", error="no")
    add_job("j-3", user_id="bob", thread_id="t-9", age_s=60)
    add_job("j-4", JobState.RUNNING, thread_id="t-2", wait_reason="")
    answer = api.get("/jobs").json()
    assert [job["id"] for job in answer["jobs"]] == ["j-4", "j-3", "j-2", "j-1"]
    queue = answer["queue"]
    assert (queue["queued"]["value"], queue["running"]["value"]) == (1, 1)
    assert 60 <= queue["oldest_s"] < 120
    assert answer["jobs"][2]["error"] == "no"
    hour_ago = (timezone.now() - timedelta(hours=1)).isoformat()
    for query, found in [
        ({"state": "failed"}, ["j-2"]),
        ({"kind": "image"}, ["j-2"]),
        ({"user_id": "bob"}, ["j-3"]),
        ({"agent_id": "travel"}, ["j-1"]),
        ({"thread_id": "t-2"}, ["j-4"]),
        ({"model": "openai/a"}, ["j-1"]),
        ({"since": hour_ago}, ["j-4", "j-3", "j-2"]),
        ({"until": hour_ago}, ["j-1"]),
    ]:
        assert listed(api, **query) == found, query
    for wrong in ({"state": "done"}, {"kind": "x"}, {"since": "5"}, {"users": "a"}, {"limit": 0}):
        assert api.get("/jobs", wrong).status_code == 422, wrong


def test_cursors_walk_the_list(api: Api) -> None:
    for number in range(5):
        add_job(f"j-{number}", JobState.SUCCEEDED)
    first = api.get("/jobs", {"limit": 2}).json()
    second = api.get("/jobs", {"limit": 2, "cursor": first["next"]}).json()
    assert [job["id"] for job in second["jobs"]] == ["j-2", "j-1"]
    back = api.get("/jobs", {"limit": 2, "cursor": second["previous"]}).json()
    assert back["jobs"] == first["jobs"]
    assert api.get("/jobs", {"cursor": "zz"}).status_code == 422


def test_a_job_tells_what_it_was_given_said_stored_and_lost(api: Api, memory: str) -> None:
    lost = JobProblem("extraction", "no such type", '{"type": "wish"}')
    add_job(
        "j-1", JobState.PARTIAL, message_ids=["m-2"], earlier_ids=["m-1"], error=lost.reason,
        result=result_of("j-1", raw="{]", problems=[lost], memory_ids=["mem-1", "mem-gone"]),
        input_tokens=120, output_tokens=45, cost=Decimal("0.25"), model="openai/a",
    )  # fmt: skip
    job = api.get("/jobs/j-1").json()
    assert job["messages"] == [
        {"id": "m-2", "is_context": False},
        {"id": "m-1", "is_context": True},
    ]
    assert job["memory_ids"] == ["mem-1", "mem-gone"]
    assert job["problems"] == [
        {"step": "extraction", "reason": "no such type", "raw": '{"type": "wish"}'}
    ]
    (answer,) = job["answers"]
    assert (answer["raw"], answer["prompt_version"], answer["input_tokens"]) == (
        "{]", "extract-1", 120,
    )  # fmt: skip
    assert (job["cost_usd"], job["error"], job["waits_for"]) == (0.25, "no such type", None)
    Job.objects.update(cost=None)
    assert api.get("/jobs/j-1").json()["cost_usd"] is None


def test_a_queued_job_says_what_it_waits_for(api: Api) -> None:
    add_job("j-1")
    add_job("j-2")
    assert "an earlier job" in api.get("/jobs/j-2").json()["waits_for"]
    assert api.get("/jobs/gone").status_code == 404
    assert api.get("/jobs/" + path_id("j-2")).json()["id"] == "j-2"


def test_a_retry_is_a_new_job(api: Api) -> None:
    add_job("j-1", JobState.FAILED)
    again = api.post("/jobs/j-1/retry", {"reason": "the model was away"})
    assert again.status_code == 201
    assert (again.json()["retry_of"], again.json()["state"]) == ("j-1", "queued")
    assert AuditEntry.objects.latest("id").reason == "the model was away"
    with nothing_changes():
        refused = api.post(f"/jobs/{again.json()['id']}/retry", {})
    assert refused.status_code == 409
    assert "only what failed" in refused.json()["detail"]


def test_a_cancelled_job_has_ended(api: Api) -> None:
    add_job("j-1", JobState.RUNNING)
    ended = api.post("/jobs/j-1/cancellation", {})
    assert (ended.status_code, ended.json()["state"]) == (201, "cancelled")
    with nothing_changes():
        refused = api.post("/jobs/j-1/cancellation", {})
    assert refused.status_code == 409
    assert refused.json()["code"] == "wrong_state"
    assert api.post("/jobs/gone/retry", {}).status_code == 404
    assert api.post("/jobs/j-1/retry", {"why": "x"}).status_code == 422


def test_who_may_not_change_a_job_changes_nothing(make_api: MakeApi) -> None:
    add_job("j-1", JobState.FAILED, agent_id="travel")
    refused = [
        (make_api(Role.READER), 403),
        (make_api(agent_id="cook"), 403),
        (make_api(user_ids=["bob"]), 404),
    ]
    with nothing_changes():
        for caller, status in refused:
            assert caller.post("/jobs/j-1/retry", {}).status_code == status
            assert caller.post("/jobs/j-1/cancellation", {}).status_code == status
    assert make_api(agent_id="travel").post("/jobs/j-1/retry", {}).status_code == 201


def test_a_key_of_some_users_meets_their_jobs_only(make_api: MakeApi, thread: str) -> None:
    lost = JobProblem("extraction", "zebra", "zebra")
    told = result_of("j-1", raw="zebra", problems=[lost])
    add_job("j-1", JobState.PARTIAL, error="zebra", result=told, message_ids=["m-1", "gone"])
    add_job("j-2", user_id="bob", thread_id="t-2")
    limited = make_api(user_ids=["ada"])
    assert listed(limited) == ["j-1"]
    assert limited.get("/jobs").json()["queue"]["queued"]["value"] == 0
    assert limited.get("/jobs/j-2").status_code == 404
    seen = limited.get("/jobs/j-1").json()
    assert (seen["is_withheld"], seen["error"], len(seen["answers"])) == (False, "zebra", 1)
    assert seen["messages"] == [{"id": "m-1", "is_context": False}]
    memories.add(OPERATOR, content="Bob's", user_id="bob", thread_id="t-1")
    for path in ("/jobs/j-1", "/jobs"):
        assert b"zebra" not in limited.get(path).content
    assert limited.get("/jobs/j-1").json()["is_withheld"]
    assert not make_api().get("/jobs/j-1").json()["is_withheld"]
