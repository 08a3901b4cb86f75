r"""Lines of a session file with their offsets, and quick reads of a file's two ends.

Lines are split on b"\
" only (clients write U+2028 and lone carriage returns inside lines). Every byte of the file is in some line
or is the newline after it. One line at a time, memory is bounded by a block and the longest line.
"""

from __future__ import annotations

import io
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stenograph.disk.findings import redacted_repr
from stenograph.errors import UnreadableError

BLOCK_SIZE = 1 << 20

# O_NONBLOCK: a named pipe must be refused, not waited for.
_READ_FLAGS = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)  # fmt: skip


@redacted_repr
class Line(msgspec.Struct, frozen=True, gc=False):
    number: int
    offset: int
    data: bytes
    #: False for a last line without a newline: its writer may still be at work.
    ended: bool = True


@redacted_repr
class Ends(msgspec.Struct, frozen=True, gc=False):
    """The whole lines near both ends of a file."""

    size: int
    mtime_ns: int
    head: list[bytes]
    #: Includes a torn last line.
    tail: list[bytes]
    #: `head` and `tail` are one list, of all lines.
    whole: bool
    torn: bool


def read_lines(path: Path, start: int = 0, stop: int | None = None, *, block_size: int = BLOCK_SIZE) -> Iterator[Line]:
    """The lines from byte `start`, which should begin a line and is number 1, up to byte `stop` or the end.

    Reads no further than the size at the start: a live file ends where it ended then. Raises UnreadableError.
    """
    with _opened(path) as (file, status):
        yield from _split(file, start, status.st_size if stop is None else min(stop, status.st_size), block_size)


def read_whole(path: Path) -> bytes:
    """All bytes of a file, up to its size at the start. Raises UnreadableError."""
    with _opened(path) as (file, status):
        return _read_fully(file, status.st_size)


def read_from(path: Path, start: int) -> bytes:
    """All bytes of a file behind an offset, up to its size at the start. Raises UnreadableError."""
    with _opened(path) as (file, status):
        file.seek(start)
        return _read_fully(file, max(0, status.st_size - start))


def read_slice(path: Path, start: int, stop: int) -> bytes:
    """The bytes between two offsets; fewer where the file ends before. Raises UnreadableError."""
    with _opened(path) as (file, _):
        file.seek(start)
        return file.read(stop - start)


def read_blocks(path: Path, *, stop: int | None = None, block_size: int = BLOCK_SIZE) -> Iterator[bytes]:
    """The bytes of a file up to `stop`, or up to its size at the start, a block at a time. Raises UnreadableError."""
    with _opened(path) as (file, status):
        left = status.st_size if stop is None else min(stop, status.st_size)
        while left and (block := file.read(min(block_size, left))):
            left -= len(block)
            yield block


def read_line_blocks(
    path: Path, start: int = 0, stop: int | None = None, *, block_size: int = 4 * BLOCK_SIZE
) -> Iterator[tuple[int, bytes]]:
    """Whole lines from byte `start` on, many at a time, each lot with its offset; the last line even if it has no newline.

    For whoever looks at few lines of many. Takes a few times the memory of a block or of the longest line. Raises
    UnreadableError.
    """
    for offset, size, buffer in scan_line_blocks(path, bytearray(block_size), start, stop):
        yield offset, bytes(memoryview(buffer)[:size])


def scan_line_blocks(
    path: Path, buffer: bytearray, start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, int, bytearray]]:
    """The same without copies: the offset and the length of lines that are in the yielded buffer until the next ones are read.

    That is the given buffer, as long as a block: memory that was just used is several times as fast as new. A longer line has
    a buffer of its own, as long as the line.
    """
    with _opened(path) as (file, status):
        end = status.st_size if stop is None else min(stop, status.st_size)
        room = buffer
        while start < end:
            file.seek(start)
            size = _fill(file, room, end - start)
            # A file that became shorter meanwhile ends here too.
            is_last = size < len(room) or start + size == end
            whole = size if is_last else room.rfind(b"\n", 0, size) + 1
            if whole:
                yield start, whole, room
                start += whole
                room = buffer
            elif not is_last:
                newline = _find_newline(file, start + size, end, len(buffer))
                room = bytearray((end if newline < 0 else newline + 1) - start)
            if is_last:
                return


