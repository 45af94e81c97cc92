"""Charts as plain numbers: the templates draw them as SVG, without a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from oracleagentmemory.inspection import DayCount

WIDTH = 640
HEIGHT = 100
GAP = 0.28


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One day of a chart, in the units of its view box."""

    day: date
    count: int
    slot_x: float
    slot_width: float
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A column for every day, the highest as high as the plot."""

    columns: tuple[Column, ...]
    total: int
    highest: int
    width: int = WIDTH
    height: int = HEIGHT

    @property
    def ticks(self) -> tuple[Column, ...]:
        """The days that are written below: first, middle, last."""
        return tuple(self.columns[n] for n in (0, len(self.columns) // 2, -1))


def by_day(days: Sequence[DayCount]) -> Chart:
    """Lay out one column a day."""
    highest = max((day.count for day in days), default=0)
    slot = WIDTH / max(len(days), 1)
    columns = []
    for index, day in enumerate(days):
        # A day with anything at all stays visible beside a day with thousands.
        height = max(HEIGHT * day.count / highest, 2.0) if day.count else 0.0
        columns.append(
            Column(
                day=day.day,
                count=day.count,
                slot_x=round(index * slot, 2),
                slot_width=round(slot, 2),
                x=round(index * slot + slot * GAP / 2, 2),
                y=round(HEIGHT - height, 2),
                width=round(slot * (1 - GAP), 2),
                height=round(height, 2),
            )
        )
    return Chart(columns=tuple(columns), total=sum(d.count for d in days), highest=highest)
