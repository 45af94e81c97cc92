"""Jobs as data, and the scheduler that runs them on threads."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest

from oracleagentmemory.apis.llms.llm import LlmUsage
from oracleagentmemory.core.background import WorkScope
from oracleagentmemory.core.extractors.jobs import (
    ExtractionJob,
    JobProblem,
    JobResult,
    ModelAnswer,
    Window,
)
from oracleagentmemory.core.extractors.settings import DEFAULTS
from oracleagentmemory.core.threadscheduler import ThreadScheduler
from oracleagentmemory.errors import InvalidInputError, StateError
from tests.sdk.client.conftest import SilentLlm
from tests.sdk.client.jobs import LONG_S, GatedRunner, gated, make_job, make_jobs

PREFIX = "oracleagentmemory-background-work-"


def workers() -> list[str]:
    """Names of the threads that do background work now."""
    return [one.name for one in threading.enumerate() if one.name.startswith(PREFIX)]


def numbered(count: int, start: int = 0, **more: Any) -> list[ExtractionJob]:
    """Jobs of one thread named by their numbers."""
    return make_jobs(*map(str, range(start, start + count)), **more)


# -- jobs as data ------------------------------------------------------------------------------

RESULT = JobResult(
    job_id="j",
    state="partial",
    memory_ids=("m1", "m2"),
    relation_ids=("r",),
    problems=(JobProblem("extraction", "no text", '{"fact": 1}'), JobProblem("links", "late")),
    answers=(
        ModelAnswer("extraction", "extraction-1", "openai/x", "[]", LlmUsage(5, 2)),
        ModelAnswer("links", "links-1", None, "no", None),
        ModelAnswer("summary", "summary-1", None, "s", LlmUsage(7, 1)),
    ),
)


def test_jobs_and_results_travel_as_json() -> None:
    windows = (Window(("a",), ("c",)), Window(("a", "b")))
    job = make_job("j", user_id="u", message_ids=("a", "b"), windows=windows, reason="edited")
    image = ExtractionJob(job_id="i", kind="image", image_id="img", user_id="u")
    for one in (job, image):
        assert ExtractionJob.from_json(json.loads(json.dumps(one.to_json()))) == one
    assert JobResult.from_json(json.loads(json.dumps(RESULT.to_json()))) == RESULT
    assert RESULT.tokens == LlmUsage(12, 3)


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        (ExtractionJob, {"job_id": 5}),
        (ExtractionJob, {"kind": "chat"}),
        (ExtractionJob, {"message_ids": "abc"}),
        (ExtractionJob, {"message_ids": [1]}),
        (ExtractionJob, {"settings": None}),
        (ExtractionJob, {"windows": [{"message_ids": ["a"]}]}),
        (JobResult, {"state": "done"}),
        (JobResult, {"problems": [{"step": "links"}]}),
        (JobResult, {"answers": [{**RESULT.answers[0].to_json(), "usage": [1]}]}),
    ],
)
def test_what_is_no_job_or_result_is_refused_by_name(kind: Any, broken: dict[str, Any]) -> None:
    whole = make_job("j").to_json() if kind is ExtractionJob else RESULT.to_json()
    with pytest.raises(InvalidInputError, match="of a saved"):
        kind.from_json({**whole, **broken})


def test_what_a_later_release_adds_to_a_job_is_left_out() -> None:
    job = make_job("j")
    assert ExtractionJob.from_json({**job.to_json(), "mood": "blue"}) == job


def test_r122_a_job_without_settings_of_its_queue_drops_and_waits_300_s() -> None:
    bare = ExtractionJob(job_id="j", kind="messages", thread_id="t")
    assert bare.queue_full_behavior == "DROP"
    assert bare.queue_put_timeout_s == 300.0
    assert DEFAULTS["extraction_mode"] == "BACKGROUND"
    assert DEFAULTS["memory_link_extraction_mode"] == "POST_EXTRACTION"


# -- order and threads -------------------------------------------------------------------------


def test_jobs_of_one_thread_run_one_by_one_in_order() -> None:
    with gated() as (scheduler, runner):
        scheduler.start(numbered(5), None)
        runner.wait_until_begun(1)
        assert runner.begun == ["0"]
        runner.let("1", "2", "3", "4")
        assert runner.begun == ["0"]
        runner.let("0")
        assert scheduler.pending().wait(LONG_S)
        assert runner.begun == ["0", "1", "2", "3", "4"]


def test_four_threads_run_side_by_side_and_the_fifth_waits() -> None:
    with gated() as (scheduler, runner):
        for thread in "abcde":
            scheduler.start([make_job(thread, thread)], None)
        runner.wait_until_begun(4)
        assert sorted(runner.begun) == ["a", "b", "c", "d"]
        assert sorted(workers()) == [f"{PREFIX}{number}" for number in range(4)]
        runner.let("c")
        runner.wait_until_begun(5)
        assert runner.begun[-1] == "e"
        assert set(runner.threads) <= set(workers())


def test_images_of_no_thread_do_not_wait_for_each_other() -> None:
    images = [ExtractionJob(job_id=one, kind="image", image_id=one) for one in "ab"]
    with gated() as (scheduler, runner):
        scheduler.start(images, None)
        runner.wait_until_begun(2)


def test_threads_exist_only_while_there_is_work() -> None:
    before = threading.active_count()
    with gated() as (scheduler, runner):
        assert threading.active_count() == before
        scheduler.start([make_job("1")], None)
        runner.wait_until_begun(1)
        thread = next(one for one in threading.enumerate() if one.name == runner.threads[0])
        assert thread.daemon
        runner.let()
        thread.join(LONG_S)
        assert not thread.is_alive()
        scheduler.start([make_job("2")], None)
        assert scheduler.pending().wait(LONG_S)
        assert runner.threads[1] == runner.threads[0] == f"{PREFIX}0"


def test_the_model_of_the_handle_travels_beside_the_job() -> None:
    one, other = SilentLlm(), SilentLlm()
    with gated() as (scheduler, runner):
        runner.let()
        scheduler.start([make_job("1")], one)
        scheduler.start([make_job("2")], other)
        assert scheduler.pending().wait(LONG_S)
        assert runner.llms == [one, other]


# -- a full queue ------------------------------------------------------------------------------


def test_the_eighteenth_job_of_a_thread_meets_a_full_queue(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with gated() as (scheduler, runner):
        scheduler.start(numbered(17), None)
        assert caplog.records == []
        scheduler.start([make_job("late")], None)
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert "late" in caplog.text
        scheduler.start([make_job("other", "t2")], None)
        runner.let()
        assert scheduler.pending().wait(LONG_S)
        assert sorted(runner.begun) == sorted([*map(str, range(17)), "other"])
        (refused,) = (one for one in scheduler.results() if one.job_id == "late")
        assert (refused.state, refused.problems[0].step) == ("failed", "queue")


def test_no_more_than_128_jobs_wait_in_all() -> None:
    with gated() as (scheduler, runner):
        for thread in range(12):
            scheduler.start(numbered(11, 100 * thread, thread_id=f"t{thread}"), None)
        # Four run; 128 of the 132 wait.
        assert len(scheduler.pending().unfinished()) == 132
        scheduler.start([make_job("late", "another")], None)
        assert len(scheduler.pending().unfinished()) == 132
        runner.let()
        assert scheduler.pending().wait(LONG_S)
        assert len(runner.begun) == 132


def test_r123_wait_then_raise_raises_after_its_time_and_the_others_run() -> None:
    with gated(waiting_per_thread=1) as (scheduler, runner):
        jobs = numbered(3, behavior="WAIT_THEN_RAISE")
        with pytest.raises(TimeoutError, match=r"0\.01 s.*2 \(messages, thread t1\)"):
            scheduler.start(jobs, None)
        runner.let()
        assert scheduler.pending().wait(LONG_S)
        assert runner.begun == ["0", "1"]


def test_wait_then_drop_logs_after_its_time(caplog: pytest.LogCaptureFixture) -> None:
    with gated(waiting_per_thread=1) as (scheduler, runner):
        scheduler.start(numbered(3, behavior="WAIT_THEN_DROP"), None)
        assert "full" in caplog.text
        runner.let()
        assert scheduler.pending().wait(LONG_S)
        assert runner.begun == ["0", "1"]


def test_who_waits_for_a_place_gets_it_in_order_before_later_callers() -> None:
    with gated(waiting_per_thread=1) as (scheduler, runner):
        scheduler.start(numbered(2), None)
        patient = make_job("2", behavior="WAIT_THEN_RAISE", put_s=LONG_S)
        waiting = threading.Thread(target=scheduler.start, args=([patient], None))
        waiting.start()
        while not scheduler._lines:
            waiting.join(0.001)
        scheduler.start([make_job("3")], None)
        assert scheduler.results()[-1].job_id == "3"
        runner.let()
        waiting.join(LONG_S)
        assert scheduler.pending().wait(LONG_S)
        assert runner.begun == ["0", "1", "2"]


# -- failures ----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError("I like pizza"), SystemExit("I like pizza")])
def test_a_failing_job_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    with gated() as (scheduler, runner):
        runner.fails["0"] = error
        runner.let()
        scheduler.start(numbered(3), None)
        assert scheduler.pending().wait(LONG_S)
        assert runner.begun == ["0", "1", "2"]
        results = scheduler.results()
        assert [one.state for one in results] == ["failed", "succeeded", "succeeded"]
        assert results[0].problems == (
            JobProblem("run", f"{type(error).__name__}: I like pizza", None),
        )
    (record,) = (one for one in caplog.records if one.levelno >= logging.WARNING)
    assert record.levelname == "WARNING"
    assert "0 (messages, thread t1)" in record.getMessage()
    assert "pizza" not in caplog.text


def test_a_job_that_lost_a_part_is_logged_by_its_steps(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = ThreadScheduler(lambda job, llm: RESULT)
    scheduler.start([make_job("j")], None)
    assert scheduler.pending().wait(LONG_S)
    assert scheduler.results() == [RESULT]
    assert "partial" in caplog.text
    assert "extraction, links" in caplog.text
    assert "fact" not in caplog.text


def test_without_any_thread_to_have_a_job_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduler = ThreadScheduler(GatedRunner())

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="no thread could be started"):
            scheduler.start([make_job("j")], None)
    assert scheduler.pending().unfinished() == []


# -- ends --------------------------------------------------------------------------------------


def test_pending_work_is_that_of_one_moment_and_of_one_scope() -> None:
    with gated() as (scheduler, runner):
        scheduler.start([make_job("1", "t1", user_id="u1", agent_id="a1")], None)
        scheduler.start([make_job("2", "t2", user_id="u1", agent_id="a2")], None)
        of_thread = scheduler.pending(WorkScope(thread_id="t1"))
        of_user = scheduler.pending(WorkScope(user_id="u1"))
        assert scheduler.pending(WorkScope(agent_id="a3")).unfinished() == []
        scheduler.start([make_job("3", "t1", user_id="u1")], None)
        runner.let("1")
        assert of_thread.wait(LONG_S)
        assert not of_user.wait(0.001)
        assert of_user.unfinished() == ["2 (messages, thread t2)"]
        runner.let("2")
        assert of_user.wait(float("inf"))


def test_r131_a_stopped_scheduler_takes_no_job_and_runs_what_it_has(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with gated() as (scheduler, runner):
        scheduler.start(numbered(2), None)
        scheduler.close(0.001)
        assert "unfinished" in caplog.text
        assert "1 (messages, thread t1)" in caplog.text
        with pytest.raises(StateError, match="stopped"):
            scheduler.start([make_job("late")], None)
        runner.let()
        scheduler.close(LONG_S)
        assert runner.begun == ["0", "1"]


def test_stopping_wakes_who_waits_for_a_place() -> None:
    caught: list[BaseException] = []

    def submit(scheduler: ThreadScheduler) -> None:
        try:
            scheduler.start([make_job("2", behavior="WAIT_THEN_DROP", put_s=LONG_S)], None)
        except StateError as error:
            caught.append(error)

    with gated(waiting_per_thread=1) as (scheduler, _):
        scheduler.start(numbered(2), None)
        waiting = threading.Thread(target=submit, args=(scheduler,))
        waiting.start()
        scheduler.stop()
        waiting.join(LONG_S)
        assert len(caught) == 1


def test_a_dropped_scheduler_goes_away_once_its_work_has_ended() -> None:
    runner = GatedRunner()
    scheduler = ThreadScheduler(runner)
    gone = weakref.ref(scheduler)
    scheduler.start([make_job("1")], None)
    runner.wait_until_begun(1)
    (thread,) = (one for one in threading.enumerate() if one.name == runner.threads[0])
    del scheduler
    assert gone() is not None
    runner.let()
    thread.join(LONG_S)
    assert gone() is None


EXITS = """
import logging, threading
from tests.sdk.client.jobs import make_job
from oracleagentmemory.core.threadscheduler import ThreadScheduler
logging.basicConfig()
begun = threading.Event()
def run(job, llm):
    begun.set()
    threading.Event().wait()
kept = ThreadScheduler(run)
kept.start([make_job("endless")], None)
begun.wait()
"""


def test_a_process_with_unfinished_work_exits_and_says_so() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", EXITS], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0
    assert "unfinished: endless (messages, thread t1)" in ended.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_begins_without_work_and_can_do_some() -> None:
    with gated() as (scheduler, runner):
        scheduler.start(numbered(2), None)
        runner.wait_until_begun(1)
        before = scheduler.pending()
        child = os.fork()
        if child == 0:  # nothing of the test's own may run on in the child
            try:
                scheduler._run = lambda job, llm: RESULT
                fine = before.wait(LONG_S) and not scheduler.pending().unfinished()
                scheduler.start([make_job("here")], None)
                os._exit(0 if fine and scheduler.pending().wait(LONG_S) else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(before.unfinished()) == 2
