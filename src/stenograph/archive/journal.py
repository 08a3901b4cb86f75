"""The journal of edits: JSON lines that are only ever added to.

A line that can't be read is a finding: a torn last one was never acknowledged, so what it announced did not happen.

    staging      files are about to be written beside their places
    begun        the entry as a whole; from here on its files change
    done         they are all new
    rolled back  they are all old again, or never changed
    left         they were changed in between by someone else, so they were left alone
    kept         originals were kept, nothing was changed
    purged       the edit was forgotten with its session; only its number is left
"""

from __future__ import annotations

import contextlib
import enum
import json
from collections.abc import Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from stenograph.disk import Finding, LockedFile, append_lines, lock, read_lines, redacted_repr
from stenograph.errors import UnwritableError


class State(enum.Enum):
    STAGING = "staging"
    BEGUN = "begun"
    DONE = "done"
    ROLLED_BACK = "rolled back"
    LEFT = "left"
    KEPT = "kept"
    PURGED = "purged"


_ENDS = frozenset({State.DONE, State.ROLLED_BACK, State.LEFT, State.KEPT})


class JournaledFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file of an entry. A sha256 of None: there was, or is, no file."""

    path: Path
    before: str | None
    after: str | None
    before_size: int = 0
    after_size: int = 0
    #: Nanoseconds since 1970, before the edit; an undo restores it.
    modified_ns: int | None = None
    #: Its name beside its place, before it was put there or deleted.
    unfinished: Path | None = None
    #: Permissions before the edit, which an undo gives to a file that it brings back.
    mode: int | None = None


@redacted_repr
class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One edit. Its repr is empty: a command may quote a transcript."""

    number: int
    time: datetime
    session_id: str
    command: Any = None
    reason: str = ""
    files: tuple[JournaledFile, ...] = ()
    #: None: outside of any home's project directory.
    home: Path | None = None
    project: Path | None = None
    folders_made: tuple[Path, ...] = ()
    folders_removed: tuple[Path, ...] = ()
    undoes: int | None = None
    #: Not written, but derived from later lines.
    state: State = State.BEGUN
    undone_by: int | None = None

    @property
    def is_in_force(self) -> bool:
        """Whether its files are as it made them, as far as the journal knows."""
        return self.state is State.DONE and self.undone_by is None

    @property
    def is_standing(self) -> bool:
        """Whether it is in force and no undo: what `steno undo` without a number takes back, the newest first."""
        return self.is_in_force and self.undoes is None


class Leftovers(msgspec.Struct):
    """What a killed process may have left behind."""

    unfinished: list[Path] = []
    folders: list[Path] = []


class Ledger(msgspec.Struct, frozen=True):
    entries: dict[int, Entry]
    #: Of entries without an end.
    leavings: dict[int, Leftovers]
    findings: list[Finding]
    next_number: int

    def made_by_us(self, path: Path) -> str | None:
        """The sha256 that the last completed edit or undo left a file with; None where there is none."""
        for entry in reversed(self.entries.values()):
            if entry.state is State.DONE:
                for change in entry.files:
                    if change.path == path:
                        return change.after
        return None


class _Line(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    step: State
    entry: int
    detail: Entry | None = None
    unfinished: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()


class OpenJournal:
    """The journal under its lock."""

    def __init__(self, locked: LockedFile) -> None:
        self._locked = locked

    def note(self, step: State, number: int, **members: Any) -> None:
        """Add a line. Waits for the disk except for `staging`, which only says what to tidy up. Raises UnwritableError."""
        # msgspec refuses names that are not UTF-8.
        values = msgspec.to_builtins(_Line(step, number, **members), enc_hook=_text_of_path)
        self._locked.append_lines([json.dumps(values).encode()], sync=step is not State.STAGING)

    def read(self) -> Ledger:
        return read_journal(self._locked.path)

    def forget(self, numbers: Collection[int], session_id: str) -> None:
        """Rewrite the journal without some entries, and without damaged lines that mention a session. Raises DiskError."""
        state = self._locked.state()
        name = json.dumps(session_id)[1:-1].encode()
        kept = []
        for line in read_lines(self._locked.path):
            read = _read_line(line.data)
            if name not in line.data if read is None else read.entry not in numbers:
                kept.append(line.data)
        purged = [json.dumps({"step": State.PURGED.value, "entry": number}).encode() for number in sorted(numbers)]
        self._locked.replace(b"".join(line + b"\n" for line in (*kept, *purged)), expect=state)


@contextlib.contextmanager
def open_journal(path: Path, *, timeout: float) -> Iterator[OpenJournal]:
    """Hold the journal, which is made where it is missing. Raises BusyError, UnwritableError."""
    if not path.exists():
        try:
            append_lines(path, [], create=True)
        except UnwritableError:
            if not path.exists():  # else another process was faster
                raise
    with lock(path, timeout=timeout) as locked:
        yield OpenJournal(locked)


def read_journal(path: Path) -> Ledger:
    """Raises UnreadableError."""
    entries: dict[int, Entry] = {}
    leavings: dict[int, Leftovers] = {}
    findings: list[Finding] = []
    next_number = 1
    for line in read_lines(path) if path.exists() else ():
        if (read := _read_line(line.data)) is None:
            if line.data.strip():
                findings.append(Finding("damaged-journal-line", path, line.number, detail="left by an interrupted write"))
            continue
        next_number = max(next_number, read.entry + 1)
        if read.step is State.STAGING:
            left = leavings.setdefault(read.entry, Leftovers())
            left.unfinished += read.unfinished
            left.folders += read.folders
        if read.detail is not None:
            entries[read.entry] = read.detail
        if read.entry in entries and read.step is not State.STAGING:
            entries[read.entry] = msgspec.structs.replace(entries[read.entry], state=read.step)
        if read.step in _ENDS:
            leavings.pop(read.entry, None)
            _mark_undone(entries, read.entry)
    return Ledger(entries, leavings, findings, next_number)


def _read_line(data: bytes) -> _Line | None:
    try:
        return msgspec.convert(json.loads(data), _Line, dec_hook=_path_of_text)
    except (ValueError, RecursionError):  # msgspec's ValidationError is a ValueError
        return None


def _mark_undone(entries: dict[int, Entry], number: int) -> None:
    """An undo of an undo puts the first edit in force again, and so on."""
    entry = entries.get(number)
    if entry is None or entry.state is not State.DONE:
        return
    is_undone = True
    while entry is not None and entry.undoes is not None and entry.undoes in entries:
        undone = entries[entry.undoes]
        entries[undone.number] = msgspec.structs.replace(undone, undone_by=entry.number if is_undone else None)
        entry, is_undone = undone, not is_undone


def _text_of_path(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _path_of_text(kind: type, value: Any) -> Path:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise NotImplementedError(kind.__name__)
