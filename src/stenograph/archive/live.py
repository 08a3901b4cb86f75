"""Whether a file that is about to be changed is in use.

Two signs: a process has the file open for writing (known on Linux only), or its end looks unfinished and it changed a moment ago.
A client that waits for a prompt shows neither: then the file's state shows that it changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from stenograph.errors import BusyError, DiskError
from stenograph.family import LINES_SUFFIX
from stenograph.inputs import Status
from stenograph.sessions import files_being_written, glance, status


def looks_live(path: Path, *, now: float, active_seconds: float) -> bool:
    if path.suffix != LINES_SUFFIX:
        return False
    try:
        return status(glance(path), now=now, active_seconds=active_seconds) is Status.RUNNING
    except DiskError:  # unreadable: only the clock is left
        try:
            return now - path.stat().st_mtime < active_seconds
        except OSError:
            return False


def refuse_open(paths: Iterable[Path]) -> None:
    """Raises BusyError where another process has one of the files open for writing."""
    candidates = [path for path in paths if path.suffix == LINES_SUFFIX]
    written = files_being_written() if candidates else set()
    for path in candidates if written else ():
        try:
            found = os.stat(path)  # noqa: PTH116
        except OSError:
            continue
        if (found.st_dev, found.st_ino) in written:
            raise live(path)


def live(path: Path) -> BusyError:
    return BusyError(
        f"{path} is in use; nothing was written",
        why="a running session may still write to it",
        hint=f"close it there, or edit a copy: steno clone {path.stem}",
        path=path,
    )
