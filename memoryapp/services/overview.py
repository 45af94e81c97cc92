"""The numbers of the first page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from memoryapp.access import Access
from memoryapp.memory import inspector
from oracleagentmemory.inspection import Count, DayCount, Row, RowKind, Statistics

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
    newest: list[Row]
    statistics: Statistics | None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show yet."""
        return not (self.memories.value or self.messages.value or self.threads.value)


def get(access: Access, *, now: datetime, zone: ZoneInfo) -> Overview:
    """Return the overview of the last 30 local days up to ``now``."""
    users = access.user_ids
    today = now.astimezone(zone).date()
    first = today - timedelta(days=DAYS - 1)

    def by_day(kind: RowKind) -> list[DayCount]:
        return reader.by_day(kind, since=first, until=today, tz=zone, user_ids=users)

    reader = inspector()
    return Overview(
        memories=reader.count("memory", user_ids=users),
        messages=reader.count("message", user_ids=users),
        threads=reader.count("thread", user_ids=users),
        memories_by_day=by_day("memory"),
        messages_by_day=by_day("message"),
        newest=reader.page("memory", user_ids=users, status="valid", limit=6).rows,
        statistics=reader.statistics() if users is None else None,
    )
