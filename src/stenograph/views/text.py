"""Text from a transcript made fit for a terminal: harmless characters, columns, wrapping, cutting.

In: any string. Out: text that can't move a cursor, change a colour, reorder or hide what stands after it.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

ELLIPSIS = "…"
# Below this every character takes one column.
_FIRST_ODD_ONE = "\u0300"
_TAB = 4
# Made into patterns when first needed: lists of sessions need none.
# Colours that a program gave its output are left out without a trace; everything else that is not text becomes visible.
_COLOUR = r"\x1b\[[0-9;:]*m"
_LINE_ENDS = r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]"


def harmless(text: str) -> str:
    """The text, line by line as it was, tabs as spaces, control and format characters as escapes."""
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text:
        text = re.sub(_COLOUR, "", text)
    text = re.sub(_LINE_ENDS, "\n", text).expandtabs(_TAB)
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(character if character == "\n" or is_harmless(character) else escaped(character) for character in text)


def one_line(text: str) -> str:
    """The text on one line, spaces between words single."""
    return " ".join(harmless(text).split())


def is_harmless(character: str) -> bool:
    """Whether a character can be written to a terminal as it is."""
    # A zero-width joiner holds emoji together; every other invisible character could reorder or hide what follows.
    return character.isprintable() or character == "\u200d"


def escaped(character: str) -> str:
    """A character that can not, made visible."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width(text: str) -> int:
    """Columns in a terminal: East Asian wide characters take two, combining ones none."""
    if text.isascii() or max(text.replace(ELLIPSIS, ""), default="") < _FIRST_ODD_ONE:
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(character) or character in "\u200d\ufe0f" else
        2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )  # fmt: skip


def _fits(text: str, columns: int) -> int:
    """How many characters of the text fit into so many columns."""
    if text.isascii():
        return columns
    used = 0
    for place, character in enumerate(text):
        used += width(character)
        if used > columns:
            return place
    return len(text)


def cut(text: str, columns: int | None) -> str:
    """The text in at most so many columns, its end replaced by an ellipsis; None for no limit."""
    if columns is None or (len(text) <= columns and text.isascii()) or width(text) <= columns:
        return text
    return text[: _fits(text, columns - 1)] + ELLIPSIS if columns > 0 else ""


def wrap(line: str, columns: int | None) -> list[str]:
    """One line as lines of at most so many columns, broken at spaces where there are any."""
    if columns is None or columns < 1:
        return [line]
    lines: list[str] = []
    while len(line) > columns or (not line.isascii() and width(line) > columns):
        end = max(1, _fits(line, columns))
        if end >= len(line):
            break
        space = line.rfind(" ", 0, end + 1)
        if space > 0 and line[:space].strip():
            lines.append(line[:space].rstrip())
            line = line[space:].lstrip()
        else:
            lines.append(line[:end])
            line = line[end:]
    lines.append(line)
    return lines


def amount(text: str) -> str:
    """How much text it is: `312 B`, `1.2 kB`."""
    size = float(len(text.encode("utf-8", "surrogatepass")))
    for unit in ("B", "kB", "MB"):
        if size < 1000 or unit == "MB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("the last unit takes everything")


def local_time(moment: datetime) -> str:
    """Date and time where the user is; as it is for the first and last day there is, which have no other zone."""
    with contextlib.suppress(ValueError, OverflowError, OSError):
        moment = moment.astimezone()
    return moment.replace(tzinfo=None).isoformat(" ", "minutes")


def duration(milliseconds: int) -> str:
    """`0.4 s`, `40 s`, `3 min 5 s`, `2 h 10 min`."""
    # Whole numbers throughout: a file may claim more than a float holds.
    if milliseconds < 10_000:
        tenths = round(milliseconds, -2) // 100
        return f"{tenths // 10}.{tenths % 10} s"
    whole = round(milliseconds, -3) // 1000
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def thousands(number: int) -> str:
    """`950`, `1.2k`, `34k`, `1.2M`."""
    if number < 1000:
        return str(number)
    unit, name = (1000, "k") if number < 999_500 else (1_000_000, "M")
    if number < 10 * unit:
        tenths = (number * 20 // unit + 1) // 2
        return f"{tenths // 10}.{tenths % 10}{name}"
    return f"{(number * 2 // unit + 1) // 2}{name}"


def count_of(number: int, noun: str, plural: str = "") -> str:
    """`1 turn`, `2 turns`; of a noun that has another plural, that one."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
