"""Token budgets of search results."""

from __future__ import annotations

from collections.abc import Iterable

from oracleagentmemory.apis.searchresult import SearchResult

CHARACTERS_PER_TOKEN = 3.5


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has, at least 1."""
    return max(1, round(len(text) / CHARACTERS_PER_TOKEN))


def within_budget(
    results: Iterable[SearchResult], hard: int | None, soft: int | None
) -> list[SearchResult]:
    """Return the first whole results that fit.

    Args:
        hard: Tokens that are never passed; ``None``, 0 or less means no bound.
        soft: Tokens after which no result is added; the one that reaches them is kept.
    """
    kept: list[SearchResult] = []
    total = 0
    for result in results:
        total += estimate_tokens(result.formatted_content)
        if hard is not None and 0 < hard < total:
            break
        kept.append(result)
        if soft is not None and 0 < soft <= total:
            break
    return kept
