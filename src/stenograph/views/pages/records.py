"""The lines of a session's files: each in short, or one as it is in the file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import UNSET

from stenograph.disk import read_blocks, read_lines
from stenograph.records import ChainedRecord, DamagedRecord, Located, Record, encode, locate, moment, parse_or_unset
from stenograph.views.pages.page import Document, Page, utc


class RecordRow(Page, frozen=True):
    """One line in short."""

    line: int
    """Counted from 1."""
    offset: int
    """Of its first byte in the file."""
    size: int
    """In bytes, without the line end."""
    kind: str
    """Its type, with a subtype where there is one: `system/compact_boundary`; `damaged` for a line that is not a record."""
    uuid: str | None
    parent_uuid: str | None
    time: datetime | None


class RecordsPage(Document, frozen=True, tag="records/1"):
    """The lines of one file of a session."""

    id: str
    path: str
    agent_id: str | None
    """The subagent whose file it is; null for the session's own."""
    total: int
    """Lines in the file."""
    size: int
    """Of the file, in bytes."""
    first: int
    """The number of the first line that is listed."""
    records: tuple[RecordRow, ...]


class RecordPage(Document, frozen=True, tag="record/1"):
    """One line as it is in the file."""

    id: str
    path: str
    agent_id: str | None
    row: RecordRow
    total: int
    """Lines in the file."""
    record: Any
    """The line as JSON; null if it is not JSON."""
    text: str
    """The line itself if it is not JSON; otherwise empty."""


def records_page(session_id: str, path: Path, *, agent_id: str | None = None, first: int = 1, limit: int = 200) -> RecordsPage:
    """Some lines of a file. Raises UnreadableError."""
    total, size = _extent(path)
    rows = tuple(record_row(each) for each in islice(_located(path, first), limit))
    return RecordsPage(session_id, str(path), agent_id, total, size, first, rows)


def record_page(session_id: str, path: Path, line: int, *, agent_id: str | None = None) -> RecordPage | None:
    """One line; None if the file has not so many. Raises UnreadableError."""
    found = next(_located(path, line), None)
    if found is None:
        return None
    text = encode(found.record)
    value = UNSET if isinstance(found.record, DamagedRecord) else parse_or_unset(text)
    is_json = value is not UNSET
    return RecordPage(
        id=session_id,
        path=str(path),
        agent_id=agent_id,
        row=record_row(found),
        total=_extent(path)[0],
        record=value if is_json else None,
        text="" if is_json else text.decode("utf-8", "replace"),
    )


def record_row(located: Located) -> RecordRow:
    record = located.record
    return RecordRow(
        line=located.number,
        offset=located.offset,
        size=located.length,
        kind="damaged" if isinstance(record, DamagedRecord) else record.kind,
        uuid=_text_of(record, "uuid"),
        parent_uuid=_text_of(record, "parentUuid"),
        time=utc(moment(getattr(record, "timestamp", None))),
    )


def _text_of(record: Record, name: str) -> str | None:
    value = getattr(record, name, None) if isinstance(record, ChainedRecord) else None
    return value if isinstance(value, str) else None


def _located(path: Path, first: int) -> Iterator[Located]:
    for line in read_lines(path):
        if line.number >= first:
            yield locate(path, line.data, line.number, line.offset, line.ended)


def _extent(path: Path) -> tuple[int, int]:
    """Lines and bytes; an unfinished last line counts."""
    lines = size = 0
    last = b""
    for block in read_blocks(path):
        lines += block.count(b"\n")
        size += len(block)
        last = block[-1:] or last
    return lines + (last not in (b"", b"\n")), size
