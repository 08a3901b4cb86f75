"""Days, weeks and months of a chart: those without anything in them take their place too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

#: More columns are too narrow: then only periods in which something happened have one.
_MOST_COLUMNS = 100


def every_period(starts: Sequence[date], by: str) -> list[date]:
    """The first days of all periods (`day`, `week`, `month`) from the first to the last of `starts`, which are in order."""
    if by not in _NEXT or not starts:
        return list(starts)
    found = [starts[0]]
    while found[-1] < starts[-1]:
        if len(found) >= _MOST_COLUMNS:
            return list(starts)
        found.append(_NEXT[by](found[-1]))
    return found


_NEXT = {
    "day": lambda day: day + timedelta(days=1),
    "week": lambda day: day + timedelta(days=7),
    "month": lambda day: (day.replace(day=28) + timedelta(days=5)).replace(day=1),
}
