"""The state of a file, and what the writer says when it is another than expected."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from stenograph.errors import BusyError, UnreadableError, UnwritableError


class FileState(msgspec.Struct, frozen=True):
    """Enough to tell whether a file was changed or replaced since."""

    size: int
    mtime_ns: int
    inode: int


def mode_of(path: Path) -> int:
    """The permissions of a file. Raises UnreadableError."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)  # noqa: PTH116
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {error.strerror}", path=path) from error


def state_of(path: Path) -> FileState:
    """The state of a file now. Raises UnreadableError."""
    try:
        return state_in(os.stat(path))  # noqa: PTH116 - one syscall, no Path method in between
    except OSError as error:
        raise UnreadableError(f"cannot read {path}: {error.strerror}", path=path) from error


def check_unchanged(path: Path, expect: FileState | None, now: os.stat_result) -> None:
    if expect is not None and state_in(now) != expect:
        raise changed(path)


def state_in(status: os.stat_result) -> FileState:
    return FileState(status.st_size, status.st_mtime_ns, status.st_ino)


def changed(path: Path) -> BusyError:
    return BusyError(f"{path} changed after it was read; nothing was written", hint="run the command again", path=path)


def unwritable(path: Path, error: OSError) -> UnwritableError:
    return UnwritableError(f"cannot write to {path}: {error.strerror}", path=path)
