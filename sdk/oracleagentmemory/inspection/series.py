"""Records by local day of their effective time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.elements import ColumnElement

from oracleagentmemory.errors import InvalidInputError
from oracleagentmemory.inspection.selection import Criteria
from oracleagentmemory.inspection.sources import Source

_MAX_DAYS = 1_000


def local_days(since: date, until: date, zone: tzinfo) -> list[date]:
    """Return the days from ``since`` to ``until``, both included; a time stands for its day.

    Raises:
        InvalidInputError: If there are none or more than 1,000, or a time has no zone.
    """
    first, last = _local_day(since, zone, "since"), _local_day(until, zone, "until")
    count = (last - first).days + 1
    if not 1 <= count <= _MAX_DAYS:
        raise InvalidInputError(f"since and until span {count} days; 1 to {_MAX_DAYS} are possible")
    return [first + timedelta(days=number) for number in range(count)]


def midnights(days: Sequence[date], zone: tzinfo) -> list[datetime]:
    """Return in UTC the start of each day and the end of the last one.

    Where the clocks skip midnight, the day starts at the change.

    Raises:
        InvalidInputError: If a bound lies outside the years that a time can have.
    """
    try:
        bounds = (*days, days[-1] + timedelta(days=1))
        return [datetime.combine(day, time(), tzinfo=zone).astimezone(UTC) for day in bounds]
    except OverflowError:
        raise InvalidInputError("since and until must lie within the years 1 to 9999") from None


def day_statement(source: Source, criteria: Criteria, starts: Sequence[datetime]) -> sa.Select[Any]:
    """Select the number of each day that has records, and how many it has.

    Args:
        starts: As :func:`midnights` returns them.
    """
    shape = criteria.shape()
    within = (source.effective_at >= starts[0], source.effective_at < starts[-1])
    # Named in an inner select: Oracle does not see that two CASEs with binds are the same.
    rows = (
        sa.select(_day_number(source.effective_at, starts, 0, len(starts) - 2).label("day_number"))
        .select_from(source.noted(source.table))
        .where(*source.conditions(shape, criteria.metadata), *within)
        .subquery("dated")
    )
    return sa.select(rows.c.day_number, sa.func.count()).group_by(rows.c.day_number)


def _day_number(
    moment: ColumnElement[Any], starts: Sequence[datetime], low: int, high: int
) -> ColumnElement[int]:
    """A tree of CASEs: as many comparisons a row as the logarithm of the days.

    Comparing with the days' true bounds is right in every zone, whatever its offset and changes.
    """
    if low == high:
        return sa.literal(low, sa.Integer())
    middle = (low + high + 1) // 2
    earlier = _day_number(moment, starts, low, middle - 1)
    return sa.case(
        (moment < starts[middle], earlier), else_=_day_number(moment, starts, middle, high)
    )


def _local_day(value: date, zone: tzinfo, what: str) -> date:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise InvalidInputError(f"{what} has no time zone; give a date or an aware datetime")
    return value.astimezone(zone).date()
