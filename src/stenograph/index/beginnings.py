"""The first lines of a session file -> when the session itself began to write it, and whether it is a clone.

Of two files with the same calls, this says which one is the original. What a fork or resume copies from another session has a
`uuid` in every line and keeps its times. Lines without one (queue operations, requests, modes) are never copied: in all recorded
forks, from 1.0.128 to 2.1.325, there is none among the copied lines.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from stenograph.disk import read_line_blocks
from stenograph.index.digests import shake_256
from stenograph.records import moment

# How clients begin a line with a `uuid`, and no other line: so it is in all 54,000 lines of recordings and public sessions.
_CHAINED = b'{"parentUuid":'
_UUID = b'"uuid":"'
_UUID_LENGTH = 36
_FIRST_BLOCK = 1 << 16
# `steno clone` takes the new ids of a session from one stream of digits. Few other ids come before the one of the first message.
_STREAM = 64


class OwnBeginning(Struct):
    #: Of the first line that is nobody's copy, in milliseconds since 1970; where it has no time, of the line before it.
    #: None: no such line.
    began: int | None = None
    is_clone: bool = False


class _Head(Struct):
    uuid: str | None = None
    timestamp: str | None = None


_decode = msgspec.json.Decoder(_Head).decode


class BeginningReader:
    """Takes the blocks of a file until `is_done`."""

    def __init__(self, session: str) -> None:
        """`session`: the one that the file is named after."""
        self.found = OwnBeginning()
        #: Even if nothing tells its time.
        self.has_own_line = False
        self._session = session
        self._has_uuid = False
        #: The last line with a uuid, of the blocks before.
        self._before: bytes | bytearray = b""

    @property
    def is_done(self) -> bool:
        return self.found.began is not None and self._has_uuid

    def read(self, block: bytes | bytearray, size: int) -> None:
        """`block` has whole lines up to `size`."""
        find, starts_with = block.find, block.startswith
        start, before = 0, -1
        while start < size:
            if self._has_uuid and starts_with(_CHAINED, start):  # nearly every line
                before = start
            elif self.is_done:
                return
            else:
                line = _line_at(block, start, size)
                if uuid := _uuid(line):
                    self._note_uuid(uuid)
                    before = start
                elif self.found.began is None and (head := _head(line)) is not None:
                    self.has_own_line = True
                    last = _line_at(block, before, size) if before >= 0 else self._before
                    self.found.began = _first_time(head, _head(last))
            start = find(b"\n", start, size) + 1 or size
        if before >= 0:
            self._before = _line_at(block, before, size)

    def _note_uuid(self, uuid: str) -> None:
        if not self._has_uuid:
            self._has_uuid = True
            self.found.is_clone = _is_renewed(uuid, self._session)


def read_beginning(path: Path, session: str) -> OwnBeginning:
    """Reads no further than it has to. Raises UnreadableError."""
    reader = BeginningReader(session)
    for _, block in read_line_blocks(path, block_size=_FIRST_BLOCK):
        reader.read(block, len(block))
        if reader.is_done:
            break
    return reader.found


def _line_at(block: bytes | bytearray, start: int, size: int) -> bytes | bytearray:
    stop = block.find(b"\n", start, size)
    return block[start : stop if stop >= 0 else size]


def _uuid(line: bytes | bytearray) -> str | None:
    if line.startswith(_CHAINED) and (place := line.find(_UUID)) >= 0:  # so that a long message is not decoded
        return line[place + len(_UUID) : place + len(_UUID) + _UUID_LENGTH].decode(errors="replace")
    head = _head(line)
    return head.uuid if head else None


def _first_time(*heads: _Head | None) -> int | None:
    for head in heads:
        if head is not None and (at := moment(head.timestamp)) is not None:
            return round(at.timestamp() * 1000)
    return None


def _head(line: bytes | bytearray) -> _Head | None:
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _is_renewed(uuid: str, session: str) -> bool:
    """Whether `surgery.ids` made this id for a clone of that name; it leaves the version and the variant as they were."""
    text = uuid.lower()
    digits = text[:8] + text[9:13] + text[15:18] + text[20:23] + text[24:]
    stream = shake_256(session.encode(errors="surrogateescape")).hexdigest(16 * _STREAM)
    places = range(0, len(stream), 32)
    return any(_without_fixed(stream[place : place + 32]) == digits for place in places)


def _without_fixed(digits: str) -> str:
    """As `struct` takes them apart in `surgery.ids`: 8s 4s x 3s x 3s 12s."""
    return digits[:12] + digits[13:16] + digits[17:]
