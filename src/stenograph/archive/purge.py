"""A session deleted for good: its files, its originals in the archive, and its edits in the journal.

Originals that edits of other sessions need too are kept. Numbers of edits are never given twice.
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
from stenograph.archive.recovery import remove_folders
from stenograph.archive.removal import Removal, plan_removal
from stenograph.archive.store import Store
from stenograph.disk import delete_file, state_of
from stenograph.errors import BusyError, UsageError, in_quotes
from stenograph.family import is_session_id


class ArchivePurge(msgspec.Struct, frozen=True):
    session_id: str
    #: The session's file; None: it was removed.
    path: Path | None
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


def plan_archive_purge(
    entries: Sequence[Entry], store: Store, kept_store: KeptStore | None, session_id: str, path: Path | None
) -> ArchivePurge:
    """Raises UnreadableError where a part of the session could not be deleted, UsageError for a linked project directory."""
    if path is not None and os.path.islink(path.parent):  # noqa: PTH114 - never raises
        raise UsageError(
            f"{path.parent} is a link; nothing was deleted",
            why="what is behind it may belong to another home",
            hint=f"steno purge {shlex.quote(os.path.realpath(path))}",
        )
    own = [entry for entry in entries if _is_of(entry, session_id, path)]
    kept = {sha for entry in own for file in entry.files if (sha := file.before) is not None}
    needed = {sha for entry in entries if entry not in own for file in entry.files for sha in (file.before,)}
    cloned = {entry.session_id: _is_there(entry) for entry in entries if _was_cloned_from(entry, session_id)}
    in_archive = {entry.session_id for entry in entries for file in entry.files if file.before and store.has(file.before)}
    mains = [file for entry in own for file in entry.files if file.path.stem == session_id and file.before is not None]
    sessions = kept_of(kept_store, session_id, path) if kept_store else []
    return ArchivePurge(
        session_id,
        path,
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


def _is_of(entry: Entry, session_id: str, path: Path | None) -> bool:
    """Whether an edit is of a session. Files that are not named by a UUID may have one name in several projects."""
    if entry.session_id != session_id:
        return False
    return path is None or is_session_id(session_id) or any(file.path == path for file in entry.files)


def kept_of(kept: KeptStore, session_id: str, path: Path | None) -> list[KeptSession]:
    sessions = [session for session in kept.sessions() if session.name == session_id]
    return sessions if path is None or is_session_id(session_id) else [each for each in sessions if each.path == path]


def purge_kept(kept: KeptStore, session_id: str, path: Path | None) -> None:
    """Raises DiskError."""
    with kept.writing():
        for session in kept_of(kept, session_id, path):
            kept.forget(session.id)
    kept.compact()


def refuse_outdated(plan: ArchivePurge, now: ArchivePurge, archive: Path) -> None:
    """Raises BusyError where there are other files or edits by now than the plan shows."""
    planned, found = ((each.removal and each.removal.files, each.edits, each.kept_files) for each in (plan, now))
    if planned != found:
        what = f"session {in_quotes(plan.session_id)} changed after the plan was made; nothing was deleted"
        raise BusyError(what, hint="run the command again", path=plan.path or archive)


def made_by_clone(entry: Entry) -> bool:
    return isinstance(entry.command, dict) and entry.command.get("command") == "clone"


def _was_cloned_from(entry: Entry, session_id: str) -> bool:
    return made_by_clone(entry) and entry.command.get("session") == session_id


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
