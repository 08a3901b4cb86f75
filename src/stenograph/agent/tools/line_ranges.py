"""Some lines of a long file, without holding the rest.

Raises OSError, and ToolFailed for what is not a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from stenograph.agent.tools.texts import TextFile, decode, opened

_BLOCK = 1024 * 1024
#: Bytes. UTF-16 is decoded whole: its newlines can't be found bytewise.
_LONGEST_WIDE = 64 * 1024 * 1024


class LineRange(Struct, frozen=True):
    #: Without a newline at the end.
    file: TextFile
    #: Of the whole file; what follows the last newline is one, even if empty.
    total: int
    #: Reading was given up.
    is_too_long: bool = False


def read_range(path: Path, start: int, count: int | None, *, most: int) -> LineRange:
    """`count` lines from `start` (from 1), all if None; limited in bytes."""
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
    kept = bytearray()
    line = 1  # of the first byte of the block
    while block := file.read(_BLOCK):
        newlines = block.count(b"\n")
        if line + newlines >= start and (end is None or line < end) and len(kept) <= most:
            pieces = block.split(b"\n")
            kept += b"\n".join(pieces[max(start - line, 0) : None if end is None else end - line])
        line += newlines
    found = decode(bytes(kept))
    if found.text.endswith("\r"):  # its newline was cut off
        found = TextFile(found.text[:-1], found.encoding, found.has_mark, found.newline, found.trouble)
    return LineRange(found, line, len(kept) > most)