def read_ends(path: Path, head: int, tail: int) -> Ends:
    """The whole lines within the first `head` and the last `tail` bytes; all lines where these meet. Raises UnreadableError."""
    with _opened(path) as (file, status):
        size = status.st_size
        if size <= head + tail:
            first = last = file.read(size)
        else:
            first = file.read(head)
            # One byte more, so that the piece before the first newline is never a whole line.
            file.seek(size - tail - 1)
            last = file.read(tail + 1)
    tail_lines = last.split(b"\n")
    torn = bool(tail_lines[-1])
    if not torn:
        tail_lines.pop()
    if first is last:
        return Ends(size, status.st_mtime_ns, tail_lines, tail_lines, whole=True, torn=torn)
    head_lines = first.split(b"\n")
    head_lines.pop()
    return Ends(size, status.st_mtime_ns, head_lines, tail_lines[1:], whole=False, torn=torn)


def _split(file: io.FileIO, offset: int, end: int, block_size: int) -> Iterator[Line]:
    number = 1
    while offset < end:
        # Every block begins where a line begins: reading a cut line's first part twice is cheaper than joining parts.
        file.seek(offset)
        wanted = min(block_size, end - offset)
        pieces = file.read(wanted).split(b"\n")
        rest = pieces.pop()
        if pieces:
            sizes = [len(piece) + 1 for piece in pieces]
            # map() rather than a loop: no Python bytecode runs between one line and the next.
            offsets = itertools.accumulate(sizes, initial=offset)
            yield from map(Line, itertools.count(number), offsets, pieces)
            number += len(pieces)
            read = sum(sizes)
            offset += read
        else:
            read = 0
        if read + len(rest) < wanted or offset + len(rest) >= end:
            if rest:
                yield Line(number, offset, rest, ended=False)
            return
        if not read:
            del pieces, rest
            newline = _find_newline(file, offset + wanted, end, block_size)
            line = _read_long_line(file, number, offset, newline if newline >= 0 else end, ended=newline >= 0)
            number += 1
            offset += len(line.data) + 1
            ended = line.ended
            if line.data or ended:  # nothing at all is left of a file cut off meanwhile
                yield line
            if not ended:
                return
            del line  # or it would stay in memory beside the next one


def _find_newline(file: io.FileIO, position: int, end: int, block_size: int) -> int:
    file.seek(position)
    while position < end:
        block = file.read(min(block_size, end - position))
        if not block:
            break
        if (found := block.find(b"\n")) >= 0:
            return position + found
        position += len(block)
    return -1


def _read_long_line(file: io.FileIO, number: int, offset: int, stop: int, *, ended: bool) -> Line:
    """In one allocation: joining blocks, or io's readline, would need the line's size twice."""
    file.seek(offset)
    data = _read_fully(file, stop - offset)
    # The file may have been rewritten since.
    data, newline, _ = data.partition(b"\n") if b"\n" in data else (data, b"", b"")
    return Line(number, offset, data, ended=bool(newline) or (ended and len(data) == stop - offset))


def _read_fully(file: io.FileIO, size: int) -> bytes:
    data = file.read(size)
    while len(data) < size and (more := file.read(size - len(data))):
        data += more  # one read gives at most 2 GiB
    return data


def _fill(file: io.FileIO, buffer: bytearray, size: int) -> int:
    """Read so many bytes, or as many as fit; how many there were."""
    done = 0
    with memoryview(buffer)[:size] as rest:
        while done < len(rest) and (count := file.readinto(rest[done:])):
            done += count
    return done


@contextmanager
def _opened(path: Path) -> Iterator[tuple[io.FileIO, os.stat_result]]:
    """A regular file; every OSError inside becomes an UnreadableError."""
    try:
        with io.FileIO(os.open(path, _READ_FLAGS), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableError(f"{path} is not a file", path=path)
            yield file, status
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {error.strerror}", path=path) from error
