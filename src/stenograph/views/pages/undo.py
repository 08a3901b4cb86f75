"""Edits that were done, undone or stopped midway, and their originals."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stenograph.archive import Archive, Entry, JournaledFile, Recovery, Undone, removed_title
from stenograph.errors import StenographError
from stenograph.redact import Mask, Masker, as_is, mask
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import BeforeAfterPage, CommandLine, Document, FindingPage, Page, finding_pages


class UndoneFilePage(Page, frozen=True):
    """A file that an undo changed."""

    path: str
    action: str
    """`restored`: it has its old bytes; `returned`: it is there again; `deleted`: the edit had created it."""
    size: int
    """Of the file now."""


class RecoveryPage(Page, frozen=True):
    """What became of an edit that was stopped midway."""

    entry: int
    session_id: str
    state: str
    """`done`, `rolled back`, `left` (its files were changed since) or `begun` (it cannot be completed or rolled back now)."""
    problem: str | None
    """Why it cannot be completed or rolled back now."""


class UndoPage(Document, frozen=True, tag="undo/1"):
    """What an undo did, or would do."""

    entry: int | None
    """The number of the undo; null for a plan, and where only interrupted edits were completed or rolled back."""
    undoes: int | None
    """The number of the edit that is undone."""
    session_id: str | None
    files: tuple[UndoneFilePage, ...]
    recovered: tuple[RecoveryPage, ...]
    undo: str | None
    """The command that reverts the undo."""
    summary: str | None
    """The edit in a few words; only for a plan."""
    apply: str | None
    """The command that does it; only for a plan."""


class EntryFilePage(Page, frozen=True):
    """A file that an edit changed."""

    path: str
    before: str | None
    """The SHA-256 of its bytes; null if there was no file."""
    after: str | None
    size: BeforeAfterPage


class EntryPage(Page, frozen=True):
    """An edit."""

    entry: int
    time: datetime
    session_id: str
    summary: str
    """The edit in a few words."""
    title: str | None
    """The session's title in lists, or the one that it had when `steno rm` removed it; null if there is none."""
    reason: str | None
    command: Any
    """The edit as data."""
    state: str
    """`done`, `begun` (running or interrupted), `rolled back`, `left` (its files were changed before it could be rolled back), or
    `kept` (only originals were kept)."""
    undoes: int | None
    """The number of the edit that it undoes."""
    undone_by: int | None
    changed: bool
    """Its files have changed since, and not by a later edit, so it cannot be undone in place."""
    home: str | None
    """Null if its files are not in a home."""
    files: tuple[EntryFilePage, ...]


class EditsPage(Document, frozen=True, tag="edits/1"):
    """Edits, oldest first."""

    archive: str
    """The directory that keeps the originals."""
    entries: tuple[EntryPage, ...]
    findings: tuple[FindingPage, ...]
    """Lines of the journal that can't be read."""


class OriginalsPage(Document, frozen=True, tag="originals/1"):
    """Originals of an edit, written elsewhere."""

    entry: int
    files: tuple[str, ...]


def undo_page(undone: Undone, again: CommandLine) -> UndoPage:
    entry = undone.entry
    return UndoPage(
        entry=entry.number if entry else None,
        # Where nothing was left to take back, the edit's own entry comes back.
        undoes=None if entry is None else entry.number if entry.undoes is None else entry.undoes,
        session_id=entry.session_id if entry else None,
        files=tuple(UndoneFilePage(str(file.path), _action(file), file.after_size) for file in (entry.files if entry else ())),
        recovered=tuple(_recovery(each) for each in undone.recovered),
        undo=again("undo", "--entry", str(entry.number)) if entry else None,
        summary=None,
        apply=None,
    )


def undo_plan_page(entry: Entry, again: CommandLine) -> UndoPage:
    """What an undo of this edit would do."""
    return UndoPage(
        entry=None,
        undoes=entry.number,
        session_id=entry.session_id,
        files=tuple(UndoneFilePage(str(file.path), _planned_action(file), file.before_size) for file in entry.files),
        recovered=(),
        undo=None,
        summary=_summary(entry),
        apply=again("undo", "--entry", str(entry.number), "--apply"),
    )


def edits_page(archive: Archive, entries: Sequence[Entry], mask: Mask = as_is) -> EditsPage:
    """With titles, masked. Raises UnreadableError."""
    changed = archive.changed_since() if any(entry.is_standing for entry in entries) else set()
    title_of = functools.cache(_title)
    removed = {entry.session_id: title for entry in archive.entries() if (title := removed_title(entry))}
    pages = tuple(
        _entry(entry, title_of(_session_file(entry)) or removed.get(entry.session_id), entry.number in changed)
        for entry in entries
    )
    return mask_page(EditsPage(str(archive.folder), pages, finding_pages(archive.findings())), mask)


def _session_file(entry: Entry) -> Path | None:
    """The session's own file, where it is there."""
    own = [file.path for file in entry.files if file.path.stem == entry.session_id]
    return own[0] if own and os.path.isfile(own[0]) else None  # noqa: PTH113 - never raises


def _title(path: Path | None) -> str | None:
    from stenograph.sessions import describe, session_at

    if path is None:
        return None
    try:
        return describe(session_at(path), written=set()).title
    except StenographError:
        return None


def originals_page(entry: int, places: Sequence[Path]) -> OriginalsPage:
    return OriginalsPage(entry, tuple(map(str, places)))


def _entry(entry: Entry, title: str | None, changed: bool) -> EntryPage:
    return EntryPage(
        entry=entry.number,
        time=entry.time.astimezone(UTC),
        session_id=entry.session_id,
        summary=_summary(entry),
        title=title,
        reason=mask(entry.reason)[0] or None,
        command=Masker().mask_json(entry.command),
        state=entry.state.value,
        undoes=entry.undoes,
        undone_by=entry.undone_by,
        changed=changed,
        home=None if entry.home is None else str(entry.home),
        files=tuple(
            EntryFilePage(str(file.path), file.before, file.after, BeforeAfterPage(file.before_size, file.after_size))
            for file in entry.files
        ),
    )


def _summary(entry: Entry) -> str:
    """What an edit was, in a word or two: never the edit itself, which may quote a transcript."""
    command = entry.command if isinstance(entry.command, dict) else {}
    name = command.get("command")
    words = [name if isinstance(name, str) else "edit"]
    edits = command.get("edits")
    named = [edit.get("edit") for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    if kinds := [kind for kind in named if isinstance(kind, str)]:
        words.append(", ".join(kinds))
    if entry.undoes is not None:
        words.append(f"of {entry.undoes}")
    if entry.reason:
        words.append(f"({mask(entry.reason)[0]})")
    return " ".join(words)


def _action(file: JournaledFile) -> str:
    return "deleted" if file.after is None else "restored" if file.before is not None else "returned"


def _planned_action(file: JournaledFile) -> str:
    return "deleted" if file.before is None else "restored" if file.after is not None else "returned"


def _recovery(recovery: Recovery) -> RecoveryPage:
    return RecoveryPage(recovery.entry.number, recovery.entry.session_id, recovery.state.value, recovery.problem or None)
