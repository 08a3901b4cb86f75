"""Named partial reads: what a line says of itself without being decoded, for readers of files of any size.

In: bytes of lines, or records. Out: what was asked for, read as tolerantly as a client reads it. A look for bytes is a hint that
saves decoding; where one is the answer, it says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from stenograph.disk import read_lines, read_whole
from stenograph.records.envelope import Record
from stenograph.records.json_text import REFUSALS, parse_or_unset, parse_strictly
from stenograph.records.shape import mentions

_FILE_HISTORY = b'"file-history-'
_BOUNDARY = b'"compact_boundary"'


class _Named(msgspec.Struct):
    sessionId: Any = None


_read_name = msgspec.json.Decoder(_Named).decode
_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


# One line


def members(line: bytes) -> tuple[object, bool]:
    """The value of a line, and whether it is JSON as the standard has it; UNSET for what clients can't read either."""
    try:
        return parse_strictly(line), True
    except REFUSALS:
        return parse_or_unset(line), False


def is_object(line: bytes) -> bool:
    """Whether a line is a whole JSON object as the standard has it."""
    try:
        _read_object(line)
    except REFUSALS:
        return False
    return True


def may_name_cwd(line: bytes | memoryview) -> bool:
    """Whether a line may name a working directory."""
    return b'"cwd"' in bytes(line)


# One record


def may_be_agent_progress(record: Record) -> bool:
    """Whether a progress record may be a sub-agent's."""
    return mentions(record, b'"agent_progress"')


def may_use_the_web(record: Record) -> bool:
    """Whether an answer may call a tool that searches or fetches, or hold its name."""
    return mentions(record, b'"Web')


def is_aborted(record: Record) -> bool:
    """Whether an answer was broken off in the middle of its stream."""
    return mentions(record, b"isAbortedMidStream") and record.extra.get("isAbortedMidStream") is True


# A whole file


def file_history_of(path: Path) -> list[dict[str, Any]]:
    """The members of the lines about the history of files, in their order; all others are passed over as bytes."""
    data = read_whole(path)
    found: list[dict[str, Any]] = []
    place = data.find(_FILE_HISTORY)
    while place >= 0:
        start, stop = _line_around(data, place)
        line = parse_or_unset(data[start:stop])
        if isinstance(line, dict) and str(line.get("type")).startswith("file-history-"):
            found.append(line)
        place = data.find(_FILE_HISTORY, stop)
    return found


def compactions_backwards(data: bytes, end: int) -> Iterator[tuple[int, int]]:
    """Where the lines before `end` begin and stop that may be the boundary of a compaction, the last one first."""
    while (place := data.rfind(_BOUNDARY, 0, end)) >= 0:
        start, stop = _line_around(data, place)
        yield start, stop
        end = start


def session_named(path: Path, size: int) -> str | None:
    """The session that the last line of a file names which names one; as far as `size` bytes."""
    found = None
    for line in read_lines(path, stop=size):
        if b'"sessionId"' in line.data:
            try:
                value = _read_name(line.data).sessionId
            except REFUSALS:
                continue
            found = value if isinstance(value, str) and value else found
    return found


def _line_around(data: bytes, place: int) -> tuple[int, int]:
    stop = data.find(b"\n", place)
    return data.rfind(b"\n", 0, place) + 1, stop if stop >= 0 else len(data)
