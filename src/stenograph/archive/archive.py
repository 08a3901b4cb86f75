"""The archive: originals kept, edits journaled, done entirely or not at all, and undone byte for byte.

One process at a time edits; what a process before it was stopped in is settled first.

    <directory>/journal.jsonl   one entry for each edit, and the steps it went through
    <directory>/objects/        originals, compressed, each once
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stenograph.archive.change import Change, EditHead, Recovery
from stenograph.archive.journal import Entry, JournaledFile, Ledger, OpenJournal, State, open_journal, read_journal
from stenograph.archive.kept import KeptStore, open_kept
from stenograph.archive.live import live, looks_live, refuse_open
from stenograph.archive.place import SessionPlace, place_in_archive, place_of_file
from stenograph.archive.purge import (
    ArchivePurge,
    delete_session_files,
    forget_undone_clone,
    made_by_clone,
    plan_archive_purge,
    purge_archive,
    purge_kept,
    refuse_outdated,
)
from stenograph.archive.recovery import holds, settle, tidy
from stenograph.archive.removal import plan_removal
from stenograph.archive.store import Store, digest_of
from stenograph.config import archive_folder
from stenograph.disk import (
    FileState,
    Finding,
    absolute_path,
    make_folder,
    mode_of,
    put_in_place,
    resolved_file,
    stage_file,
    state_of,
    unfinished_beside,
)
from stenograph.errors import BusyError, DiskError, StenographError, UnwritableError, UsageError
from stenograph.redact import mask
from stenograph.sessions import ACTIVE_SECONDS, describe, session_at

#: Another edit is prepared under the lock: a large session takes seconds.
LOCK_TIMEOUT = 30.0
_OTHERS = "steno undo --list"


def default_archive_folder(environ: Mapping[str, str]) -> Path:
    """`$XDG_DATA_HOME/stenograph/archive`, or the system's default for it. Raises UsageError if the user has no home."""
    folder = archive_folder(environ)
    if folder is None:
        raise UsageError("cannot find a directory for the archive; set HOME or XDG_DATA_HOME")
    return folder


