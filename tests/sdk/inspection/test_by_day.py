"""Days are the days of the reader's zone."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection import StoreInspector
from tests.sdk.inspection.world import World, selects

ZONES = (
    "UTC",
    "Asia/Kolkata",  # +05:30
    "Asia/Kathmandu",  # +05:45
    "America/New_York",
    "Pacific/Apia",  # skipped 30 December 2011
    "America/Sao_Paulo",  # its clocks skipped midnights
    "Australia/Lord_Howe",  # half an hour of summer time
)


def _add_at(store: Any, *moments: datetime) -> None:
    times = [moment.astimezone(UTC).isoformat() for moment in moments]
    store.add(["text"] * len(times), "memory", user_ids="ada", timestamps=times)


@pytest.mark.parametrize("kind", ["memory", "message", "thread"])
def test_each_record_counts_on_the_local_day_of_its_effective_time(world: World, kind: Any) -> None:
    inspector = StoreInspector(world.store)
    first, last = date(2026, 1, 10), date(2026, 4, 20)
    choices: tuple[Any, ...] = ({}, {"user_ids": {"ada", "空"}}, {"user_id": None})
    for tz, filters in itertools.product(map(ZoneInfo, ZONES), choices):
        days = inspector.by_day(kind, since=first, until=last, tz=tz, **filters)
        expected = Counter(
            record.effective_at.astimezone(tz).date()
            for record in world.known[kind]
            if selects(filters, record)
        )
        assert [day.day for day in days] == [first + timedelta(days=n) for n in range(101)]
        assert {day.day: day.count for day in days if day.count} == expected


@pytest.mark.parametrize("around", [date(2011, 12, 30), date(2018, 11, 4), date(2026, 3, 8)])
def test_bounds_hold_where_clocks_change(store: Any, around: date) -> None:
    start = datetime(around.year, around.month, around.day, tzinfo=UTC) - timedelta(days=2)
    moments = [start + timedelta(minutes=15 * quarter) for quarter in range(4 * 96)]
    _add_at(store, *moments)
    first, last = around - timedelta(days=3), around + timedelta(days=3)
    for tz in map(ZoneInfo, ZONES):
        days = StoreInspector(store).by_day("memory", since=first, until=last, tz=tz)
        expected = Counter(moment.astimezone(tz).date() for moment in moments)
        assert {day.day: day.count for day in days if day.count} == expected


def test_an_aware_time_stands_for_its_local_day(store: Any) -> None:
    tokyo = ZoneInfo("Asia/Tokyo")
    _add_at(store, datetime(2026, 5, 1, 23, 30, tzinfo=UTC))
    moment = datetime(2026, 5, 1, 16, tzinfo=UTC)
    (day,) = StoreInspector(store).by_day("memory", since=moment, until=moment, tz=tokyo)
    assert (day.day, day.count) == (date(2026, 5, 2), 1)


def test_nobody_sees_empty_days(world: World) -> None:
    days = StoreInspector(world.store).by_day(
        "memory", since=date(2026, 2, 27), until=date(2026, 3, 2), tz=UTC, user_ids=()
    )
    assert [day.count for day in days] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("since", "until"),
    [
        (date(2026, 1, 2), date(2026, 1, 1)),
        (date(2020, 1, 1), date(2026, 1, 1)),
        (date(9999, 12, 1), date(9999, 12, 31)),
        (date(1, 1, 1), date(1, 1, 9)),
        (datetime(2026, 1, 1), date(2026, 1, 2)),
    ],
    ids=str,
)
def test_impossible_spans_are_refused(store: Any, since: date, until: date) -> None:
    inspector = StoreInspector(store)
    with pytest.raises(InvalidInputError):
        inspector.by_day("memory", since=since, until=until, tz=ZoneInfo("Asia/Tokyo"))
