"""Text files as tools see them: bytes to text and back in the same encoding, newlines and mode. Raises ToolFailed."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from stenograph.agent.permissions.sensitive_files import refuse_process_file, unreadable
from stenograph.agent.tools.base import ToolFailed, Workspace, failed_use

MARK = "\ufeff"
#: Bytes searched for NUL, as in 2.1.325.
_HEAD = 8192

_NOT_UTF8 = "is not valid UTF-8: it uses a legacy encoding such as Windows-1252, Shift-JIS or GBK, or it is binary"
_HAS_NUL = "has NUL bytes in its first 8 KB: binary data, UTF-16/UTF-32 without a byte-order mark, or text with embedded NULs"
_BIG_ENDIAN = "is UTF-16 big-endian (it starts FE FF), which these tools cannot write"
#: Node's words where Python's differ (2.1.325).
_WORDS = {errno.EISDIR: "illegal operation on a directory", errno.ENAMETOOLONG: "name too long"}


class TextFile(Struct, frozen=True):
    """A text, and how it was stored."""

    #: Without byte-order mark, lines ended by `\n`.
    text: str
    encoding: str = "utf-8"
    has_mark: bool = False
    newline: str = "\n"
    #: Why it can't be written back as it was, after "This file"; empty if it can.
    trouble: str = ""

    @property
    def marked(self) -> str:
        """With its byte-order mark, as in clients' records."""
        return MARK + self.text if self.has_mark else self.text

    def encode(self, text: str, *, keep_newlines: bool) -> bytes:
        """Another text in this one's encoding, and newlines with `keep_newlines`."""
        if keep_newlines and self.newline != "\n":
            text = _lines(text).replace("\n", self.newline)
        try:
            return (MARK + text if self.has_mark else text).encode(self.encoding)
        except UnicodeEncodeError:
            raise failed_use(
                "The text holds half of a surrogate pair, which no file can hold. Send the character whole."
            ) from None


def decode(data: bytes) -> TextFile:
    if data.startswith(b"\xff\xfe") and not data.startswith(b"\xff\xfe\0\0"):
        return _decoded(data[2:], "utf-16-le", has_mark=True)
    if data.startswith(b"\xfe\xff"):
        return TextFile(_lines(data.decode("utf-8", "replace")), trouble=_BIG_ENDIAN)
    has_mark = data.startswith(b"\xef\xbb\xbf")
    return _decoded(data[3:] if has_mark else data, "utf-8", has_mark=has_mark)


def _decoded(data: bytes, encoding: str, *, has_mark: bool) -> TextFile:
    trouble = _HAS_NUL if encoding == "utf-8" and b"\0" in data[:_HEAD] else ""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        trouble = trouble or _NOT_UTF8
    # The more frequent newline wins for the whole file (2.1.325).
    windows = text.count("\r\n")
    newline = "\r\n" if windows * 2 > text.count("\n") else "\n"
    return TextFile(_lines(text), encoding, has_mark, newline, trouble)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def trouble_note(file: TextFile) -> str:
    """For a reader of a file that can't be written back (2.1.325)."""
    shown = " Its undecodable bytes show above as U+FFFD." if file.trouble == _NOT_UTF8 else ""
    return (
        f"\n\n[This file {file.trouble}.{shown} Edit and Write will refuse it: change it with a shell command that keeps its"
        " encoding, or ask the user whether to convert it to UTF-8.]"
    )


def refusal(file: TextFile) -> str:
    """For a writer of such a file (2.1.325)."""
    return (
        f"File {file.trouble}. These tools write UTF-8 (or UTF-16LE behind its byte-order mark) and never convert a file's"
        " encoding on their own, so nothing was written. If the file is text, make the change with a shell command that reads"
        " and writes it in its own encoding (iconv, or PowerShell Get-Content/Set-Content -Encoding), or ask the user whether to"
        " convert it to UTF-8 first. To replace the whole file with new UTF-8 text anyway, delete it first, then Write it."
    )


def resolved(name: str, tool: str, workspace: Workspace) -> Path:
    """The path that the model named. Raises ToolFailed."""
    if "\0" in name:
        raise failed_use(f"{tool} file_path cannot contain null bytes (\\0). Remove the null byte and try again.")
    try:
        return workspace.resolve(name)
    except RuntimeError:  # `~somebody` unknown
        raise failed_use(f"There is no such user: {name.partition('/')[0]}") from None


def os_failure(error: OSError, verb: str, path: Path) -> ToolFailed:
    """The system's error in the clients' words."""
    code = error.errno or 0
    words = _WORDS.get(code) or os.strerror(code).lower()
    return ToolFailed(f"{errno.errorcode.get(code, 'EIO')}: {words}, {verb} '{path}'")


def missing(path: Path, workspace: Workspace) -> str:
    """With a similar name beside it, if any (2.1.325)."""
    words = f"File does not exist. Note: your current working directory is {workspace.cwd}."
    with contextlib.suppress(OSError):
        alike = sorted(
            name for name in [entry.name for entry in path.parent.iterdir()] if Path(name).stem == path.stem and name != path.name
        )
        if alike:
            return f"{words} Did you mean {alike[0]}?"
    return words


@contextlib.contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A regular file. Raises OSError, ToolFailed."""
    refuse_process_file(path)
    # A pipe or device must not block us.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise unreadable(path)
        with open(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def read_bytes(path: Path, most: int = -1) -> bytes:
    """Of a regular file, limited. Raises OSError, ToolFailed."""
    with opened(path) as file:
        data: bytes | None = file.read(most)
    if data is None:  # kernel files that would block
        raise unreadable(path)
    return data


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
