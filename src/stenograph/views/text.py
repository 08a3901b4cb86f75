"""Text from a transcript made fit for a terminal: it can't move a cursor, change a color, reorder or hide what follows it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from stenograph.family import is_session_id

if TYPE_CHECKING:
    from datetime import datetime

ELLIPSIS = "…"
# Below this every character takes one column.
_FIRST_ODD_ONE = "\u0300"
_TAB = 4
_SHORT_ID = 8
#: A longer cell stands as it is, and the other rows are not padded to it.
_WIDEST_COLUMN = 200
#: Of an amount of money.
MOST_PLACES = 6
_UNITS = ("B", "kB", "MB", "GB", "TB")
# Made into patterns when first needed: lists of sessions need none.
# Colours that a program gave its output are left out without a trace; everything else that is not text becomes visible.
_COLOUR = r"\x1b\[[0-9;:]*m"
_MODEL = r"claude-(?:(\d)-(\d)-)?([a-z]+)(?:-(\d+)(?:-(\d{1,2}))?)?(?:-\d{8})?(\[1m\])?"
_LINE_ENDS = r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]"


def harmless(text: str, *, keep_tabs: bool = False) -> str:
    """The text, line by line as it was, tabs as spaces unless kept, control and format characters as escapes."""
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text:
        text = re.sub(_COLOUR, "", text)
    text = re.sub(_LINE_ENDS, "\n", text)
    text = text if keep_tabs else text.expandtabs(_TAB)
    if all(line.isprintable() for line in text.split("\n")):
        return text
    kept = "\n\t" if keep_tabs else "\n"
    return "".join(character if character in kept or is_harmless(character) else escaped(character) for character in text)


def short_id(name: str) -> str:
    """The first part of a session's id; of a file that is not named by one the whole name, harmless."""
    return name[:_SHORT_ID] if is_session_id(name) else plain(name)


def one_line(text: str) -> str:
    return " ".join(harmless(text).split())


def is_harmless(character: str) -> bool:
    # A zero-width joiner holds emoji together; every other invisible character could reorder or hide what follows.
    return character.isprintable() or character == "\u200d"


def escaped(character: str) -> str:
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
    return size(len(text.encode("utf-8", "surrogatepass")))


def local_time(moment: datetime) -> str:
    """Date and time where the user is; as it is for the first and last day there is, which have no other zone."""
    with contextlib.suppress(ValueError, OverflowError, OSError):
        moment = moment.astimezone()
    return moment.replace(tzinfo=None).isoformat(" ", "minutes")


#: Milliseconds; less is `0.0 s`.
_LEAST_TAKEN = 51


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


def time_taken(milliseconds: int | None) -> str:
    """As `duration`; empty where it is not known, or nothing that shows."""
    return duration(milliseconds) if milliseconds is not None and milliseconds >= _LEAST_TAKEN else ""


