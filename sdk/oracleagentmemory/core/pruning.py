"""Pruning: a model says which of the documents that a search found have to do with the query."""

from __future__ import annotations

import contextvars
import enum
import importlib.resources
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import cache
from typing import Any

from oracleagentmemory._notset import given
from oracleagentmemory.apis.llms.llm import Prompt
from oracleagentmemory.core.llms.answers import read_json
from oracleagentmemory.core.markup import element
from oracleagentmemory.core.searchconfig import (
    DEFAULT_PROBE_POINTS,
    DEFAULT_PROTECTED_FRACTION,
    PruningEvaluationMode,
    PruningMemorySearchConfig,
)
from oracleagentmemory.errors import ModelAnswerError

PROMPT_VERSION = "pruning-1"
MAX_CONCURRENT_CALLS = 16
MAX_TOKENS = 8192
#: Characters of a document that are judged; no record is found for what stands further down only.
JUDGED_CHARACTERS = 20_000


class Decision(enum.StrEnum):
    """What the model says of a document; only ``DISCARD`` removes it."""

    KEEP = "keep"
    LIKELY = "likely"
    MAYBE = "maybe"
    UNLIKELY = "unlikely"
    IRRELEVANT = "irrelevant"
    DISCARD = "discard"


SCHEMA: dict[str, Any] = {
    "title": "PruningDecision",
    "type": "object",
    "properties": {"decision": {"type": "string", "enum": [one.value for one in Decision]}},
    "required": ["decision"],
    "additionalProperties": False,
}


def prune(
    config: PruningMemorySearchConfig,
    query: str,
    documents: Sequence[str],
    *,
    after_call: Callable[[], None],
) -> tuple[list[int], dict[int, Decision]]:
    """Ask the config's model about documents in the order of their relevance.

    Args:
        after_call: Gives back, on the thread that asked, what the call opened there.

    Returns:
        Places of the documents that stay, ascending, and the decisions by place.

    Raises:
        ModelAnswerError: If an answer is no decision. What the model raises comes through.
    """
    total = len(documents)
    protected = protected_count(total, given(config.protected_fraction, DEFAULT_PROTECTED_FRACTION))
    mode = PruningEvaluationMode(given(config.evaluation_mode, PruningEvaluationMode.FAST))
    if mode is PruningEvaluationMode.EXHAUSTIVE:
        probes: list[tuple[int, ...]] = [(place,) for place in range(protected, total)]
    else:
        points = int(given(config.num_probe_points, DEFAULT_PROBE_POINTS))
        probes = probe_places(total, protected, points)
    asked = sorted({place for probe in probes for place in probe})
    calls = [_call(config, query, documents[place], after_call) for place in asked]
    decisions = dict(zip(asked, _all_of(calls), strict=True))
    end = total
    if mode is not PruningEvaluationMode.EXHAUSTIVE:
        end = _end(mode, probes, decisions, protected)
    return [n for n in range(end) if decisions.get(n) is not Decision.DISCARD], decisions


def protected_count(total: int, fraction: float) -> int:
    """Return how many of the best documents are never asked about: at least one, if there is one.

    A product such as 0.1 * 30 lies a hair above its integer, which must not cost a place.
    """
    return min(total, max(1, math.ceil(round(fraction * total, 9))))


def probe_places(total: int, protected: int, points: int) -> list[tuple[int, ...]]:
    """Return the places to look at: pairs of neighbours at even distances, the last at the end."""
    rest = total - protected
    points = min(points, rest)
    ends = [protected + number * rest // points for number in range(1, points + 1)]
    pairs = [(min(end, total - 1) - 1, min(end, total - 1)) for end in ends]
    return [tuple(place for place in pair if place >= protected) for pair in pairs]


def _end(
    mode: PruningEvaluationMode,
    probes: Iterable[tuple[int, ...]],
    decisions: dict[int, Decision],
    protected: int,
) -> int:
    """Return where the results end: behind the last probe in which a document stays.

    FAST trusts the ranking: it goes no further than the first probe in which none does.
    """
    end = protected
    for probe in probes:
        if any(decisions[place] is not Decision.DISCARD for place in probe):
            end = probe[-1] + 1
        elif mode is PruningEvaluationMode.FAST:
            break
    return end


def _call(
    config: PruningMemorySearchConfig, query: str, document: str, after_call: Callable[[], None]
) -> Callable[[], Decision]:
    """Return the call about one document, to be made on any thread."""

    def call() -> Decision:
        try:
            answer = config.pruner.generate(
                _prompt(query, document), response_json_schema=SCHEMA, max_tokens=MAX_TOKENS
            )
        finally:
            after_call()
        return _decision(answer.text)

    context = contextvars.copy_context()
    return lambda: context.run(call)


def _all_of(calls: Sequence[Callable[[], Decision]]) -> list[Decision]:
    """Make the calls, some at the same time; the first failure spares those that have not begun."""
    if not calls:
        return []
    with ThreadPoolExecutor(
        min(MAX_CONCURRENT_CALLS, len(calls)), "oracleagentmemory-pruning"
    ) as pool:
        futures = [pool.submit(call) for call in calls]
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        failed = [future for future in futures if future in done and future.exception()]
        if failed:
            pool.shutdown(cancel_futures=True)
            failed[0].result()
        return [future.result() for future in futures]


def _decision(text: str) -> Decision:
    answer = read_json(text)
    value = answer.get("decision") if isinstance(answer, dict) else None
    try:
        return Decision(str(value))
    except ValueError:
        known = ", ".join(Decision)
        raise ModelAnswerError(
            f"the pruner answered {text!r:.200}; its decision must be one of {known}"
        ) from None


def _prompt(query: str, document: str) -> Prompt:
    document = document[:JUDGED_CHARACTERS]
    asked = "\n".join([element("query", query), element("document", document)])
    return [{"role": "system", "content": _rules()}, {"role": "user", "content": asked}]


@cache
def _rules() -> str:
    prompts = importlib.resources.files("oracleagentmemory.core.extractors") / "prompts"
    return (prompts / f"{PROMPT_VERSION}.txt").read_text(encoding="utf-8")
