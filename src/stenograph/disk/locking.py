"""The lock of a file: held by one process at a time, and always on the file that has the name now."""

from __future__ import annotations

import os
import stat
import sys
import time
from pathlib import Path

from stenograph.disk.file_state import unwritable
from stenograph.errors import BusyError, UnwritableError

#: As clients keep sessions from other users.
PRIVATE = 0o600


def open_locked(path: Path, timeout: float, flags: int) -> int:
    deadline = time.monotonic() + timeout
    while True:
        descriptor = open_regular(path, flags)
        try:
            lock_until(descriptor, path, deadline)
            # It may have been replaced while we waited: then the lock is on the old file.
            if _is_still(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def open_regular(path: Path, flags: int) -> int:
    try:
        descriptor = os.open(path, flags, PRIVATE)
    except OSError as error:
        raise unwritable(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnwritableError(f"{path} is not a file", path=path)
    return descriptor


def lock_until(descriptor: int, path: Path, deadline: float) -> None:
    pause = 0.002
    while True:
        try:
            try_lock(descriptor)
            return
        except (BlockingIOError, PermissionError) as error:  # PermissionError is what Windows says
            if time.monotonic() >= deadline:
                raise BusyError(f"another process is writing to {path}", hint="run the command again", path=path) from error
        except OSError as error:
            raise UnwritableError(f"cannot lock {path}: {error.strerror}", path=path) from error
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int) -> None:
        # Locks are mandatory here: one byte far beyond any session keeps readers undisturbed.
        os.lseek(descriptor, 0x7FFFFFFE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except OSError:
        return False  # opening it again says why
