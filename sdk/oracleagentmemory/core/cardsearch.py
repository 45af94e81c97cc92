"""What a context card finds: the searches behind its relevant information."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from oracleagentmemory._notset import Maybe, given
from oracleagentmemory.apis.records import MEMORY_TYPES, MetadataValue, Record, ThreadRecordType
from oracleagentmemory.apis.searchresult import SearchResult, SearchResultFormatConfig
from oracleagentmemory.apis.validation import check_flag
from oracleagentmemory.core.budgets import within_budget
from oracleagentmemory.core.searchconfig import MemorySearchConfig, check_budget
from oracleagentmemory.core.searchresult import OracleSearchResult
from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.storage.filters import parse_filter

if TYPE_CHECKING:
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

DEFAULT_RELEVANT_RESULTS = 5
LARGEST_RELEVANT_RESULTS = 1000
DEFAULT_FALLBACK_MESSAGES = 5
CARD_TYPES = ("message", *MEMORY_TYPES)

_Found = list[tuple[Record, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CardArguments:
    """What a caller asks of a card, checked.

    Attributes:
        most: Relevant results at most.
        least: By type, how many of them come first.
    """

    fallback_message_count: int
    most: int
    max_recent_messages: int
    except_last_messages: int
    least: Mapping[ThreadRecordType, int]
    metadata_filter: MetadataValue
    include_invalid_results: Maybe[bool]
    hard: int | None
    soft: int | None


def check_card_arguments(
    config: MemorySearchConfig,
    *,
    fallback_message_count: Maybe[int],
    max_relevant_results: Maybe[int],
    max_recent_messages: Maybe[int],
    except_last_messages: Maybe[int],
    min_relevant_results_by_type: Maybe[Mapping[ThreadRecordType, int] | None],
    metadata_filter: Maybe[MetadataValue],
    include_invalid_results: Maybe[bool],
    token_budget: Maybe[int | None],
    soft_token_budget: Maybe[int | None],
) -> CardArguments:
    """Check the arguments of ``get_context_card``; budgets that are omitted are the config's.

    Raises:
        InvalidInputError: If one cannot be accepted.
    """
    least = _check_least(given(min_relevant_results_by_type, None))
    most = _check_count(max_relevant_results, "max_relevant_results", DEFAULT_RELEVANT_RESULTS)
    most = max(most, sum(least.values()))
    if most > LARGEST_RELEVANT_RESULTS:
        raise InvalidInputError(
            f"a card holds at most {LARGEST_RELEVANT_RESULTS} relevant results, not {most}"
        )
    recent = _check_count(max_recent_messages, "max_recent_messages", 0)
    left_out = _check_count(except_last_messages, "except_last_messages", 0)
    if left_out and recent not in (0, left_out):
        raise InvalidInputError(
            f"with except_last_messages={left_out}, max_recent_messages must be 0 or {left_out}, "
            f"not {recent}"
        )
    wanted = given(metadata_filter, None)
    if wanted is not None:
        parse_filter(wanted)
    check_flag(include_invalid_results, "include_invalid_results")
    return CardArguments(
        fallback_message_count=_check_count(
            fallback_message_count, "fallback_message_count", DEFAULT_FALLBACK_MESSAGES
        ),
        most=most,
        max_recent_messages=recent,
        except_last_messages=left_out,
        least=least,
        metadata_filter=wanted,
        include_invalid_results=include_invalid_results,
        hard=_budget(token_budget, config.token_budget, "token_budget"),
        soft=_budget(soft_token_budget, config.soft_token_budget, "soft_token_budget"),
    )


def _check_count(value: Maybe[int], what: str, default: int) -> int:
    count = check_budget(given(value, default), what)
    if count is None or count < 0:
        raise InvalidInputError(f"{what} must be a number of at least 0, not {value!r:.80}")
    return count


def _check_least(value: object) -> dict[ThreadRecordType, int]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInputError("min_relevant_results_by_type must map record types to numbers")
    for record_type, count in value.items():
        if record_type not in CARD_TYPES:
            raise InvalidInputError(
                f"min_relevant_results_by_type has {record_type!r:.80}; its types are "
                f"{', '.join(CARD_TYPES)}"
            )
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidInputError(
                f"min_relevant_results_by_type of {record_type} must be at least 1, "
                f"not {count!r:.80}"
            )
    return dict(value)


def _budget(asked: Maybe[int | None], configured: Maybe[int | None], what: str) -> int | None:
    value = check_budget(given(asked, None), what)
    return given(configured, None) if value is None else value


@dataclass(slots=True, kw_only=True)
class CardSearch:
    """The searches of one card.

    Attributes:
        concurrency: Searches for one type each that run at the same time.
        left_out: Ids of the messages that may not be found.
    """

    store: OracleMemoryStore
    user_id: str
    agent_id: str
    thread_id: str
    concurrency: int
    asked: CardArguments
    query: str
    left_out: frozenset[str] = field(default=frozenset())

    def results(self) -> list[SearchResult]:
        """Return what is relevant: the least of each type first, then the nearest of the rest."""
        if not self.asked.most or not self.query.strip():
            return []
        by_type = [
            partial(self._search, {record_type}, count)
            for record_type, count in self.asked.least.items()
        ]
        chosen = list(chain.from_iterable(self.store.read_together(by_type, self.concurrency)))
        if len(chosen) < self.asked.most:
            found = [self._search(types, self.asked.most) for types in (MEMORY_TYPES, {"message"})]
            # Stable: memories come before messages that are as near.
            chosen += sorted(chain.from_iterable(found), key=lambda pair: pair[1])
        written_as = SearchResultFormatConfig(
            include_invalid_results=self.asked.include_invalid_results
        )
        results: list[SearchResult] = [
            OracleSearchResult(distance, record, format_config=written_as)
            for record, distance in _once(chosen)[: self.asked.most]
        ]
        return within_budget(results, self.asked.hard, self.asked.soft)

    def _search(self, types: Any, count: int) -> _Found:
        messages = "message" in types
        # The newest messages may take places before they are left out.
        found = self.store.search(
            self.query,
            count + (len(self.left_out) if messages else 0),
            user_id=self.user_id,
            agent_id=self.agent_id,
            thread_id=self.thread_id,
            exact_user_match=True,
            exact_agent_match=True,
            exact_thread_match=messages,
            record_types=set(types),
            metadata_filter=self.asked.metadata_filter,
            include_invalid_results=given(self.asked.include_invalid_results, True),
        )
        kept = [pair for pair in found if not messages or pair[0].id not in self.left_out]
        return kept[:count]


def _once(found: Sequence[tuple[Record, float]]) -> _Found:
    """Return each record at its first place."""
    first: dict[tuple[str, str], tuple[Record, float]] = {}
    for pair in found:
        first.setdefault((pair[0].record_type, pair[0].id), pair)
    return list(first.values())
