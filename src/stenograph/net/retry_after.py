"""The header `retry-after`."""

from __future__ import annotations


def read_retry_after(written: str, *, now: float) -> float | None:
    """Seconds, from a number or a date; None if missing or invalid. `now`: seconds since 1970."""
    written = written.strip()
    if not written:
        return None
    if (seconds := read_number(written)) is not None:
        return seconds
    from datetime import UTC  # 10 ms, only for a date
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(written)
        # Zone "-0000" is parsed without one and means UTC.
        return max(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def read_number(written: str) -> float | None:
    """A decimal number, 0 or more; None for anything else."""
    whole, _, part = written.strip().partition(".")
    is_number = whole.isascii() and whole.isdigit() and (not part or (part.isascii() and part.isdigit()))
    return float(f"{whole}.{part or 0}") if is_number and len(whole) < 16 else None
