"""The numbers of the first page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from memoryapp.access import Access
from memoryapp.memory import inspector
from oracleagentmemory.inspection import Count, DayCount, Row, Statistics

DAYS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Counts, activity by local day and the newest memories, all within the caller's scope.

    ``statistics`` speaks of the whole store and is None for a caller limited to some users.
    """

    memories: Count
    messages: Count
    threads: Count
    memories_by_day: list[DayCount]
    messages_by_day: list[DayCount]
    newest: tuple[Row, ...]
    statistics: Statistics | None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show yet."""
        return not (self.memories.value or self.messages.value or self.threads.value)


def get(access: Access, *, now: datetime, zone: ZoneInfo) -> Overview:
    """Return the overview of the last 30 local days up to ``now``."""
    scope = {"user_ids": access.user_ids}
    today = now.astimezone(zone).date()
    span = {"since": today - timedelta(days=DAYS - 1), "until": today, "tz": zone}
    reader = inspector()
    return Overview(
        memories=reader.count("memory", **scope),
        messages=reader.count("message", **scope),
        threads=reader.count("thread", **scope),
        memories_by_day=reader.by_day("memory", **span, **scope),
        messages_by_day=reader.by_day("message", **span, **scope),
        newest=reader.page("memory", **scope, status="valid", limit=6).rows,
        statistics=reader.statistics() if access.user_ids is None else None,
    )
