"""How long a server asks to be left alone: the header `retry-after`."""

from __future__ import annotations


def read_retry_after(written: str, *, now: float) -> float | None:
    """Seconds, from a number or a date; None where the header is missing or makes no sense. `now`: seconds since 1970."""
    written = written.strip()
    if not written:
        return None
    if (seconds := read_number(written)) is not None:
        return seconds
    from datetime import UTC  # only for a date: these take 10 ms
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(written)
        # A date whose zone is "-0000" comes without one and means UTC.
        return max(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None


def read_number(written: str) -> float | None:
    """A decimal number of 0 or more; None for anything else."""
    whole, _, part = written.strip().partition(".")
    is_number = whole.isascii() and whole.isdigit() and (not part or (part.isascii() and part.isdigit()))
    return float(f"{whole}.{part or 0}") if is_number and len(whole) < 16 else None
