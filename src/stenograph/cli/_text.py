"""Text for people: characters made harmless, widths, columns, sizes, ages; and JSON for machines.

In: any string, also from a transcript or the file system. Out: text that can't move a terminal's cursor or break a line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

ELLIPSIS = "…"
# Below this every character takes one column.
_FIRST_ODD_ONE = "\u0300"
_UNITS = ("B", "kB", "MB", "GB", "TB")


def plain(text: str) -> str:
    """The text on one line: control, format and surrogate characters as escapes, line ends and tabs as spaces."""
    if text.isascii() and text.isprintable():
        return text
    text = " ".join(text.split())
    return "".join(character if _is_harmless(character) else _escaped(character) for character in text)


def _is_harmless(character: str) -> bool:
    # A zero-width joiner holds emoji together; every other invisible character could reorder or hide what follows.
    return character.isprintable() or character == "\u200d"


def _escaped(character: str) -> str:
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


def cut(text: str, columns: int) -> str:
    """The text in at most so many columns, its end replaced by an ellipsis."""
    if width(text) <= columns:
        return text
    kept = ""
    used = 1
    for character in text:
        used += width(character)
        if used > columns:
            break
        kept += character
    return kept + ELLIPSIS if columns > 0 else ""


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
    widths = [max(width(row[column]) for row in rows) for column in padded]
    lines = []
    for row in rows:
        cells = [pad(row[column], widths[column], right=column in right) for column in padded]
        lines.append("  ".join([*cells, *row[len(cells) :]]).rstrip())
    return lines


def terminal_width() -> int | None:
    """Columns of the terminal that shows stdout; None where it is no terminal."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def short_path(path: str) -> str:
    """A path with the user's folder as `~`, harmless."""
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
        return moment.astimezone().strftime("%Y-%m-%d")
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86400:
        return f"{int(seconds // 3600)} h ago"
    return f"{int(seconds // 86400)} d ago"


def local_time(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC, for machines."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def echo_json(value: Any) -> None:
    """One JSON document on stdout. Names that are no UTF-8 come out as lone surrogate escapes, so that none is lost."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        text = json.dumps(value, indent=2)
    click.echo(text)
