"""A session -> all the files and folders that go when it is removed.

In: the session's file. Out: a plan; nothing is changed here. That is the family as `disk` finds it, with what lies in its folder
of file history. What clients keep elsewhere by session, such as lists of tasks, stays.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from stenograph.disk import state_of
from stenograph.disk.places import whole_path
from stenograph.errors import UnreadableError
from stenograph.sessions.load import family_of

# These are read and removed like any other; the rest of what a family's findings tell could not be kept.
_HARMLESS = frozenset({"name-not-utf8"})


class Removal(msgspec.Struct, frozen=True):
    session_id: str
    #: With their sizes, the session's own file first.
    files: dict[Path, int]
    folders: tuple[Path, ...]

    @property
    def size(self) -> int:
        return sum(self.files.values())


def plan_removal(path: Path) -> Removal:
    """What goes when the session of a file is removed. Raises UnreadableError where a part of it could not be kept."""
    path = whole_path(path)
    family = family_of(path)
    for finding in family.findings:
        if finding.code not in _HARMLESS:
            where = finding.path or path
            told = f"{where} can't be kept ({finding.code}), so the session is not removed; mend or delete that by hand first"
            raise UnreadableError(told, path=where)
    files = [path]
    for agent in family.agents:
        files += [agent.path] if agent.meta is None else [agent.path, agent.meta]
    files += [*family.tool_results, *family.others]
    folders: list[Path] = []
    for root in (family.folder, family.file_history):
        if root is not None:
            below, inside = _walk(root)
            folders += below
            files += inside
    sizes = {file: state_of(file).size for file in dict.fromkeys(files)}
    return Removal(family.session_id, sizes, tuple(folders))


def _walk(root: Path) -> tuple[list[Path], list[Path]]:
    def failed(error: OSError) -> None:
        where = Path(error.filename or root)
        raise UnreadableError(f"{where} can't be read: {error.strerror}", path=where) from error

    folders: list[Path] = []
    files: list[Path] = []
    for folder, _, names in os.walk(root, onerror=failed):
        folders.append(Path(folder))
        files += sorted(Path(folder) / name for name in names)
    return folders, files
