"""Whether a file that is about to be changed is in use.

Two signs: a process has the file open for writing (known on Linux only), or its end looks unfinished and it changed a moment ago.
A client that waits for a prompt shows neither: then the file's state shows that it changed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from stenograph.errors import BusyError, DiskError
from stenograph.family import LINES_SUFFIX
from stenograph.inputs import Status
from stenograph.sessions import files_being_written, glance, identity_of, status

_MOMENT = 0.1


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
    """Raises BusyError where another process has one of the files open for writing, and still has a moment later.

    A killed process may leave a child behind that is just starting another program: until then it has the same files open.
    """
    candidates = [path for path in paths if path.suffix == LINES_SUFFIX]
    if _open_among(candidates):
        time.sleep(_MOMENT)
        if still := _open_among(candidates):
            raise live(still[0])


def _open_among(paths: list[Path]) -> list[Path]:
    written = files_being_written() if paths else set()
    return [path for path in paths if identity_of(path) in written] if written else []


def live(path: Path) -> BusyError:
    return BusyError(
        f"{path} is in use; nothing was written",
        why="a running session may still write to it",
        hint=f"close it there, or edit a copy: steno clone {path.stem}",
        path=path,
    )
