"""Keep this process's environment and memory from other processes of the same user: they hold the endpoint's keys."""

from __future__ import annotations

import sys

_SET_DUMPABLE = 4


def hide_process() -> bool:
    """Make `/proc/PID/environ`, `mem` and the like unreadable for all but root; returns whether that worked. Only Linux has it.

    Programs that this one starts are as readable as ever: they get no keys.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # a few milliseconds

    try:
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False
