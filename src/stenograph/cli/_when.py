"""Times as people give them to commands: a date, or an age.

In: what somebody typed, and the time now. Out: seconds since 1970. Knows nothing of what is compared with them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from stenograph.errors import UsageError

_AGE = re.compile(r"(\d{1,6})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}
_AN_AGE = "an age in hours, days or weeks (36h, 7d, 2w)"
_A_DATE = "a date (2026-01-31 or 2026-01-31T12:00)"


def date_of(text: str) -> float:
    """Seconds since 1970 of a date. Raises UsageError."""
    try:
        return _date(text)
    except ValueError:
        raise UsageError(f"{text!r} is no date; give {_A_DATE}") from None


def age_before(text: str, now: datetime) -> float:
    """Seconds since 1970 of the time that was so long ago. Raises UsageError."""
    if found := _AGE.fullmatch(text):
        return _ago(found, now)
    raise UsageError(f"{text!r} is no age; give {_AN_AGE}")


def moment_of(text: str, now: datetime) -> float:
    """Seconds since 1970 of a date, or of an age before now. Raises UsageError."""
    if found := _AGE.fullmatch(text):
        return _ago(found, now)
    try:
        return _date(text)
    except ValueError:
        raise UsageError(f"{text!r} is neither {_A_DATE} nor {_AN_AGE}") from None


def _date(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text).timestamp()
        datetime.fromtimestamp(moment, UTC)  # the first and the last day there is, in another zone
    except (OverflowError, OSError) as error:
        raise ValueError(text) from error
    return moment


def _ago(age: re.Match[str], now: datetime) -> float:
    try:
        return (now - timedelta(hours=int(age[1]) * _HOURS[age[2]])).timestamp()
    except OverflowError:
        raise UsageError(f"{age[0]!r} is longer ago than there are dates; give {_AN_AGE}") from None
