"""Paths that a user names -> the session files they stand for.

A folder stands for every `*.jsonl` file below it, a home for those below its `projects` folder, a session's file for its
sub-agents' files too. A file named twice, also through a link, counts once. What can't be looked into is a finding.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from stenograph.disk import Finding, projects_folder
from stenograph.errors import SessionNotFoundError
from stenograph.family import LINES_SUFFIX, is_agent_file, read_family

#: What a workflow writes about its agents, beside their files (2.1.325): no transcript.
_JOURNAL = "journal.jsonl"


def gather(paths: Sequence[Path]) -> tuple[list[Path], list[Finding]]:
    """The files, each once whatever links lead to it, as it was named first. Raises SessionNotFoundError where there is none."""
    files: dict[str | tuple[int, int], Path] = {}
    failures: list[Finding] = []

    def add(file: Path) -> None:
        files.setdefault(_identity(file), file)

    for path in paths:
        if os.path.isdir(path):  # noqa: PTH112 - never raises
            has_projects = os.path.isdir(path / "projects")  # noqa: PTH112
            below = sorted(_below(projects_folder(path) if has_projects else path, failures))
            if not below and not failures:
                raise SessionNotFoundError(f"no session files in {path}", reference=str(path))
            for file in below:
                add(file)
        elif os.path.lexists(path):
            add(path)
            if not is_agent_file(path):
                for agent in read_family(path).agents:
                    add(agent.path)
        else:
            raise SessionNotFoundError(f"there is no file {path}", reference=str(path))
    return list(files.values()), failures


def _below(folder: Path, failures: list[Finding]) -> Iterable[Path]:
    def failed(error: OSError) -> None:
        where = Path(error.filename or folder)
        failures.append(Finding("unreadable", where, detail=f"{where} can't be read: {error.strerror}"))

    for parent, _, names in os.walk(folder, onerror=failed):
        yield from (Path(parent) / name for name in names if name.endswith(LINES_SUFFIX) and name != _JOURNAL)


def _identity(path: Path) -> str | tuple[int, int]:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return str(path)  # a failure, where it is counted
    return found.st_dev, found.st_ino


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
