"""Linux's `/proc` files that show processes' environment and memory: the endpoint's keys are in ours.

No tool reads them, whatever rules and mode allow.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from stenograph.agent.tools.base import ToolFailed, failed_use

_PROCESS_FILE = re.compile(r"/proc/(?:\d+/(?:task/\d+/)?(?:environ|mem|cmdline|auxv)|kcore|kmem)")


def is_process_file(path: Path) -> bool:
    try:
        real = os.path.realpath(path)
    except ValueError:  # not a file name
        return False
    return _PROCESS_FILE.fullmatch(real) is not None


def refuse_process_file(path: Path) -> None:
    """Raises ToolFailed."""
    if is_process_file(path):
        raise unreadable(path)


def refuse_process_folder(path: Path) -> None:
    """For searches: much in there is endless. Raises ToolFailed."""
    real = os.path.realpath(path)
    if (real == "/proc" or real.startswith("/proc/")) and os.path.isdir(real):  # noqa: PTH112 - Path.is_dir raises without rights
        raise unreadable(path)


def unreadable(path: Path) -> ToolFailed:
    return failed_use(f"Cannot read '{path}': this path names a device or process file that this tool does not read.")
