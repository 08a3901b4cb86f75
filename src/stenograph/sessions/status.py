"""Whether a session is running, and if not how it ended.

`running`      a live process holds the file open for writing; or the last line is torn in a file that changed less than
               `active_seconds` ago; or the last turn is open, and the last record is no older than that either: copies, labels
               and edits change a file without going on with it
`done`         the model had the last word, or nothing was asked
`interrupted`  the client's note of an interruption comes last, or a prompt, tool use or tool result that was never answered, or
               a line whose writer was stopped in the middle of it
`failed`       an error of the API comes last

A turn is open while the model owes an answer. Clients do not hold their file open between two writes, so
mostly it is the clock that tells: a turn left open, or a line left torn, for longer was left by a client that was stopped.
Who writes to a file is known on Linux only (`/proc`); elsewhere that sign is missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from stenograph.config import ACTIVE_SECONDS
from stenograph.family import LINES_SUFFIX
from stenograph.inputs import Status
from stenograph.records import moment
from stenograph.sessions.glance import Glance

_PROC = "/proc"
_ACCESS_MODE = 0o3


def status(glance: Glance, *, now: float, written: bool = False, active_seconds: float = ACTIVE_SECONDS) -> Status:
    """The status at the time `now` (seconds since 1970); `written`: a live process has the file open for writing."""
    if written:
        return Status.RUNNING
    if glance.torn or glance.ending is None:
        return Status.RUNNING if changed_lately(glance, now, active_seconds) else Status.INTERRUPTED
    return glance.ending


def changed_lately(glance: Glance, now: float, active_seconds: float = ACTIVE_SECONDS) -> bool:
    """Whether a client wrote to the file less than `active_seconds` ago."""
    said = None if glance.torn else moment(glance.last_timestamp)
    return now - glance.mtime_ns / 1e9 < active_seconds and (said is None or now - said.timestamp() < active_seconds)


def is_live(glance: Glance, active_seconds: float = ACTIVE_SECONDS) -> bool:
    """Whether a client is at work on a session's file: it wrote to it lately, or holds it open for writing."""
    return changed_lately(glance, time.time(), active_seconds) or is_being_written(glance.path)


def is_being_written(path: Path) -> bool:
    """Whether a live process other than this one holds the file open for writing; False where nobody can tell."""
    identity = identity_of(path)
    return identity is not None and identity in files_being_written()


def identity_of(path: Path) -> tuple[int, int] | None:
    """Device and inode of a file, the same under all its names; None if there is no such file."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def files_being_written() -> set[tuple[int, int]]:
    """Device and inode of each `.jsonl` file that another process holds open for writing; empty where nobody can tell.

    One pass over the open files of all processes that we may look at.
    """
    return set(_open_for_writing()) if os.path.isdir(_PROC) else set()  # noqa: PTH112 - never raises


def _open_for_writing() -> Iterator[tuple[int, int]]:
    own = str(os.getpid())
    for process in _names(_PROC):
        if not process.isdecimal() or process == own:
            continue
        folder = f"{_PROC}/{process}/fd"
        for descriptor in _names(folder):
            try:
                # Processes end and files close while we look.
                if os.readlink(f"{folder}/{descriptor}").endswith(LINES_SUFFIX) and _writes(process, descriptor):  # noqa: PTH115
                    found = os.stat(f"{folder}/{descriptor}")  # noqa: PTH116
                    yield found.st_dev, found.st_ino
            except OSError:
                continue


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - thousands of names, and no use for a Path each
    except OSError:  # gone, or another user's
        return []


def _writes(process: str, descriptor: str) -> bool:
    with open(f"{_PROC}/{process}/fdinfo/{descriptor}", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(b"flags:"):
                return int(line.split()[1], 8) & _ACCESS_MODE != os.O_RDONLY
    return False
