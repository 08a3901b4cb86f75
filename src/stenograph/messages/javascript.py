"""JSON as a client reads and writes it: numbers are doubles, and half a surrogate pair may become U+FFFD (rule 18)."""

from __future__ import annotations

from typing import Any

from stenograph.messages.habits import Habits

# Whole numbers up to here are the same as doubles.
_EXACT = 2**53
# From here on JavaScript writes an exponent.
_WITH_EXPONENT = 1e21


def as_sent(value: Any, habits: Habits) -> Any:
    if isinstance(value, str):
        return _without_halves(value) if habits.replaces_surrogates else value
    if isinstance(value, dict):
        return {key: as_sent(item, habits) for key, item in value.items()}
    if isinstance(value, list):
        return [as_sent(item, habits) for item in value]
    if isinstance(value, float) or (isinstance(value, int) and not -_EXACT <= value <= _EXACT):
        return _double(value)
    return value


def _without_halves(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _double(number: float) -> float | int | None:
    """The number as a double; one that is none, such as infinity, is `null`."""
    from decimal import Decimal

    try:
        double = float(number)
    except OverflowError:
        return None
    if double in (float("inf"), float("-inf")):
        return None
    shown = Decimal(repr(double))
    return int(shown) if abs(double) < _WITH_EXPONENT and shown == shown.to_integral_value() else double
