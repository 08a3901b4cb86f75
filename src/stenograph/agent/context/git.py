"""The branch a directory is on, read from git's own files: running git costs more than a whole turn. And what git says once."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from stenograph.agent.tools.base import ToolFailed
from stenograph.agent.tools.texts import read_bytes

#: Bytes of a file; both hold one line.
_MOST = 4096
#: As git allows it; anything else would be somebody's words in the system prompt.
_BRANCH = re.compile(r"ref: refs/heads/([^\s~^:?*\[\\\x00-\x20\x7f]{1,255})")


def branch_of(folder: Path) -> str:
    """The branch, `HEAD` when detached, empty outside a repository."""
    for parent in _upward(str(folder)):
        try:
            mode = os.stat(f"{parent}/.git").st_mode  # noqa: PTH116 - asked before every request
        except (OSError, ValueError):  # ValueError: a name that can't be one
            continue
        git = Path(parent, ".git")
        try:
            if stat.S_ISREG(mode):  # a worktree, or a submodule
                git = git.parent / _first_line(git).removeprefix("gitdir:").strip()
            head = _first_line(git / "HEAD")
        except (OSError, ValueError, ToolFailed):  # a pipe, a device, a name that can't be one
            continue
        found = _BRANCH.fullmatch(head)
        return found[1] if found else "HEAD"
    return ""


def _upward(folder: str) -> Iterator[str]:
    """A directory, and those above it."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:  # noqa: PTH120
        yield (folder := above)


def _first_line(path: Path) -> str:
    return read_bytes(path, _MOST).decode("utf-8", "replace").partition("\n")[0].strip()


#: Seconds for git, and lines that are shown.
_PATIENCE = 1.0
_MOST_CHANGES = 20
_MOST_COMMITS = "5"


class GitState:
    """The state of a repository when the session began. git runs at once; its answer is awaited when it is needed."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._text: str | None = None
        self._processes: list[subprocess.Popen[bytes]] = []
        if not branch_of(folder):
            return
        from stenograph.agent.permissions.git_reading import is_plain_repository

        # Nobody has said yet that this repository is trusted.
        if not is_plain_repository(folder, environ.get("PATH", os.defpath)):
            return
        for command in (
            ["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all"],
            ["log", "--no-show-signature", "--format=%h %s", "-n", _MOST_COMMITS],
        ):
            self._start(command, folder, environ)

    @property
    def text(self) -> str:
        """Always the same; empty outside a repository."""
        if self._text is None:
            answers = [_answer(process) for process in self._processes]
            self._text = _told(answers[0], answers[1]) if len(answers) == 2 else ""
        return self._text

    def _start(self, command: list[str], folder: Path, environ: Mapping[str, str]) -> None:
        from stenograph.agent.tools.shell import command_environment

        # Neither a hook nor a pager, and no lock that another git would wait for.
        call = ["git", "--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"]
        try:
            process = subprocess.Popen(
                [*call, *command],
                cwd=folder,
                env=command_environment(environ, {"GIT_TERMINAL_PROMPT": "0"}, untrusted=[folder]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:  # there is no git
            return
        self._processes.append(process)


def _answer(process: subprocess.Popen[bytes]) -> str | None:
    """None if git failed, or took too long."""
    with process:
        try:
            data, _ = process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            return None
    return data.decode("utf-8", "replace").rstrip() if process.returncode == 0 else None


def _told(status: str | None, log: str | None) -> str:
    told = []
    if status is not None:
        lines = status.splitlines()
        more = [f"… and {len(lines) - _MOST_CHANGES} more"] if len(lines) > _MOST_CHANGES else []
        told.append("\n".join(["Uncommitted changes:", *lines[:_MOST_CHANGES], *more]) if lines else "No uncommitted changes.")
    if log:
        told.append("\n".join(["Recent commits:", *(line[:200] for line in log.splitlines())]))
    return "\n".join(["# Git, when the session began", *told]) if told else ""
