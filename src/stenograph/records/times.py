"""Timestamps as moments."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(timestamp: object) -> datetime | None:
    """A record's timestamp; None when it has none that can be read. Without a zone it is UTC."""
    if not isinstance(timestamp, str):
        return None
    try:
        found = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
