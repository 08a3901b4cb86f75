"""Text for people: characters made harmless, widths, columns, sizes, ages; and JSON for machines.

In: any string, also from a transcript or the file system. Out: text that can't move a terminal's cursor or break a line.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from stenograph.views.text import ELLIPSIS, count_of, cut, escaped, is_harmless, local_time, width

__all__ = [
    "ELLIPSIS",
    "age",
    "column_width",
    "count_of",
    "cut",
    "cut_start",
    "echo_json",
    "echo_long_json",
    "iso",
    "local_time",
    "pad",
    "plain",
    "quoted",
    "short_path",
    "size",
    "table",
    "terminal_width",
    "width",
]

#: A longer cell stands as it is, and the other rows are not padded to it.
_WIDEST_COLUMN = 200
_UNITS = ("B", "kB", "MB", "GB", "TB")


def plain(text: str) -> str:
    """The text on one line: control, format and surrogate characters as escapes, line ends and tabs as spaces."""
    if text.isascii() and text.isprintable():
        return text
    text = " ".join(text.split())
    if text.isprintable():
        return text
    return "".join(character if is_harmless(character) else escaped(character) for character in text)


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
    """How wide a table makes a column with these cells."""
    return min(_WIDEST_COLUMN, max(map(width, cells), default=0))


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
        return local_time(moment)[: len("2026-01-31")]
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86400:
        return f"{int(seconds // 3600)} h ago"
    return f"{int(seconds // 86400)} d ago"


def iso(moment: datetime | None) -> str | None:
    """ISO 8601 in UTC, for machines."""
    if moment is None:
        return None
    with contextlib.suppress(ValueError, OverflowError):
        moment = moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")


# More different characters are replaced faster by going through the text once.
_FEW = 16
# So many items of a long list are written at a time.
_BATCH = 100
_HARMLESS_ASCII = bytes(range(0x20, 0x7F))


def echo_json(value: Any) -> None:
    """One JSON document on stdout, with every character that is not harmless as its escape; indented only on a terminal.

    (Python indents ten times as slowly as it writes on one line, and `jq` takes either.)
    Names that are no UTF-8 come out as lone surrogate escapes, so that none is lost.
    """
    click.echo(_json_line(value) if _writes_utf8_lines() else _json_text(value, 2 if sys.stdout.isatty() else None))


def echo_long_json(members: dict[str, Any], name: str, items: Iterable[Any]) -> None:
    """The same for an object whose last member is a long list: it is written while it is made."""
    if not _writes_utf8_lines():
        echo_json({**members, name: list(items)})
        return
    click.echo(_json_line({**members, name: []}).removesuffix(b"]}"), nl=False)
    comma = b""
    waiting = iter(items)
    while batch := list(itertools.islice(waiting, _BATCH)):
        click.echo(comma + _json_line(batch)[1:-1], nl=False)
        comma = b","
    click.echo(b"]}")


def _writes_utf8_lines() -> bool:
    return not sys.stdout.isatty() and (sys.stdout.encoding or "").lower() == "utf-8"


def _json_line(value: Any) -> bytes:
    """A value on one line of harmless UTF-8, ten times as fast as `_json_text` where msgspec can write it."""
    import json

    import msgspec

    try:
        data = msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError):  # half a surrogate pair, long numbers, nested too deep
        return _json_text(value, None).encode()
    # What is left without plain ASCII is little, whatever language people speak: code and JSON are ASCII.
    odd = [character for character in set(data.translate(None, _HARMLESS_ASCII).decode()) if not character.isprintable()]
    if len(odd) > _FEW:
        return _json_text(value, None).encode()
    for character in odd:
        escape = "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]
        data = data.replace(character.encode(), escape.encode())
    return data


def _json_text(value: Any, indent: int | None) -> str:
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    except (ValueError, RecursionError):  # what JSON or this Python can't write
        from stenograph.redact import mask_json

        value = mask_json(value, str)
        text = json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)
    odd = [character for character in set(text) if not character.isprintable() and character != "\n"]
    if odd:
        text = text.translate({ord(character): json.dumps(character)[1:-1] for character in odd if character != "\x7f"})
        text = text.replace("\x7f", "\\u007f")  # which is ASCII to json
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        text = json.dumps(value, indent=indent).replace("\x7f", "\\u007f")
    return text
