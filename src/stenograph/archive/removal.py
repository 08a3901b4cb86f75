"""A session -> all files and directories that go when it is removed: the family, with its file history.

File history is found by the session's id alone, so it stays where another project has a copy of the session.

What clients keep elsewhere by session, such as lists of tasks, stays.
"""

from __future__ import annotations

import contextlib
import glob
from datetime import datetime
from pathlib import Path

import msgspec

from stenograph.disk import absolute_path, state_of
from stenograph.errors import DiskError, UnreadableError
from stenograph.family import list_contents, read_family
from stenograph.sessions import ListTitles, glance, last_record, titled_by

# Every other finding is about something that could not be kept.
_HARMLESS = frozenset({"name-not-utf8"})


class Removal(msgspec.Struct, frozen=True):
    session_id: str
    #: With their sizes, the session's own file first.
    files: dict[Path, int]
    folders: tuple[Path, ...]
    title: str | None = None
    last_record: datetime | None = None
    #: Other sessions whose titles are summaries in its file.
    titled: tuple[Path, ...] = ()

    @property
    def size(self) -> int:
        return sum(self.files.values())


def plan_removal(path: Path, titles: ListTitles | None = None) -> Removal:
    """Raises UnreadableError where part of it could not be kept."""
    path = absolute_path(path)
    family = read_family(path)
    history = None if _has_copy(path) else family.file_history
    contents = [list_contents(root) for root in (family.folder, history) if root is not None]
    for finding in (*family.findings, *(finding for inside in contents for finding in inside.findings)):
        if finding.code not in _HARMLESS:
            where = finding.path or path
            raise UnreadableError(
                f"cannot archive {where} ({finding.code}); nothing was removed", hint="fix or delete it first", path=where
            )
    files = [path]
    for agent in family.agents:
        files += [agent.path] if agent.meta is None else [agent.path, agent.meta]
    files += [file for inside in contents for file in inside.files]
    sizes = {file: state_of(file).size for file in dict.fromkeys(files)}
    plan = Removal(family.session_id, sizes, tuple(folder for inside in contents for folder in inside.folders))
    with contextlib.suppress(DiskError):  # a damaged file can be removed too
        seen = glance(path)
        named = (titles or ListTitles()).of(seen)
        plan = msgspec.structs.replace(plan, title=named, last_record=last_record(seen), titled=tuple(titled_by(path)))
    return plan


def _has_copy(path: Path) -> bool:
    projects = path.parent.parent
    try:
        return any(copy.parent != path.parent for copy in projects.glob(f"*/{glob.escape(path.name)}"))
    except OSError as error:
        raise UnreadableError(f"cannot read {projects}: {error.strerror}; nothing was removed", path=projects) from error
