"""Which files belong to a session, by where they are: sessions in several homes may have the same id, as copies of a home do.

Within a home, what is left of a session where it was before belongs to it, but not a copy that still exists in another project.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from stenograph.archive.journal import Entry
from stenograph.archive.kept import KeptSession
from stenograph.disk import projects_folder
from stenograph.errors import UsageError, in_quotes
from stenograph.family import LINES_SUFFIX, history_folder, is_session_id


class SessionPlace(msgspec.Struct, frozen=True):
    session_id: str
    #: The session's file; None: only the archive has something of it.
    path: Path | None
    #: The home, without links; outside of any home the directory that holds the session.
    roots: frozenset[str]

    def has(self, file: Path) -> bool:
        """Whether a file that bears the session's id is, or was, one of this session."""
        if _root_of(file, self.session_id) not in self.roots:
            return False
        if self.path is None:
            return True
        own = _own_file(file, self.session_id)
        if own is not None and os.path.realpath(own.parent) == os.path.realpath(self.path.parent):
            return True
        # A name that is no UUID may be given in several projects.
        return is_session_id(self.session_id) and (own is None or not os.path.lexists(own))

    def has_edit(self, entry: Entry) -> bool:
        places = _places_of(entry)
        # File history is shared by all copies in a home.
        telling = [path for path in places if _own_file(path, self.session_id) is not None] or places
        return entry.session_id == self.session_id and (not places or any(self.has(path) for path in telling))

    def has_kept(self, session: KeptSession) -> bool:
        return session.name == self.session_id and self.has(session.path)


def place_of_file(path: Path, session_id: str) -> SessionPlace:
    """Of a session that is still where clients look for it."""
    roots = {_root_of(path, session_id)}
    # An edit through a link is known by the file that it wrote.
    target = Path(os.path.realpath(path))
    if path.is_symlink() and _home_of(target, session_id) is None:
        roots.add(_root_of(target, session_id))
    return SessionPlace(session_id, path, frozenset(roots))


def place_in_archive(
    session_id: str, entries: Iterable[Entry], kept: Iterable[KeptSession], homes: Sequence[Path]
) -> SessionPlace:
    """Of a session that only the archive has: in one of these homes, or else in the only home that it was in.

    Raises UsageError where it was in several.
    """
    paths = [path for entry in entries if entry.session_id == session_id for path in _places_of(entry)]
    paths += [session.path for session in kept if session.name == session_id]
    roots = {_root_of(path, session_id) for path in paths}
    roots = roots & {os.path.realpath(projects_folder(home).parent) for home in homes} or roots
    if len(roots) > 1:
        raise UsageError(
            f"the archive has session {in_quotes(session_id)} from {len(roots)} homes",
            why=", ".join(sorted(roots)),
            hint="choose one with --home",
        )
    return SessionPlace(session_id, None, frozenset(roots))


def _places_of(entry: Entry) -> list[Path]:
    return [*(file.path for file in entry.files), *entry.folders_made, *entry.folders_removed]


def _root_of(path: Path, session_id: str) -> str:
    root = _home_of(path, session_id)
    if root is None:
        root = next((folder.parent for folder in path.parents if folder.name == session_id), path.parent)
    return os.path.realpath(root)


def _home_of(path: Path, session_id: str) -> Path | None:
    for folder in (path, *path.parents):
        home = folder.parent.parent
        if folder.parent.name == "projects" or folder == history_folder(home, session_id):
            return home
    return None


def _own_file(file: Path, session_id: str) -> Path | None:
    """The session's own file, as far as the place of another of its files tells."""
    if file.name == session_id + LINES_SUFFIX:
        return file
    above = next((folder for folder in (file, *file.parents) if folder.name == session_id), None)
    if above is None or above == history_folder(above.parent.parent, session_id):
        return None
    return above.with_name(session_id + LINES_SUFFIX)
