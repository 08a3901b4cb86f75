"""Some lines of a file that may be long, without holding the rest of it.

In: a path and which lines. Out: their text, and how many lines the file has. Raises OSError, and ToolFailed for what is no file.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from stenograph.agent.tools.texts import TextFile, decode, opened

_BLOCK = 1024 * 1024
#: UTF-16 is decoded whole: its newlines can't be found byte by byte.
_LONGEST_WIDE = 64 * 1024 * 1024


class LineRange(Struct, frozen=True):
    #: Its text has no newline at the end.
    file: TextFile
    #: Lines of the whole file; what follows the last newline is one, even if it is empty.
    total: int
    #: Reading was given up: there is more than was asked for at most.
    is_too_long: bool = False


def read_range(path: Path, start: int, count: int | None, *, most: int) -> LineRange:
    """`count` lines from `start` (1 is the first) on, all where it is None; at most so many bytes."""
    with opened(path) as file:
        head = file.read(2)
        file.seek(0)
        if head == b"\xff\xfe":
            return _wide(file, start, count)
        return _narrow(file, start, None if count is None else start + count, most)


def _wide(file: BinaryIO, start: int, count: int | None) -> LineRange:
    whole = decode(file.read(_LONGEST_WIDE))
    lines = whole.text.split("\n")
    text = "\n".join(lines[start - 1 : None if count is None else start - 1 + count])
    return LineRange(TextFile(text, whole.encoding, whole.has_mark, whole.newline, whole.trouble), len(lines))


def _narrow(file: BinaryIO, start: int, end: int | None, most: int) -> LineRange:
    """Lines from `start` up to `end`, by their bytes."""
    kept = bytearray()
    line = 1  # of the first byte of the block
    while block := file.read(_BLOCK):
        newlines = block.count(b"\n")
        if line + newlines >= start and (end is None or line < end) and len(kept) <= most:
            pieces = block.split(b"\n")
            kept += b"\n".join(pieces[max(start - line, 0) : None if end is None else end - line])
        line += newlines
    found = decode(bytes(kept))
    if found.text.endswith("\r"):  # its newline was left behind
        found = TextFile(found.text[:-1], found.encoding, found.has_mark, found.newline, found.trouble)
    return LineRange(found, line, len(kept) > most)
