"""JSON as a client reads and writes it: numbers are doubles, and half a surrogate pair may become U+FFFD (rule 18)."""

from __future__ import annotations

from typing import Any

from stenograph.messages.habits import MessageHabits
from stenograph.records import without_halves

# Whole numbers up to here are the same as doubles.
_EXACT = 2**53
# From here on JavaScript writes an exponent.
_WITH_EXPONENT = 1e21


def write_as_sent(holder: Any, habits: MessageHabits, *, keep_numbers: bool = False) -> None:
    """Change what is in a block or a list, however deep, to what a client makes of it; in place: hardly anything changes.

    `keep_numbers` leaves 10000.0 as it is, which a client makes 10000.
    """
    if holder.__class__ is dict and habits.replaces_surrogates and not all(map(str.isascii, holder)):
        members = [(without_halves(key), value) for key, value in holder.items()]
        holder.clear()
        holder.update(members)
    for key, value in holder.items() if holder.__class__ is dict else enumerate(holder):
        kind = value.__class__
        if kind is str:
            if not value.isascii() and habits.replaces_surrogates:
                holder[key] = without_halves(value)
        elif kind is dict or kind is list:
            if value:
                write_as_sent(value, habits, keep_numbers=keep_numbers)
        elif kind is float or (kind is int and not -_EXACT <= value <= _EXACT):
            double = _double(value)
            holder[key] = value if keep_numbers and double is not None else double


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
