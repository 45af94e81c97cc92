"""Whether a worker could do its work: one clear line each for what it needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from celery import current_app
from django.conf import settings
from django.utils import timezone

from memoryapp.access import Access
from memoryapp.memory import embedder, llm
from memoryapp.services import health, workers
from oracleagentmemory.errors import AgentMemoryError

_BROKER_WAIT_S = 3.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one thing that a worker needs."""

    name: str
    is_good: bool
    said: str


class _Bad(Exception):
    pass


def check(access: Access, *, models: bool = True) -> list[Finding]:
    """Try database, broker, LLM and embedder, and look for a worker that lives.

    Args:
        models: Ask LLM and embedder, too, which may cost money.
    """
    access.require_admin()
    asked: dict[str, Callable[[], str]] = {"LLM": ask_llm, "embedder": _embedder}
    tried: dict[str, Callable[[], str]] = {
        "database": _database,
        "broker": _broker,
        **(asked if models else {}),
        "worker": _worker,
    }
    return [_find(name, attempt) for name, attempt in tried.items()]


def _find(name: str, attempt: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, attempt())
    except _Bad as problem:
        return Finding(name, False, str(problem))
    except AgentMemoryError as error:
        return Finding(name, False, f"{error}")
    except Exception as error:  # noqa: BLE001 - brokers and models promise no common class
        return Finding(name, False, f"{type(error).__name__}: {error}")


def _database() -> str:
    problem = health.find_problem()
    if problem is not None:
        raise _Bad(problem)
    return f"answers ({settings.DATABASES['default']['ENGINE'].rpartition('.')[2]}, migrated)"


def _broker() -> str:
    with current_app.connection_for_write(connect_timeout=_BROKER_WAIT_S) as connection:
        connection.ensure_connection(max_retries=1, timeout=_BROKER_WAIT_S)
        # A channel of the filesystem transport makes its folders only when they are used.
        connection.default_channel.queue_declare("celery", passive=False)
        return f"takes hints ({connection.transport.driver_type})"


def ask_llm() -> str:
    """Ask the configured model for a word; return what to say of it. Raises what it raises."""
    model = llm()
    if model is None:
        return "none: MEMORY_LLM is not set, so messages are kept and nothing is learnt from them"
    answer = model.generate("Answer with the word ready.", max_tokens=16)
    shown = " ".join(answer.text.split())[:60]
    return f"{model.model} answers ({shown!r})"


def _embedder() -> str:
    made = embedder()
    size = len(made.embed(["ready"])[0])
    return f"{settings.MEMORY_EMBEDDER} answers ({size} dimensions)"


def _worker() -> str:
    living = workers.living(timezone.now())
    if not living:
        raise _Bad("no heart beats: start one (make run does), jobs wait until then")
    age_s = max(0.0, (timezone.now() - living[0].at).total_seconds())
    return f"{len(living)} alive, last heartbeat {age_s:.0f} s ago"
