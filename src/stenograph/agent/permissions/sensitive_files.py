"""Files with consequences: those that make other programs run something, and `/proc` files that show the endpoint's keys."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
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


#: Folders with all their content, and files: a `.git` file may lead to a repository anywhere.
_FOLDERS = frozenset({".git", ".claude", ".vscode", ".idea", ".husky", ".githooks", ".hg", ".jj"})
_FILES = frozenset({
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin",
    ".zlogout", ".gitconfig", ".gitmodules", ".mcp.json", ".ripgreprc", ".envrc", ".pre-commit-config.yaml",
})  # fmt: skip


def sensitive_names(parts: Iterable[str]) -> frozenset[str]:
    """In lower case: some file systems ignore case."""
    names = [part.lower() for part in parts]
    return frozenset(name for name in names if name in _FOLDERS) | _FILES.intersection(names[-1:])