class Archive:
    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time, timeout: float = LOCK_TIMEOUT) -> None:
        self.folder = folder
        self._store = Store(folder / "objects")
        self._journal = folder / "journal.jsonl"
        self._clock = clock
        self._timeout = timeout

    def entries(self, session_id: str | None = None) -> list[Entry]:
        """All edits, or those of a session, oldest first. Raises UnreadableError."""
        entries = self._read().entries.values()
        return [entry for entry in entries if session_id is None or entry.session_id == session_id]

    def entry(self, number: int) -> Entry:
        """Raises UsageError where there is none of this number."""
        return _entry_in(self._read(), number)

    def last_edit(self, session_id: str | None = None) -> Entry | None:
        """The newest edit that can be undone: of one that was undone, neither it nor its undo."""
        edits = [entry for entry in self.entries(session_id) if entry.is_standing]
        return edits[-1] if edits else None

    def findings(self) -> list[Finding]:
        """Lines of the journal that can't be read."""
        return self._read().findings

    def originals(self) -> tuple[int, int]:
        """How many originals of edited and removed files there are, and the bytes that they take."""
        return self._store.totals()

    def original(self, sha256: str) -> bytes:
        """Raises UnreadableError."""
        return b"".join(self._store.stream(sha256))

    def why_busy(self, path: Path, *, active_seconds: float = ACTIVE_SECONDS) -> BusyError | None:
        """Why an edit of a file would be refused now; None where it would not."""
        path = resolved_file(path)
        if looks_live(path, now=self._clock(), active_seconds=active_seconds):
            made_by_us = self._read().made_by_us(path)
            if made_by_us is None or made_by_us != digest_of(path)[0]:
                return live(path)
        try:
            refuse_open([path])
        except BusyError as error:
            return error
        return None

    def keep(
        self, files: Mapping[Path, bytes | None] | Sequence[Path], *, session_id: str, command: Any = None, reason: str = ""
    ) -> Entry:
        """Keep originals of files, or bytes that the caller has (None: no such file), and change nothing.

        Raises BusyError where a file changes meanwhile, DiskError.
        """
        with self._writing() as (journal, ledger, _):
            changes = [
                self._keep_given(path, files[path]) if isinstance(files, Mapping) else self._keep_file(path) for path in files
            ]
            moment = datetime.fromtimestamp(self._clock(), UTC)
            entry = Entry(ledger.next_number, moment, session_id, command, reason, tuple(changes), state=State.KEPT)
            journal.note(State.KEPT, entry.number, detail=entry)
            return entry

    @contextlib.contextmanager
    def transaction(
        self,
        session_id: str,
        *,
        command: Any,
        reason: str = "",
        undoes: int | None = None,
        active_seconds: float = ACTIVE_SECONDS,
    ) -> Iterator[Change]:
        """What is asked of the change inside the `with` block is done as a whole at its end.

        An exception leaves every file as it was. Holds the archive's lock: plan before. Raises DiskError, UsageError, and
        BusyError where a file is in use or was changed.
        """
        with self._writing() as (journal, ledger, recovered):
            head = EditHead(ledger.next_number, self._clock(), session_id, command, reason, undoes)
            change = Change(head, journal, ledger, self._store, recovered, active_seconds)
            try:
                yield change
                change.commit()
            except BaseException:
                change.give_up()
                raise

    def is_unsettled(self) -> bool:
        """Whether processes before this one were stopped midway."""
        if not self._journal.exists():
            return False
        ledger = self._read()
        return bool(ledger.leavings) or any(entry.state is State.BEGUN for entry in ledger.entries.values())

    def recover(self) -> list[Recovery]:
        """Settle what processes before this one were stopped in; every edit does so first. Raises DiskError."""
        if not self.is_unsettled():
            return []
        with self._writing() as (_, _, recovered):
            return recovered

    def refuse_undo(self, number: int) -> None:
        """Raises as `undo` would, and writes nothing."""
        ledger = self._read()
        entry = _entry_in(ledger, number)
        _refuse_undone(entry)
        for file in entry.files:
            _unchanged(file, entry, ledger)

    def changed_since(self) -> set[int]:
        """The numbers of standing edits that cannot be undone in place: something else than a later edit changed their files."""
        ledger = self._read()
        return {
            entry.number
            for entry in ledger.entries.values()
            if entry.is_standing and not all(_is_left(file, entry, ledger) for file in entry.files)
        }

    def undo(self, number: int, *, active_seconds: float = ACTIVE_SECONDS, findings: list[Finding] | None = None) -> Entry:
        """Undo an edit: its files get the bytes that they had, those it made go, those it deleted return.

        Returns a new entry, which can be undone too; the edit's own where nothing was left to undo. `findings` gets what failed
        when the edit was undone already. Raises BusyError where a file was changed since, DiskError, UsageError.
        """
        entry = self.entry(number)
        command = {"command": "undo", "entry": number}
        with self.transaction(entry.session_id, command=command, undoes=number, active_seconds=active_seconds) as change:
            _refuse_undone(_entry_in(change.ledger, number))
            # All before the first is copied.
            states = [_unchanged(file, entry, change.ledger) for file in entry.files]
            for folder in entry.folders_removed:
                change.make_folder(folder)
            for file, state in zip(entry.files, states, strict=True):
                if file.before is not None:
                    data = self._store.stream(file.before)
                    change.write(file.path, data, expect=state, modified_ns=file.modified_ns, mode=file.mode)
                elif state is not None:
                    change.delete(file.path, expect=state)
            for folder in entry.folders_made:
                change.remove_folder(folder)
        if made_by_clone(entry):
            try:
                with self._kept() as kept:
                    if kept is not None:
                        forget_undone_clone(kept, entry)
            except DiskError as error:
                if findings is not None:
                    detail = f"the archive still has copies of the clone: {error.what}"
                    findings.append(Finding("clone-still-kept", error.path, detail=detail))
        return change.entry or entry

    def restore(self, number: int, to: Path) -> list[Path]:
        """Write the originals of an entry below another directory, where none may exist yet. Raises UsageError, DiskError."""
        kept = [file for file in self.entry(number).files if file.before is not None]
        if not kept:
            raise UsageError(f"edit {number} has no originals; it only created files")
        above = Path(os.path.commonpath([file.path.parent for file in kept]))
        to = absolute_path(to)
        places = [to / file.path.relative_to(above) for file in kept]
        for place in places:
            if os.path.lexists(place):
                raise UnwritableError(f"{place} already exists; use another directory", path=place)
        for file, place in zip(kept, places, strict=True):
            make_folder(place.parent)
            staged = stage_file(
                place,
                self._store.stream(file.before or ""),
                unfinished=unfinished_beside(place),
                modified_ns=file.modified_ns,
                mode=file.mode,
            )
            put_in_place(staged, expect=None)
        return places

    def remove(self, path: Path, *, reason: str = "", active_seconds: float = ACTIVE_SECONDS) -> Entry:
        """Remove a session with all its family; an undo brings it back. Raises as `transaction` does."""
        plan = plan_removal(path)
        title = None
        with contextlib.suppress(StenographError):  # what cannot be read can be removed
            title = describe(session_at(path), written=set()).title
        # Lists of edits name it by its title when it is gone.
        command = {"command": "rm", "title": mask(title)[0]} if title else {"command": "rm"}
        with self.transaction(plan.session_id, command=command, reason=reason, active_seconds=active_seconds) as change:
            for file in plan.files:
                change.delete(file)
            for folder in plan.folders:
                change.remove_folder(folder)
        if change.entry is None:
            raise AssertionError("a session has a file")
        return change.entry

    def plan_purge(self, session_id: str, path: Path | None, homes: Sequence[Path] = ()) -> ArchivePurge:
        """What would be deleted for good; `path` is the session's file where it is still in its home.

        Of a removed session: what it left in these homes, or else in the only one that it was in. Raises UnreadableError,
        UsageError.
        """
        if path is not None:
            return self._plan_purge(place_of_file(path, session_id))
        with self._kept() as kept:
            sessions = kept.sessions(name=session_id) if kept is not None else []
        return self._plan_purge(place_in_archive(session_id, self.entries(), sessions, homes))

    def _plan_purge(self, place: SessionPlace) -> ArchivePurge:
        with self._kept() as kept:
            sessions = kept.sessions() if kept is not None else []
        return plan_archive_purge(self.entries(), self._store, sessions, place)

    def last_copy(self, plan: ArchivePurge) -> bytes | None:
        """The newest bytes that the archive has of a session's own file. Raises UnreadableError."""
        with self._kept() as kept:
            for session in kept.sessions() if kept is not None else ():
                for file in kept.files(session.id) if kept is not None and plan.place.has_kept(session) else ():
                    if file.path == session.path and kept is not None:
                        return b"".join(kept.stream(file))
        return self.original(plan.newest) if plan.newest is not None else None

    def purge(self, plan: ArchivePurge, *, active_seconds: float = ACTIVE_SECONDS) -> None:
        """Delete a session for good. Raises BusyError where it is in use or was changed since, DiskError; it can be repeated."""
        with contextlib.ExitStack() as held:
            journal = held.enter_context(self._writing())[0] if self._journal.exists() else None
            # Of originals that another session needs by now, none goes.
            now = self._plan_purge(plan.place)
            refuse_outdated(plan, now, self.folder)
            if now.removal is not None:
                for file in now.removal.files:
                    if (busy := self.why_busy(file, active_seconds=active_seconds)) is not None:
                        raise busy
                delete_session_files(now.removal)
            if now.kept_files:
                with self._kept() as kept:
                    if kept is not None:
                        purge_kept(kept, plan.place)
            if now.edits and journal is not None:
                purge_archive(now, self._store, journal)

    @contextlib.contextmanager
    def _kept(self) -> Iterator[KeptStore | None]:
        kept = open_kept(self.folder)
        try:
            yield kept
        finally:
            if kept is not None:
                kept.close()

    def _read(self) -> Ledger:
        return read_journal(self._journal)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[tuple[OpenJournal, Ledger, list[Recovery]]]:
        make_folder(self.folder)
        with open_journal(self._journal, timeout=self._timeout) as journal:
            ledger = journal.read()
            recovered = self._settle_all(journal, ledger)
            yield journal, journal.read() if recovered or ledger.leavings else ledger, recovered

    def _settle_all(self, journal: OpenJournal, ledger: Ledger) -> list[Recovery]:
        recovered: list[Recovery] = []
        stopped = [entry for entry in ledger.entries.values() if entry.state is State.BEGUN]
        self._store.clean()
        for entry in reversed(stopped):
            try:
                outcome = settle(entry, self._store, journal, ledger.leavings.get(entry.number))
                journal.note(outcome, entry.number)
            except DiskError as error:  # one directory that can't be written must not stop edits elsewhere
                recovered.append(Recovery(entry, State.BEGUN, str(error)))
            else:
                recovered.append(Recovery(entry, outcome))
        for number, leavings in ledger.leavings.items():
            if number not in ledger.entries:
                with contextlib.suppress(DiskError):  # then the next one tries again
                    tidy(leavings)
                    journal.note(State.ROLLED_BACK, number)
        return recovered

    def _keep_file(self, path: Path) -> JournaledFile:
        path = absolute_path(path)
        state = state_of(path)
        sha256, size = digest_of(path)
        self._store.keep_file(path, sha256)
        return JournaledFile(path, sha256, sha256, size, size, state.mtime_ns, mode=mode_of(path))

    def _keep_given(self, path: Path, data: bytes | None) -> JournaledFile:
        path = absolute_path(path)
        if data is None:
            return JournaledFile(path, None, None)
        sha256 = self._store.keep_bytes(data)
        return JournaledFile(path, sha256, sha256, len(data), len(data))


