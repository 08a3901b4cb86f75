"""Timestamps as moments."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


def moment(timestamp: object) -> datetime | None:
    """A record's timestamp; None when it has none that can be read. In UTC, which it is meant to be in where it names no zone."""
    return _moment(timestamp) if isinstance(timestamp, str) else None


@lru_cache(64)  # the lines of a turn are asked several times each
def _moment(timestamp: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(timestamp)
        if found.tzinfo is UTC:  # so clients write it
            return found
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the latter: a moment that UTC has no year for
        return None


def to_client_time(at: datetime) -> str:
    """A moment as clients write it: `2026-01-02T03:04:05.678Z`."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
