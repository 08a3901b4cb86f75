"""Days, weeks and months of a chart: those without anything in them take their place too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

#: More are of clocks that were wrong: then only periods in which something happened have a column.
_MOST_COLUMNS = 5000


def every_period(starts: Sequence[date], by: str) -> list[date]:
    """The first days of all periods (`day`, `week`, `month`) from the first to the last of `starts`, which are in order."""
    if by not in _NEXT or not starts:
        return list(starts)
    if _NEXT[by](date.max - timedelta(days=_MOST_COLUMNS * 31)) < starts[0]:
        return list(starts)
    found = [starts[0]]
    while found[-1] < starts[-1]:
        if len(found) >= _MOST_COLUMNS:
            return list(starts)
        found.append(_NEXT[by](found[-1]))
    return found


def period_of(day: date, by: str) -> date:
    """The first day of the day, week or month that a day is in."""
    return day - timedelta(days=day.weekday()) if by == "week" else day.replace(day=1) if by == "month" else day


_NEXT = {
    "day": lambda day: day + timedelta(days=1),
    "week": lambda day: day + timedelta(days=7),
    "month": lambda day: (day.replace(day=28) + timedelta(days=5)).replace(day=1),
}
