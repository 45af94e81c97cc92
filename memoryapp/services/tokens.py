"""What models cost: tokens and price of each answer, and the limits that jobs wait for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from memoryapp.models import Job, JobState, TokenUse
from oracleagentmemory.apis.llms.llm import ILlm, LlmResponse, LlmUsage, Prompt
from oracleagentmemory.core.provider import load_litellm
from oracleagentmemory.errors import ModelError


class AccountedLlm(ILlm):
    """The model of one job: every answer is counted, also one of a run that comes to nothing.

    Args:
        check: Raises when this run has lost its job: it is to ask no more.
    """

    def __init__(self, llm: ILlm, job: Job, check: Callable[[], None]) -> None:
        self._llm = llm
        self._job = job
        self._check = check

    @property
    def model(self) -> str:
        """The model's name, as LiteLLM has it."""
        return str(getattr(self._llm, "model", ""))

    @property
    def supports_vision(self) -> bool:
        """Whether the model reads images."""
        return bool(getattr(self._llm, "supports_vision", True))

    def generate(
        self,
        /,
        prompt: Prompt,
        *,
        response_json_schema: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> LlmResponse:
        """Ask the model, unless the job has used its tokens up.

        Raises: ModelError when it has; FencedError when the run has lost the job.
        """
        self._check()
        most = settings.MEMORY_LLM_JOB_TOKENS
        if most is not None and _used_by(Job.objects.filter(pk=self._job.pk)) >= most:
            raise ModelError(f"the job has used its {most:,} tokens (MEMORY_LLM_JOB_TOKENS)")
        if response_json_schema is not None:
            kwargs["response_json_schema"] = response_json_schema
        response = self._llm.generate(prompt, **kwargs)
        if response.usage is not None:
            _count(self._job, self.model, response.usage)
        return response


def price(model: str, usage: LlmUsage) -> Decimal | None:
    """Return what an answer costs in US dollars, by LiteLLM's local table; None: not known."""
    litellm = load_litellm()
    try:
        parts = litellm.cost_per_token(
            model=model,
            prompt_tokens=usage.input_tokens,
            completion_tokens=usage.output_tokens,
        )
    except Exception:  # noqa: BLE001 - it raises a bare Exception for a model without a price
        return None
    return sum((Decimal(repr(part)) for part in parts), Decimal(0)).quantize(Decimal("1e-9"))


def _count(job: Job, model: str, usage: LlmUsage) -> None:
    cost = price(model, usage)
    # A sum with an unknown part would look like the whole: NULL stays NULL.
    more = {
        "input_tokens": F("input_tokens") + usage.input_tokens,
        "output_tokens": F("output_tokens") + usage.output_tokens,
        "cost": None if cost is None else F("cost") + cost,
    }
    with transaction.atomic():
        Job.objects.filter(pk=job.pk).update(model=model, **more)
        row, _ = TokenUse.objects.get_or_create(day=today(), user_id=job.user_id, model=model)
        TokenUse.objects.filter(pk=row.pk).update(**more)


# -- limits of a day ------------------------------------------------------------------------------


def today() -> date:
    """The day that tokens count for, in UTC."""
    return timezone.now().astimezone(UTC).date()


def used_today(user_id: str | None = None) -> int:
    """Return the tokens used today, by all jobs or by those of a user."""
    rows = TokenUse.objects.filter(day=today())
    return _used_by(rows if user_id is None else rows.filter(user_id=user_id))


def let_wait(job: Job, now: datetime) -> bool:
    """Let a job and all that its limit concerns wait for the next day; say whether they must."""
    why, concerned = _limit(job.user_id)
    if not why:
        return False
    waiting = concerned.filter(state=JobState.QUEUED, not_before__lt=_tomorrow(now))
    waiting.update(not_before=_tomorrow(now), wait_reason=why)
    # One that a dead worker left running is queued first; it has no lease to wait for.
    lost = concerned.filter(state=JobState.RUNNING, lease_until__lt=now)
    lost.update(state=JobState.QUEUED, claimed_by="", not_before=_tomorrow(now), wait_reason=why)
    return True


def release_waiting() -> int:
    """Let jobs go on whose limit is no longer reached: another day, or another setting."""
    released = 0
    waiting = Job.objects.filter(state=JobState.QUEUED).exclude(wait_reason="")
    for user_id in list(waiting.order_by().values_list("user_id", flat=True).distinct()):
        if not _limit(user_id)[0]:
            released += waiting.filter(user_id=user_id).update(
                wait_reason="", not_before=timezone.now()
            )
    return released


def _limit(user_id: str) -> tuple[str, QuerySet[Job]]:
    """Return which limit of a day is reached, in words, and the jobs that it concerns."""
    of_all, of_user = settings.MEMORY_LLM_DAILY_TOKENS, settings.MEMORY_LLM_USER_DAILY_TOKENS
    if of_all is not None and used_today() >= of_all:
        return f"today's {of_all:,} tokens are used up (MEMORY_LLM_DAILY_TOKENS)", Job.objects.all()
    if of_user is not None and used_today(user_id) >= of_user:
        why = f"the user's {of_user:,} tokens of today are used up (MEMORY_LLM_USER_DAILY_TOKENS)"
        return why, Job.objects.filter(user_id=user_id)
    return "", Job.objects.none()


def _used_by(rows: QuerySet[Job] | QuerySet[TokenUse]) -> int:
    used = rows.aggregate(asked=Sum("input_tokens"), answered=Sum("output_tokens"))
    return sum(_numbers(used.values()))


def _numbers(values: Iterable[int | None]) -> Iterable[int]:
    return (value or 0 for value in values)


def _tomorrow(now: datetime) -> datetime:
    return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