def thousands(number: int) -> str:
    """`950`, `1.2k`, `34k`, `1.2M`."""
    if number < 1000:
        return str(number)
    unit, name = (1000, "k") if number < 999_500 else (1_000_000, "M")
    if number < 10 * unit:
        tenths = (number * 20 // unit + 1) // 2
        return f"{tenths // 10}.{tenths % 10}{name}"
    return f"{(number * 2 // unit + 1) // 2}{name}"


def percent(share: float) -> str:
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"


def count_of(number: int, noun: str, plural: str = "") -> str:
    """`1 turn`, `2 turns`; of a noun that has another plural, that one."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def plain(text: str) -> str:
    """The text on one line: control, format and surrogate characters as escapes, line ends and tabs as spaces."""
    if text.isascii() and text.isprintable():
        return text
    text = " ".join(text.split())
    if text.isprintable():
        return text
    return "".join(character if is_harmless(character) else escaped(character) for character in text)


def cut_start(text: str, columns: int) -> str:
    """The same, keeping the end: of a path it says more."""
    return text if width(text) <= columns else cut(text[::-1], columns)[::-1]


def pad(text: str, columns: int, *, right: bool = False) -> str:
    space = " " * (columns - width(text))
    return space + text if right else text + space


def table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> list[str]:
    """Lines with aligned columns, two spaces between; those in `right` aligned to the right, the last one not padded."""
    if not rows:
        return []
    last = len(rows[0]) - 1
    padded = range(last + (last in right))
    widths = [column_width(row[column] for row in rows) for column in padded]
    lines = []
    for row in rows:
        cells = [pad(row[column], widths[column], right=column in right) for column in padded]
        lines.append("  ".join([*cells, *row[len(cells) :]]).rstrip())
    return lines


def column_width(cells: Iterable[str]) -> int:
    return min(_WIDEST_COLUMN, max(map(width, cells), default=0))


def short_path(path: str) -> str:
    """A path with the user's directory as `~`, harmless."""
    user = os.path.expanduser("~")  # noqa: PTH111 - text in, text out
    if user not in ("~", "/") and (path == user or path.startswith(user + os.sep)):
        path = "~" + path[len(user) :]
    return plain(path)


def size(count: int) -> str:
    amount = float(count)
    for unit in _UNITS:
        if amount < 1000 or unit == _UNITS[-1]:
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
        amount /= 1000
    raise AssertionError("the last unit takes everything")


def age(moment: datetime, now: datetime) -> str:
    """How long ago, for a person; the day, in local time, when that was longer than a week ago or is still to come."""
    seconds = (now - moment).total_seconds()
    if seconds < -60 or seconds >= 7 * 86400:
        return local_time(moment)[: len("2026-01-31")]
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86400:
        return f"{int(seconds // 3600)} h ago"
    return f"{int(seconds // 86400)} d ago"


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def when(moment: datetime, now: datetime) -> str:
    """A local time as lists show it: `now`, `14:05`, `Sat 16:40` (six days), `12 Oct`, `2025-10-12`."""
    if 0 <= (now - moment).total_seconds() < 60:
        return "now"
    try:
        moment, now = moment.astimezone(), now.astimezone()
    except (ValueError, OverflowError, OSError):  # the first and last day there is, which have no other zone
        return local_time(moment)[: len("2026-01-31")]
    days = (now.date() - moment.date()).days
    clock = f"{moment.hour:02}:{moment.minute:02}"
    if days == 0:
        return clock
    if 0 < days <= 6:
        return f"{_DAYS[moment.weekday()]} {clock}"
    if moment.year == now.year:
        return f"{moment.day} {_MONTHS[moment.month - 1]}"
    return moment.date().isoformat()


def day(moment: datetime, now: datetime) -> str:
    """The day of a local time as headings show it: `today`, `yesterday` or `earlier`."""
    try:
        days = (now.astimezone().date() - moment.astimezone().date()).days
    except (ValueError, OverflowError, OSError):
        return "earlier"
    return "today" if days <= 0 else "yesterday" if days == 1 else "earlier"


def will_delete(sessions: int, overdue: int, days: int) -> str:
    """What Claude Code deletes soon; `overdue` of these have been due already."""
    count = f"Claude Code will delete {count_of(sessions, 'session')}"
    if not overdue:
        return f"{count} within {days} days"
    if overdue >= sessions:
        return f"{count} the next time it starts"
    return f"{count}: {overdue:,} the next time it starts, the others within {days} days"


_CENT = 10_000


def dollars(micro_usd: int) -> str:
    """`$2.71`; below a cent two significant digits, `$0.0031`; whole dollars from a thousand on."""
    sign, amount = ("-" if micro_usd < 0 else ""), abs(micro_usd)
    if amount >= 1_000_000_000:
        return f"{sign}${(amount + 500_000) // 1_000_000:,}"
    if amount >= _CENT or not amount:
        cents = (amount + 5_000) // 10_000
        return f"{sign}${cents // 100:,}.{cents % 100:02d}"
    digits = len(str(amount))
    step = 10 ** max(0, digits - 2)
    return f"{sign}${(amount + step // 2) // step * step / 1_000_000:.{min(6, 8 - digits)}f}"


def money(usd: float | None, *, estimated: bool = False, unpriced: bool = False) -> str:
    """`$2.71`, `~$0.0031`; nothing where it is not known."""
    if usd is None:
        return "unpriced" if unpriced else ""
    return f"{'~' if estimated else ''}{dollars(round(usd * 1_000_000))}"


def fine_money(usd: float) -> str:
    """With two digits that say something: `$1.25`, `$0.0031`."""
    from decimal import Decimal

    amount = Decimal(str(usd))
    places = 2 if amount >= Decimal("0.1") else min(MOST_PLACES, 1 - amount.adjusted()) if amount else 2
    return f"${amount:.{places}f}"


def quoted(text: str) -> str:
    """The text as one word for a POSIX shell; where it holds characters that are not harmless, for bash, zsh and ksh."""
    import shlex

    if text.isprintable():
        return shlex.quote(text)
    return "$'" + "".join(_in_quotes(character) for character in text) + "'"


def _in_quotes(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8, as os.fsdecode gives it
        code -= 0xDC00
        return f"\\x{code:02x}"
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def short_model(name: str) -> str:
    """`claude-opus-4-5-20251101` as `opus 4.5`; what is not named so as it is."""
    found = re.fullmatch(_MODEL, name)
    if found is None:
        return one_line(name)
    old, minor_old, family, major, minor, long = found.groups()
    number = ".".join(part for part in (major or old, minor or minor_old) if part)
    return " ".join(part for part in (family, number, "1M" if long else "") if part)
