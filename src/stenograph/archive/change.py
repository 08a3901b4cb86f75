"""One edit of several files: prepared beside them, then done as a whole.

Until all is prepared no file is touched, so a full disk, missing rights and a running session are noticed first. Then the journal
says `begun`, and each file gets its new bytes at once, in the order of the calls. What fails midway is rolled back.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from stenograph.archive.journal import Entry, JournaledFile, Ledger, Leftovers, OpenJournal, State
from stenograph.archive.live import live, looks_live, refuse_open
from stenograph.archive.recovery import remove_folders, settle, tidy
from stenograph.archive.store import Store, digest_of
from stenograph.disk import (
    FileState,
    StagedFile,
    absolute_path,
    changed,
    delete_file,
    make_folder,
    missing_folders,
    mode_of,
    put_in_place,
    resolved_file,
    stage_file,
    state_of,
    unfinished_beside,
)
from stenograph.errors import BusyError, DiskError, UnwritableError, UsageError
from stenograph.family import LINES_SUFFIX, folder_link_above


class Recovery(msgspec.Struct, frozen=True):
    """What became of an edit that a process before this one was stopped in."""

    entry: Entry
    #: BEGUN: it could not be settled now; `problem` says why.
    state: State
    problem: str = ""


class EditHead(msgspec.Struct, frozen=True):
    """What an edit is, before its files are known."""

    number: int
    time: float
    session_id: str
    command: Any
    reason: str
    undoes: int | None


class _Prepared(msgspec.Struct, frozen=True):
    change: JournaledFile
    state: FileState | None
    staged: StagedFile | None


class Change:
    """An edit in the making. `entry` is set once it is done; None where nothing would have changed."""

    def __init__(
        self,
        head: EditHead,
        journal: OpenJournal,
        ledger: Ledger,
        store: Store,
        recovered: list[Recovery],
        active_seconds: float,
    ) -> None:
        self.entry: Entry | None = None
        self.recovered = recovered
        self.ledger = ledger
        self._head = head
        self._journal = journal
        self._store = store
        self._active_seconds = active_seconds
        self._prepared: dict[Path, _Prepared] = {}
        self._leavings = Leftovers()
        self._folders_removed: list[Path] = []
        self._begun = False

    def write(
        self,
        path: Path,
        data: bytes | Iterable[bytes],
        *,
        expect: FileState | None = None,
        modified_ns: int | None = None,
        mode: int | None = None,
        is_new: bool = False,
    ) -> None:
        """Give a file new bytes; a new one is made, with its directories. Bytes that it has already change nothing.

        `expect` is the state in which it was read, `mode` the permissions of a new file; `is_new`: there must be none. Raises
        BusyError where it is in another state or in use, DiskError, UsageError.
        """
        if is_new and os.path.lexists(path):
            raise changed(path)
        path = self._own(path)
        state, before = self._keep(path, expect)
        folders = missing_folders(path.parent)
        unfinished = unfinished_beside(path)
        self._leave([unfinished], folders)
        make_folder(path.parent)
        staged = stage_file(path, data, unfinished=unfinished, modified_ns=modified_ns, mode=mode)
        if staged.sha256 == before:
            tidy(Leftovers([unfinished]))
            return
        change = JournaledFile(
            path,
            before,
            staged.sha256,
            state.size if state else 0,
            staged.size,
            state.mtime_ns if state else None,
            unfinished,
            mode_of(path) if state else None,
        )
        self._prepared[path] = _Prepared(change, state, staged)

    def delete(self, path: Path, *, expect: FileState | None = None) -> None:
        """Delete a file, which must exist. Raises as `write` does."""
        if path.is_symlink():
            raise UsageError(f"{path} is a link; steno does not delete links")
        path = self._own(path)
        state, before = self._keep(path, expect)
        if state is None:
            raise UsageError(f"file not found: {path}")
        if not os.access(path.parent, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise UnwritableError(f"cannot write to {path.parent}: permission denied", path=path)
        unfinished = unfinished_beside(path)
        self._leave([unfinished], [])
        self._prepared[path] = _Prepared(
            JournaledFile(path, before, None, state.size, 0, state.mtime_ns, unfinished, mode_of(path)), state, None
        )

    def make_folder(self, folder: Path) -> None:
        """Make a directory, even one that stays empty. Raises UnwritableError."""
        folder = absolute_path(folder)
        self._leave([], missing_folders(folder))
        make_folder(folder)

    def remove_folder(self, folder: Path) -> None:
        """Remove a directory at the very end, if it is empty then."""
        self._folders_removed.append(absolute_path(folder))

    def commit(self) -> None:
        """Raises DiskError; then nothing was changed, or everything was rolled back."""
        prepared = list(self._prepared.values())
        if not (prepared or self._folders_removed or self._leavings.folders):
            self.give_up()
            return
        refuse_open(file.change.path for file in prepared if file.state is not None)
        for file in prepared:
            _refuse_changed(file.change.path, file.state)
        home, project = _place_of(self._prepared)
        entry = Entry(
            number=self._head.number,
            time=datetime.fromtimestamp(self._head.time, UTC),
            session_id=self._head.session_id,
            command=self._head.command,
            reason=self._head.reason,
            files=tuple(file.change for file in prepared),
            home=home,
            project=project,
            folders_made=tuple(self._leavings.folders),
            folders_removed=tuple(self._folders_removed),
            undoes=self._head.undoes,
        )
        self._journal.note(State.BEGUN, entry.number, detail=entry)
        self._begun = True
        try:
            for file in prepared:
                if file.staged is not None:
                    put_in_place(file.staged, expect=file.state)
                elif file.state is not None:
                    delete_file(file.change.path, expect=file.state, unfinished=file.change.unfinished)
            remove_folders(self._folders_removed)
        except BaseException:
            with contextlib.suppress(DiskError):  # retried when the archive is next opened
                self._journal.note(settle(entry, self._store, self._journal), entry.number)
            raise
        # All files are new: without the note, recovery notices that.
        with contextlib.suppress(DiskError):
            self._journal.note(State.DONE, entry.number)
        self.entry = msgspec.structs.replace(entry, state=State.DONE)

    def give_up(self) -> None:
        """Remove what was prepared. Never raises a DiskError: what is left is removed when the archive is next opened."""
        if self._begun or not (self._leavings.unfinished or self._leavings.folders):
            return
        with contextlib.suppress(DiskError):
            tidy(self._leavings)
            self._journal.note(State.ROLLED_BACK, self._head.number)

    def _own(self, path: Path) -> Path:
        if (link := folder_link_above(path)) is not None:
            why = "what is behind it does not belong to the session"
            raise BusyError(f"{link} is a link to a directory; nothing was written", why=why, path=link)
        path = resolved_file(path)
        if path in self._prepared:
            raise UsageError(f"one edit cannot change {path} twice")
        for stopped in self.recovered:
            if stopped.state is State.BEGUN and any(change.path == path for change in stopped.entry.files):
                what = f"edit {stopped.entry.number} of {path} was interrupted and cannot be completed or rolled back"
                raise BusyError(what, why=stopped.problem, path=path)
        return path

    def _keep(self, path: Path, expect: FileState | None) -> tuple[FileState | None, str | None]:
        if not os.path.lexists(path):
            if expect is not None:
                raise changed(path)
            return None, None
        state = state_of(path)
        if expect is not None and state != expect:
            raise changed(path)
        sha256, _ = digest_of(path)
        # What this program wrote a moment ago, nobody else is at work on.
        if looks_live(path, now=self._head.time, active_seconds=self._active_seconds) and self.ledger.made_by_us(path) != sha256:
            raise live(path)
        self._store.keep_file(path, sha256)
        _refuse_changed(path, state)
        return state, sha256

    def _leave(self, unfinished: list[Path], folders: list[Path]) -> None:
        self._journal.note(State.STAGING, self._head.number, unfinished=tuple(unfinished), folders=tuple(folders))
        self._leavings.unfinished += unfinished
        self._leavings.folders += folders


def _refuse_changed(path: Path, state: FileState | None) -> None:
    if (state_of(path) if os.path.lexists(path) else None) != state:
        raise changed(path)


def _place_of(paths: Iterable[Path]) -> tuple[Path | None, Path | None]:
    for path in paths:
        if path.suffix == LINES_SUFFIX:
            for folder in path.parents:
                if folder.parent.name == "projects":
                    return folder.parent.parent, folder
    return None, None
