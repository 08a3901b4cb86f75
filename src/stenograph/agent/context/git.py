"""The branch a folder is on, read from git's own files: running git costs more than a whole turn."""

from __future__ import annotations

import re
from pathlib import Path

from stenograph.agent.tools.base import ToolFailed
from stenograph.agent.tools.texts import read_bytes

#: Bytes of a file; both hold one line.
_MOST = 4096
#: As git allows it; anything else would be somebody's words in the system prompt.
_BRANCH = re.compile(r"ref: refs/heads/([^\s~^:?*\[\\\x00-\x20\x7f]{1,255})")


def branch_of(folder: Path) -> str:
    """The branch, `HEAD` when detached, empty outside a repository."""
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        try:
            if git.is_file():  # a worktree, or a submodule
                git = parent / _first_line(git).removeprefix("gitdir:").strip()
            head = _first_line(git / "HEAD")
        except (OSError, ValueError, ToolFailed):  # a pipe, a device, a name that can't be one
            continue
        found = _BRANCH.fullmatch(head)
        return found[1] if found else "HEAD"
    return ""


def _first_line(path: Path) -> str:
    return read_bytes(path, _MOST).decode("utf-8", "replace").partition("\n")[0].strip()
