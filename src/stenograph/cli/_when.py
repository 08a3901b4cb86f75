"""Times as people give them to commands: a date, or an age."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from stenograph.errors import UsageError

_AGE = re.compile(r"(\d{1,6})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


def moment_of(text: str, now: datetime) -> float:
    """Seconds since 1970 of a date, or of an age before now. Raises UsageError."""
    if found := _AGE.fullmatch(text):
        return (now - timedelta(hours=int(found[1]) * _HOURS[found[2]])).timestamp()
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise UsageError(f"{text!r} is neither a date like 2026-01-31 nor an age like 7d") from None
