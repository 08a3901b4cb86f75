"""The branch a folder is on, read from git's own files: running git costs more than a whole turn."""

from __future__ import annotations

from pathlib import Path

_HEADS = "ref: refs/heads/"


def branch_of(folder: Path) -> str:
    """The branch, `HEAD` when detached, empty outside a repository."""
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        try:
            if git.is_file():  # a worktree, or a submodule
                git = parent / git.read_text(encoding="utf-8", errors="replace").removeprefix("gitdir:").strip()
            head = (git / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        return head.removeprefix(_HEADS) if head.startswith(_HEADS) else "HEAD"
    return ""
