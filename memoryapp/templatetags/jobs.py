"""Words of jobs, and what pages say of the LLM."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import template

from memoryapp.models import Job, JobState
from memoryapp.services import llm
from oracleagentmemory.inspection import Row

register = template.Library()

STATE_BADGES = {
    JobState.RUNNING: "info",
    JobState.SUCCEEDED: "ok",
    JobState.PARTIAL: "warn",
    JobState.FAILED: "bad",
}
STEPS = {
    "caption": "Describing an image",
    "shortening": "Shortening a message",
    "extraction": "Finding memories",
    "metadata": "Taking metadata over",
    "links": "Linking memories",
    "summary": "Summing up the thread",
    "queue": "Queueing",
    "run": "Running",
}
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


@register.filter
def state_badge(state: str) -> str:
    """The colour of a state."""
    return STATE_BADGES.get(JobState(state), "")


@register.filter
def step_name(step: str) -> str:
    """A step of a run as a person says it."""
    return STEPS.get(step, step)


@register.filter
def duration(seconds: float) -> str:
    """Seconds in the largest unit that fits, and the next one: "2 h 5 min"."""
    for (size, unit), (below, smaller) in zip(_UNITS, (*_UNITS[1:], (1, "s")), strict=True):
        if seconds >= size:
            rest = int(seconds % size // below)
            return f"{int(seconds // size):,} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{int(seconds)} s"


@register.filter
def run_s(job: Job) -> float | None:
    """Seconds that the last run of a job took; None when it has not ended or never ran."""
    if job.started_at is None or job.ended_at is None:
        return None
    return max(0.0, (job.ended_at - job.started_at).total_seconds())


@register.filter
def dollars(cost: Decimal | None) -> str:
    """A sum in US dollars, as exact as it is kept; None is not known."""
    if cost is None:
        return "not known"
    return f"${cost:,.2f}" if cost >= 1 or not cost else f"${cost.normalize():f}"


@register.inclusion_tag("memoryapp/_llm_off.html")
def llm_off(thread: Row | None = None) -> dict[str, Any]:
    """What is off without an LLM, and in a thread that does not learn; else nothing."""
    setup = llm.setup()
    return {"llm": setup, "is_thread_off": thread is not None and not llm.learns(thread)}