def _entry_in(ledger: Ledger, number: int) -> Entry:
    try:
        return ledger.entries[number]
    except KeyError:
        raise UsageError(f"no edit {number}", hint=_OTHERS) from None


def _refuse_undone(entry: Entry) -> None:
    if entry.undone_by is not None:
        raise UsageError(
            f"edit {entry.number} is already undone",
            why=f"edit {entry.undone_by} undid it",
            hint=f"steno undo --entry {entry.undone_by}",
        )
    if entry.state is State.KEPT:
        raise UsageError(f"edit {entry.number} changed nothing", hint=_originals(entry))
    if entry.state is State.ROLLED_BACK:
        raise UsageError(f"edit {entry.number} was interrupted and has already been rolled back", hint=_OTHERS)
    if entry.state is not State.DONE:
        raise BusyError(
            f"edit {entry.number} was interrupted, and its files have changed since; nothing was undone",
            hint=_originals(entry),
            path=entry.files[0].path,
        )


def _originals(entry: Entry) -> str:
    return f"get the originals: steno undo --entry {entry.number} --to DIR"


def _is_left(file: JournaledFile, entry: Entry, ledger: Ledger) -> bool:
    """Whether a file is as an edit or a later one left it. A file that cannot be read is not."""
    try:
        _unchanged(file, entry, ledger)
    except BusyError:
        return bool(_later(file, entry, ledger))
    except DiskError:
        return False
    return True


def _later(file: JournaledFile, entry: Entry, ledger: Ledger) -> list[int]:
    """Standing edits that changed the file since."""
    return [
        other.number
        for other in ledger.entries.values()
        if other.number > entry.number and other.is_standing
        if any(change.path == file.path for change in other.files)
    ]


def _unchanged(file: JournaledFile, entry: Entry, ledger: Ledger) -> FileState | None:
    """The state of a file that is still as an edit left it; None: it is missing, as it should be. Raises BusyError."""
    state = state_of(file.path) if os.path.lexists(file.path) else None
    if holds(file.path, state, file.after, file.after_size):
        return state
    # Never an undo: then someone else changed the file.
    if later := _later(file, entry, ledger):
        raise BusyError(
            f"edit {later[-1]} changed {file.path} since; nothing was undone",
            hint=f"undo that one first: steno undo --entry {later[-1]}",
            path=file.path,
        )
    raise BusyError(
        f"{file.path} has changed since edit {entry.number}; nothing was undone", hint=_originals(entry), path=file.path
    )
