"""An edit that was stopped midway -> all of its files old, or all of them new.

Old is preferred, because the edit was never reported as done; new where all are new already, or where a client continued a new
file meanwhile. Files that were changed otherwise are never touched: the entry is then left, with its originals in the store. May
itself be stopped, and run again.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from stenograph.archive.journal import Entry, JournaledFile, Leftovers, OpenJournal, State
from stenograph.archive.store import Store, digest_of
from stenograph.disk import (
    FileState,
    StagedFile,
    delete_file,
    discard,
    make_folder,
    put_in_place,
    remove_empty_folder,
    stage_file,
    state_of,
    unfinished_beside,
)
from stenograph.errors import DiskError


class _Seen(msgspec.Struct, frozen=True):
    change: JournaledFile
    state: FileState | None
    is_old: bool
    is_new: bool
    #: A client appended to the old or new bytes.
    old_grown: bool
    new_grown: bool
    can_become_new: bool

    @property
    def has_new(self) -> bool:
        return self.is_new or self.new_grown

    @property
    def may_be_old(self) -> bool:
        return self.is_old or self.is_new or (self.old_grown and not self.new_grown)

    @property
    def may_be_new(self) -> bool:
        return self.has_new or (self.is_old and self.can_become_new)


def settle(entry: Entry, store: Store, journal: OpenJournal, leavings: Leftovers | None = None) -> State:
    """Bring the files of an entry to one side. Raises DiskError where that is impossible now; it can be retried."""
    seen = [_look(change) for change in entry.files]
    if all(file.has_new for file in seen):
        outcome = State.DONE
    elif all(file.may_be_old for file in seen):
        for folder in entry.folders_removed:
            make_folder(folder)
        for file in reversed(seen):
            if file.is_new and not file.is_old:
                _make_old(file, entry.number, store, journal)
        outcome = State.ROLLED_BACK
    elif all(file.may_be_new for file in seen):
        for file in seen:
            if not file.has_new:
                _make_new(file)
        outcome = State.DONE
    else:
        outcome = State.LEFT
    # Directories last: unfinished files may lie in them.
    emptied = {State.DONE: entry.folders_removed, State.ROLLED_BACK: entry.folders_made}.get(outcome, ())
    unfinished = [change.unfinished for change in entry.files if change.unfinished is not None]
    tidy(Leftovers([*unfinished, *(leavings.unfinished if leavings else ())], list(emptied)))
    return outcome


def tidy(leavings: Leftovers) -> None:
    """Remove unfinished files, and directories that were made for them and are empty. Raises DiskError."""
    for unfinished in leavings.unfinished:
        discard(unfinished)
    remove_folders(leavings.folders)


def remove_folders(folders: Iterable[Path]) -> None:
    """Remove those of the directories that are empty, the deepest first."""
    for folder in sorted(set(folders), key=lambda folder: len(folder.parts), reverse=True):
        remove_empty_folder(folder)


def _look(change: JournaledFile) -> _Seen:
    state = state_of(change.path) if os.path.lexists(change.path) else None
    return _Seen(
        change,
        state,
        is_old=holds(change.path, state, change.before, change.before_size),
        is_new=holds(change.path, state, change.after, change.after_size),
        old_grown=_begins_with(change.path, state, change.before, change.before_size),
        new_grown=_begins_with(change.path, state, change.after, change.after_size),
        can_become_new=change.after is None or _is_staged(change),
    )


def holds(path: Path, state: FileState | None, sha256: str | None, size: int) -> bool:
    """Whether a file in some state has these bytes; None for a state or a sha256: no file."""
    if state is None or sha256 is None:
        return state is None and sha256 is None
    return state.size == size and digest_of(path)[0] == sha256


def _begins_with(path: Path, state: FileState | None, sha256: str | None, size: int) -> bool:
    return state is not None and sha256 is not None and state.size > size and digest_of(path, stop=size) == (sha256, size)


def _is_staged(change: JournaledFile) -> bool:
    if change.unfinished is None or not os.path.lexists(change.unfinished):
        return False
    with contextlib.suppress(DiskError):
        return digest_of(change.unfinished) == (change.after, change.after_size)
    return False


def _make_old(file: _Seen, number: int, store: Store, journal: OpenJournal) -> None:
    change = file.change
    if change.before is None:
        if file.state is not None:
            delete_file(change.path, expect=file.state, unfinished=change.unfinished)
        return
    make_folder(change.path.parent)
    # Not the entry's own unfinished name: that may still hold the new bytes, needed until all is settled.
    unfinished = unfinished_beside(change.path)
    journal.note(State.STAGING, number, unfinished=(unfinished,))
    staged = stage_file(
        change.path, store.stream(change.before), unfinished=unfinished, modified_ns=change.modified_ns, mode=change.mode
    )
    put_in_place(staged, expect=file.state)


def _make_new(file: _Seen) -> None:
    change = file.change
    if change.after is None:
        if file.state is not None:
            delete_file(change.path, expect=file.state, unfinished=change.unfinished)
    elif change.unfinished is not None:
        put_in_place(StagedFile(change.path, change.unfinished, change.after_size, change.after), expect=file.state)
