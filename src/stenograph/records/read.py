"""A session file -> its records in order, each with its place; what is wrong with a line beside it as a finding.

Every byte of the file belongs to a record (a damaged line is a `DamagedRecord`) or to a line end. Streams: one line at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from stenograph.disk import Finding, Line, read_lines
from stenograph.records.envelope import DamagedRecord, Record
from stenograph.records.line import decode


class Located(msgspec.Struct, frozen=True, gc=False):
    """A record and where it stands."""

    record: Record
    # From 1.
    number: int
    # Of the line's first byte; `length` without the line end.
    offset: int
    length: int
    finding: Finding | None = None


def read_records(path: Path, start: int = 0, stop: int | None = None) -> Iterator[Located]:
    """The records of a session file, in the file's order, damaged lines included.

    `start` and `stop` are byte offsets of line starts; lines are then numbered from 1 at `start`.
    """
    for line in read_lines(path, start, stop):
        data = line.data
        record = decode(data)
        sound = line.ended and data.isascii() and type(record) is not DamagedRecord
        finding = None if sound else _finding(path, line, record)
        yield Located(record, line.number, line.offset, len(data), finding)


def _finding(path: Path, line: Line, record: Record) -> Finding | None:
    code = _what_is_odd(line, record)
    if code is None:
        return None
    return Finding(code=code, path=path, line=line.number, offset=line.offset, length=len(line.data))


def _what_is_odd(line: Line, record: Record) -> str | None:
    if isinstance(record, DamagedRecord):
        if record.reason == "blank":
            return "blank-line"
        # What a writer has not finished yet; anywhere else it never will be.
        return "torn-tail" if not line.ended else f"damaged-line-{record.reason}"
    if not line.ended:
        return "missing-final-newline"
    try:
        line.data.decode()
    except UnicodeDecodeError:
        return "invalid-utf8"
    return None
