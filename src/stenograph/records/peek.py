"""Named partial reads: what a line says of itself without being decoded, for files of any size.

Reads as tolerantly as a client does. A look for bytes is only a hint that saves decoding, unless it says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from stenograph.disk import read_lines, read_whole
from stenograph.records.envelope import Record
from stenograph.records.json_text import REFUSALS, parse_or_unset, parse_strictly, to_text
from stenograph.records.line import decode
from stenograph.records.shape import mentions

_FILE_HISTORY = b'"file-history-'
_BOUNDARY = b'"compact_boundary"'
#: How a result of Edit begins in every release. The texts that follow name no other file.
_EDITED = re.compile(rb'\{"filePath":("(?:[^"\\]|\\.)*"),"oldString":')
_NAME_AT_MOST = 5000


class _Named(msgspec.Struct):
    sessionId: Any = None


class _ShownLines(msgspec.Struct):
    filePath: Any = None
    numLines: Any = None
    totalLines: Any = None


class _ShownFile(_ShownLines):
    type: Any = None
    file: _ShownLines | None = None


#: A member that a line does not have.
ABSENT = msgspec.Raw()


class LineMembers(msgspec.Struct):
    """A line's own members, as far as ids are in or beside them; large ones are left as bytes."""

    type: Any = None
    uuid: Any = None
    parentUuid: Any = None
    sessionId: Any = None
    message: msgspec.Raw = ABSENT
    toolUseResult: msgspec.Raw = ABSENT
    content: msgspec.Raw = ABSENT
    rendered: msgspec.Raw = ABSENT
    shape: msgspec.Raw = ABSENT
    result: msgspec.Raw = ABSENT
    forkedFrom: msgspec.Raw = ABSENT
    attachment: msgspec.Raw = ABSENT
    #: Of a progress line: a subagent's record among other things.
    data: msgspec.Raw = ABSENT


_read_shown = msgspec.json.Decoder(_ShownFile).decode
_read_name = msgspec.json.Decoder(_Named).decode
_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_read_members = msgspec.json.Decoder(LineMembers).decode


def members(line: bytes) -> tuple[object, bool]:
    """The value of a line, and whether it is strict JSON; UNSET for what clients can't read either."""
    try:
        return parse_strictly(line), True
    except REFUSALS:
        return parse_or_unset(line), False


def peek_members(line: bytes) -> LineMembers | None:
    """A line's own members; None for what is not strict JSON."""
    try:
        return _read_members(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # invalid UTF-8 is a ValueError
        return None


def is_object(line: bytes) -> bool:
    """Whether a line is a whole JSON object, strictly."""
    try:
        _read_object(line)
    except REFUSALS:
        return False
    return True


def may_name_cwd(line: bytes | memoryview) -> bool:
    return b'"cwd"' in bytes(line)


def may_be_custom_title(line: bytes) -> bool:
    return b'"customTitle"' in line


def may_be_summary(line: bytes) -> bool:
    return b'"summary"' in line and b'"leafUuid"' in line


def may_be_agent_progress(record: Record) -> bool:
    return mentions(record, b'"agent_progress"')


def may_use_the_web(record: Record) -> bool:
    return mentions(record, b'"Web')


def is_aborted(record: Record) -> bool:
    """Whether an answer was cut off in the middle of its stream."""
    return mentions(record, b"isAbortedMidStream") and record.extra.get("isAbortedMidStream") is True


def shown_file(result: msgspec.Raw | msgspec.UnsetType) -> tuple[str, bool | None] | None:
    """The file that a structured tool result shows or has changed, and whether the whole of it is known; None for an edit.

    Without decoding the texts in it, of which a long session has hundreds of megabytes.
    """
    if result is msgspec.UNSET:
        return None
    start = bytes(memoryview(result)[:_NAME_AT_MOST])
    if not start.startswith(b"{"):
        return None
    if edited := _EDITED.match(start):
        return parse_strictly(edited[1]), None
    try:
        shown = _read_shown(result)
    except REFUSALS:
        return None
    if shown.file is not None:
        name, is_whole = shown.file.filePath, shown.file.numLines == shown.file.totalLines
    else:
        # A result of Write says whether it created or updated the file; of Edit, nothing.
        name, is_whole = shown.filePath, True if shown.type in ("create", "update") else None
    return (name, is_whole) if isinstance(name, str) else None


def file_history_of(path: Path) -> list[dict[str, Any]]:
    """The members of the lines about the history of files, in order; no other line is decoded."""
    return file_history_in(read_whole(path))


def file_history_in(data: bytes) -> list[dict[str, Any]]:
    """The same for the bytes of a file."""
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
    """The session that the last line to name one names, within `size` bytes."""
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


class _BlockOutline(msgspec.Struct):
    type: Any = UNSET
    id: Any = UNSET
    tool_use_id: Any = UNSET


class _MessageOutline(msgspec.Struct):
    id: Any = UNSET
    content: list[_BlockOutline] | str | None = None


class _Outline(msgspec.Struct):
    """What the graph and the choice of a leaf look at."""

    type: Any = UNSET
    subtype: Any = UNSET
    uuid: Any = UNSET
    parentUuid: Any = UNSET
    logicalParentUuid: Any = UNSET
    isSidechain: Any = UNSET
    timestamp: Any = UNSET
    sessionId: Any = UNSET
    leafUuid: Any = UNSET
    explicit: Any = UNSET
    message: _MessageOutline | UnsetType = UNSET


_read_outline = msgspec.json.Decoder(_Outline).decode
_write_outline = msgspec.json.Encoder().encode


def outline(line: bytes) -> Record | None:
    """The record of a line without its content; None for what is not a JSON object."""
    try:
        found = _read_outline(line)
    except REFUSALS:
        return _outline_slowly(line)
    if found.message is not UNSET and found.message.content.__class__ is str:
        found.message.content = ""
    return decode(_write_outline(found))


def _outline_slowly(line: bytes) -> Record | None:
    members = parse_or_unset(line)
    if not isinstance(members, dict):
        return None
    kept = {name: members[name] for name in _Outline.__struct_fields__ if name in members and name != "message"}
    message = members.get("message")
    if isinstance(message, dict):
        content = message.get("content")
        blocks = (
            [_block_outline(block) for block in content]
            if isinstance(content, list)
            else ""
            if isinstance(content, str)
            else None
        )
        kept["message"] = {**({"id": message["id"]} if "id" in message else {}), "content": blocks}
    return decode(to_text(kept))


def _block_outline(block: Any) -> Any:
    return {name: block[name] for name in _BlockOutline.__struct_fields__ if name in block} if isinstance(block, dict) else {}
