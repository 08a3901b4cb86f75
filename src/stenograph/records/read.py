"""A session file -> its records in order, each with its place; what is wrong with a line beside it as a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from stenograph.disk import Finding, read_from, read_lines, read_slice, read_whole, redacted_repr
from stenograph.records.envelope import DamagedRecord, Record
from stenograph.records.line import decode, encode


@redacted_repr
class Located(msgspec.Struct, frozen=True, gc=False):
    record: Record
    number: int
    # Of the line's first byte; `length` without the line end.
    offset: int
    length: int
    finding: Finding | None = None


def read_records(path: Path, start: int = 0, stop: int | None = None) -> Iterator[Located]:
    """Read the records of a session file in file order, including damaged lines.

    `start` and `stop` are byte offsets of line starts; lines are numbered from 1 at `start`. Raises UnreadableError.
    """
    for line in read_lines(path, start, stop):
        yield locate(path, line.data, line.number, line.offset, line.ended)


def read_all_records(path: Path, begin: Callable[[bytes], int] | None = None) -> Iterator[Located]:
    """The same for a file kept in memory as a whole: quicker, but one record kept keeps all of them.

    `begin` looks at the bytes and says where the first line to be read begins; lines keep their numbers. Raises UnreadableError.
    """
    memory = read_whole(path)
    view = memoryview(memory)
    start = begin(memory) if begin else 0
    number = memory.count(b"\n", 0, start)
    while (end := memory.find(b"\n", start)) >= 0:
        number += 1
        yield locate(path, view[start:end], number, start, True)
        start = end + 1
    if start < len(memory):
        yield locate(path, view[start:], number + 1, start, False)


def read_grown_records(path: Path, known: Sequence[Located]) -> list[Located]:
    """All records of a file of which some were read before: where it still begins with their lines, only the others are read.

    Raises UnreadableError.
    """
    kept = list(known)
    while kept and (kept[-1].finding is not None and not _is_ended(kept[-1].finding)):
        kept.pop()  # it may have been completed
    if not kept or not _begins_with(path, kept):
        return list(read_all_records(path))
    last = kept[-1]
    start, number = last.offset + last.length + 1, last.number
    memory = read_from(path, start)
    view, place = memoryview(memory), 0
    while (end := memory.find(b"\n", place)) >= 0:
        number += 1
        kept.append(locate(path, view[place:end], number, start + place, True))
        place = end + 1
    if place < len(memory):
        kept.append(locate(path, view[place:], number + 1, start + place, False))
    return kept


def _begins_with(path: Path, known: Sequence[Located]) -> bool:
    """Whether the first and the last of some lines are where they were: files grow, and what replaces one is another file."""
    return all(
        read_slice(path, each.offset, each.offset + each.length + 1) == encode(each.record) + b"\n"
        for each in (known[0], known[-1])
    )


def _is_ended(finding: Finding) -> bool:
    return finding.code not in ("missing-final-newline", "torn-tail")


def locate(path: Path, line: bytes | memoryview, number: int, offset: int, ended: bool) -> Located:
    """The record of one line, with what is wrong with the line. `ended`: a newline follows it."""
    record = decode(line)
    if ended and type(record) is not DamagedRecord:
        return Located(record, number, offset, len(line))
    return Located(record, number, offset, len(line), Finding(_what_is_odd(record, ended), path, number, offset, len(line)))


def _what_is_odd(record: Record, ended: bool) -> str:
    if not isinstance(record, DamagedRecord):
        return "missing-final-newline"
    if record.reason == "blank":
        return "blank-line"
    return f"damaged-line-{record.reason}" if ended else "torn-tail"


def find_invalid_text(path: Path, located: Iterable[Located]) -> Iterator[Finding]:
    """Lines whose bytes are not UTF-8, which clients read with replacement characters (rule 13)."""
    for each in located:
        line = encode(each.record)
        if not line.isascii():
            try:
                line.decode()
            except UnicodeDecodeError:
                yield Finding("invalid-utf8", path, each.number, each.offset, each.length)
