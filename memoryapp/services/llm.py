"""Which LLM is configured, what is off without one, and a try whether it answers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from memoryapp.access import Access
from memoryapp.memory import llm
from memoryapp.models import AuditEntry
from memoryapp.services import audit
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.errors import AgentMemoryError, StateError
from oracleagentmemory.inspection import Row

#: As `memory_llm_script` names its model: what it says comes from a script, not from a model.
SCRIPTED_MODEL = "scripted"
_QUESTION = "Answer with the single word: ready"
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmSetup:
    """What the settings say.

    Attributes:
        model: MEMORY_LLM; None: nothing is learnt, described or summed up.
        api_base: Where it is asked; None: at its provider's own address.
    """

    model: str | None
    api_base: str | None

    @property
    def is_scripted(self) -> bool:
        """Whether no model answers, but a script."""
        return self.model is not None and self.model.rpartition("/")[2] == SCRIPTED_MODEL


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmTry:
    """What came of asking the model once.

    Attributes:
        latency_ms: Milliseconds until the answer, or until the failure.
        answer: The first characters of what it said.
        error: Why there is no answer; empty when there is one.
        input_tokens: None where the model tells no tokens; so are those of the answer.
    """

    model: str
    latency_ms: int
    answer: str = ""
    error: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    at: datetime | None = None

    def detail(self) -> dict[str, Any]:
        """What its audit entry keeps."""
        names = ("model", "latency_ms", "answer", "error", "input_tokens", "output_tokens")
        return {name: getattr(self, name) for name in names}


def setup() -> LlmSetup:
    """Return what is configured."""
    return LlmSetup(model=settings.MEMORY_LLM, api_base=settings.MEMORY_LLM_API_BASE)


def learns(thread: Row) -> bool:
    """Whether memories are extracted from new messages of a thread, as it was saved."""
    saved = getattr(thread.record, "runtime_config", None) or {}
    extraction = saved.get("memory_extraction_config")
    wanted = extraction.get("extract_memories", True) if isinstance(extraction, dict) else True
    return settings.MEMORY_LLM is not None and bool(wanted)


def try_out(access: Access) -> LlmTry:
    """Ask the model for one word, through the client that jobs use.

    The request leaves this machine, so it has an audit entry before and one after it.
    Raises: AccessDeniedError for everybody but an admin; StateError when no LLM is configured.
    """
    access.require_admin()
    model = llm()
    if model is None:
        raise StateError("no LLM is configured: set MEMORY_LLM, and start the product again")
    with transaction.atomic():
        audit.record(access, "ask", "llm", model.model)
    found = ask(model, model.model)
    with transaction.atomic():
        audit.record(access, "answer", "llm", model.model, detail=found.detail())
    return found


def ask(model: ILlm, name: str) -> LlmTry:
    """Ask a model for one word; a failure is an outcome, too."""
    started = time.perf_counter()
    try:
        answer = model.generate(_QUESTION)
    except AgentMemoryError as error:
        return LlmTry(model=name, latency_ms=_since(started), error=str(error))
    usage = answer.usage
    return LlmTry(
        model=name,
        latency_ms=_since(started),
        answer=answer.text.strip()[:_SHOWN_CHARACTERS],
        input_tokens=None if usage is None else usage.input_tokens,
        output_tokens=None if usage is None else usage.output_tokens,
    )


def last_try(access: Access) -> LlmTry | None:
    """Return what came of the last try with the configured model; for admins alone."""
    access.require_admin()
    found = AuditEntry.objects.filter(noun="llm", action="answer", record_id=settings.MEMORY_LLM)
    entry = found.order_by("-id").first()
    return None if entry is None else LlmTry(**entry.detail, at=entry.at)


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
