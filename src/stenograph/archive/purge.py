"""A session deleted for good: its files, its originals in the archive, and its edits in the journal.

Originals that edits of other sessions need too are kept, and everything of a session with the same id in another home. Numbers of
edits are never given twice.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from stenograph.archive.journal import Entry, OpenJournal
from stenograph.archive.kept import KeptSession, KeptStore
from stenograph.archive.live import refuse_open
from stenograph.archive.place import SessionPlace
from stenograph.archive.recovery import remove_folders
from stenograph.archive.removal import Removal, plan_removal
from stenograph.archive.store import Store
from stenograph.disk import delete_file, state_of
from stenograph.errors import BusyError, UsageError, in_quotes


class ArchivePurge(msgspec.Struct, frozen=True):
    place: SessionPlace
    #: What of the session is still in its home; None: it was removed.
    removal: Removal | None
    #: Numbers of the session's edits.
    edits: tuple[int, ...]
    #: sha256 of originals that only these edits need -> compressed size.
    originals: dict[str, int]
    #: Originals that stay, because edits of other sessions need the same bytes.
    shared: int
    #: Sessions that were cloned from it, which have copies of what was said.
    clones: tuple[str, ...]
    #: Those of which only the archive has copies.
    archived_clones: tuple[str, ...]
    #: The newest original of the session's own file in the archive.
    newest: str | None
    #: What is kept of the session: files, and their size.
    kept_files: int = 0
    kept_size: int = 0

    @property
    def session_id(self) -> str:
        return self.place.session_id

    @property
    def path(self) -> Path | None:
        """The session's file; None: it was removed."""
        return self.place.path


def plan_archive_purge(
    entries: Sequence[Entry], store: Store, kept_sessions: Sequence[KeptSession], place: SessionPlace
) -> ArchivePurge:
    """Raises UnreadableError where a part of the session could not be deleted, UsageError for a linked project directory."""
    path, session_id = place.path, place.session_id
    if path is not None and os.path.islink(path.parent):  # noqa: PTH114 - never raises
        raise UsageError(
            f"{path.parent} is a link; nothing was deleted",
            why="what is behind it may belong to another home",
            hint=f"steno purge {shlex.quote(os.path.realpath(path))}",
        )
    own = [entry for entry in entries if place.has_edit(entry)]
    kept = {sha for entry in own for file in entry.files if (sha := file.before) is not None}
    needed = {sha for entry in entries if entry not in own for file in entry.files for sha in (file.before,)}
    cloned = {entry.session_id: _is_there(entry) for entry in entries if _was_cloned_from(entry, place)}
    in_archive = {entry.session_id for entry in entries for file in entry.files if file.before and store.has(file.before)}
    mains = [file for entry in own for file in entry.files if file.path.stem == session_id and file.before is not None]
    sessions = [session for session in kept_sessions if place.has_kept(session)]
    return ArchivePurge(
        place,
        plan_removal(path) if path is not None else None,
        tuple(entry.number for entry in own),
        {sha: store.path_of(sha).stat().st_size for sha in sorted(kept - needed) if store.has(sha)},
        len(kept & needed),
        tuple(clone for clone, is_there in cloned.items() if is_there),
        tuple(clone for clone, is_there in cloned.items() if not is_there and clone in in_archive),
        next((file.before for file in reversed(mains) if file.before and store.has(file.before)), None),
        sum(session.files for session in sessions),
        sum(session.size for session in sessions),
    )


def purge_kept(kept: KeptStore, place: SessionPlace) -> None:
    """Raises DiskError."""
    with kept.writing():
        for session in kept.sessions():
            if place.has_kept(session):
                kept.forget(session.id)
    kept.compact()


def forget_undone_clone(kept: KeptStore, clone: Entry) -> None:
    """An undone clone is not a session that a client deleted: what was kept of it goes, for the undo has the same bytes.

    Not if anything else was kept of it, such as what was said in it. Raises DiskError.
    """
    made = {_without_links(file.path): file.after for file in clone.files}
    with kept.writing():
        for session in kept.sessions(name=clone.session_id):
            if all(made.get(_without_links(file.path)) == kept.sha256_of(file) for file in kept.versions(session.id)):
                kept.forget(session.id)


def _without_links(path: Path) -> Path:
    return Path(os.path.realpath(path.parent), path.name)


def refuse_outdated(plan: ArchivePurge, now: ArchivePurge, archive: Path) -> None:
    """Raises BusyError where there are other files or edits by now than the plan shows."""
    planned, found = ((each.removal and each.removal.files, each.edits, each.kept_files) for each in (plan, now))
    if planned != found:
        what = f"session {in_quotes(plan.session_id)} changed after the plan was made; nothing was deleted"
        raise BusyError(what, hint="run the command again", path=plan.path or archive)


def made_by_clone(entry: Entry) -> bool:
    return isinstance(entry.command, dict) and entry.command.get("command") == "clone"


def _was_cloned_from(entry: Entry, place: SessionPlace) -> bool:
    if not made_by_clone(entry) or entry.command.get("session") != place.session_id:
        return False
    source = entry.command.get("from")
    return not isinstance(source, str) or place.has(Path(source))


def _is_there(clone: Entry) -> bool:
    return any(os.path.lexists(file.path) for file in clone.files if file.path.stem == clone.session_id)


def delete_session_files(removal: Removal) -> None:
    """Raises BusyError where the session is in use, UnwritableError."""
    refuse_open(removal.files)
    for file in removal.files:
        delete_file(file, expect=state_of(file))
    remove_folders(removal.folders)


def purge_archive(plan: ArchivePurge, store: Store, journal: OpenJournal) -> None:
    """Originals first: stopped in between, the journal still knows what to purge. Raises DiskError."""
    for sha256 in plan.originals:
        store.delete(sha256)
    journal.forget(plan.edits, plan.session_id)
