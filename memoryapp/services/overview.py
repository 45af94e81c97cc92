"""The numbers of the first page."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.core.cache import cache

from memoryapp.access import Access
from memoryapp.memory import inspector
from oracleagentmemory.inspection import Count, DayCount, Row, RowKind, Statistics

DAYS = 30
KEPT_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What takes a scan: activity by local day, and the whole store in numbers.

    ``statistics`` is None for a caller limited to some users.
    """

    memories_by_day: list[DayCount]
    messages_by_day: list[DayCount]
    statistics: Statistics | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Counts, figures and the newest memories, all within the caller's scope."""

    memories: Count
    messages: Count
    threads: Count
    images: Count
    newest: list[Row]
    figures: Figures
    is_kept: bool

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show yet."""
        counts = (self.memories, self.messages, self.threads, self.images)
        return not any(count.value for count in counts)


def get(access: Access, *, now: datetime, zone: ZoneInfo) -> Overview:
    """Return the overview of the last 30 local days up to ``now``.

    Beyond 10,000 records the figures are up to a minute old (``is_kept``): a scan for each look at
    the page would keep a busy store busier.
    """
    users, reader = access.user_ids, inspector()
    memories = reader.count("memory", user_ids=users)
    messages = reader.count("message", user_ids=users)
    is_kept = memories.capped or messages.capped
    today = now.astimezone(zone).date()
    return Overview(
        memories=memories,
        messages=messages,
        threads=reader.count("thread", user_ids=users),
        images=reader.count("image", user_ids=users),
        newest=reader.page("memory", user_ids=users, status="valid", limit=6).rows,
        figures=_kept_figures(users, today, zone) if is_kept else _figures(users, today, zone),
        is_kept=is_kept,
    )


def _kept_figures(users: frozenset[str] | None, today: date, zone: ZoneInfo) -> Figures:
    scope = None if users is None else sorted(users)
    named = json.dumps([scope, today.isoformat(), zone.key])
    key = f"overview-{hashlib.sha256(named.encode()).hexdigest()}"
    figures: Figures | None = cache.get(key)
    if figures is None:
        figures = _figures(users, today, zone)
        cache.set(key, figures, KEPT_S)
    return figures


def _figures(users: frozenset[str] | None, today: date, zone: ZoneInfo) -> Figures:
    reader, first = inspector(), today - timedelta(days=DAYS - 1)

    def by_day(kind: RowKind) -> list[DayCount]:
        return reader.by_day(kind, since=first, until=today, tz=zone, user_ids=users)

    return Figures(
        memories_by_day=by_day("memory"),
        messages_by_day=by_day("message"),
        statistics=reader.statistics() if users is None else None,
    )
