"""Clones, removals, titles and tags: what is written, whether it was, and the way back."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from stenograph.archive import Entry, LabelChange, Removal
from stenograph.family import SessionFile
from stenograph.redact import Masker
from stenograph.surgery import ClonePlan
from stenograph.traces import Purge
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import CommandLine, Document, FileSizePage, Page


def file_sizes(sizes: Mapping[Path, int]) -> tuple[FileSizePage, ...]:
    return tuple(FileSizePage(str(path), size) for path, size in sizes.items())


class ClonedFilePage(Page, frozen=True):
    """A file in the clone."""

    kind: str
    """`session`, `agent`, `meta`, `tool-result`, `file-history` or `other`."""
    path: str
    size: int


class ClonePage(Document, frozen=True, tag="clone/1"):
    """A clone of a session."""

    id: str
    """Of the new session."""
    path: str
    source: str
    """The path of the original."""
    ends_with: str | None
    """The UUID, in the original, of the last message that was copied; null for a whole session."""
    title: str | None
    files: tuple[ClonedFilePage, ...]
    size: int
    ids: int
    """Number of distinct ids that were replaced."""
    left_out: dict[str, int]
    """How much was left out of the clone, by kind."""
    notes: tuple[str, ...]
    applied: bool
    entry: int | None
    """Its number in the journal; null if nothing was written."""
    refusal: str | None
    """Why it cannot be written; null if it can, or was."""
    resume: str
    """The command that resumes it."""
    undo: str | None
    """The command that removes it again."""


def clone_page(
    plan: ClonePlan, entry: Entry | None, again: CommandLine, *, in_a_home: bool, refusal: str | None = None
) -> ClonePage:
    """`in_a_home`: the clone is found by its id."""
    return ClonePage(
        id=plan.new_id,
        path=str(plan.path),
        source=str(plan.source),
        ends_with=plan.at,
        title=plan.title,
        files=tuple(ClonedFilePage(file.what, str(file.target), file.size) for file in plan.files),
        size=plan.size,
        ids=plan.ids,
        left_out=plan.left_out,
        notes=plan.notes,
        applied=entry is not None,
        entry=entry.number if entry else None,
        refusal=None if entry else refusal,
        resume=again("resume", plan.new_id if in_a_home else str(plan.path)),
        undo=again("undo", "--entry", str(entry.number)) if entry else None,
    )


class RemovalPage(Page, frozen=True):
    """The removal of one session."""

    id: str
    path: str
    title: str | None
    last_record: datetime | None
    """When its last record was written."""
    files: tuple[FileSizePage, ...]
    """The session's own file first."""
    size: int
    titled: tuple[str, ...]
    """Sessions that stay but lose their titles, because those are summaries in this session's file."""
    entry: int | None
    """Its number in the journal; null if nothing was removed."""
    in_use: bool
    """A client is at work on the session, so it is not removed."""
    refusal: str | None
    """Why it would not be, or was not, removed."""
    undo: str | None
    """The command that brings the session back."""


class RemovalsPage(Document, frozen=True, tag="rm/3"):
    """`steno rm`: sessions moved to the archive."""

    removals: tuple[RemovalPage, ...]
    size: int
    """Of all of them."""
    archive: str
    """The directory that keeps the originals."""
    applied: bool
    apply: str | None
    """The command that does it; null if it was done or all would be refused."""


def removal_page(
    plan: Removal,
    path: Path,
    again: CommandLine,
    *,
    entry: Entry | None,
    busy: str | None,
    refusal: str | None,
    others: Container[Path] = (),
) -> RemovalPage:
    """`busy`: why the session is in use; `refusal`: why it may not be removed at all; `others`: what is removed with it."""
    return RemovalPage(
        id=plan.session_id,
        path=str(path),
        title=plan.title,
        last_record=plan.last_record,
        files=file_sizes(plan.files),
        size=plan.size,
        titled=tuple(each.stem for each in plan.titled if each not in others),
        entry=entry.number if entry else None,
        in_use=busy is not None,
        refusal=None if entry else refusal or busy,
        undo=again("undo", "--entry", str(entry.number)) if entry else None,
    )


def removals_page(
    removals: Sequence[RemovalPage],
    archive: Path,
    again: CommandLine,
    *,
    older_than: str | None,
    project: str | None,
    applied: bool,
) -> RemovalsPage:
    """`older_than` and `project`: what the sessions were selected by, unless they were named."""
    words = ["--older-than", older_than] if older_than else [each.path for each in removals if each.refusal is None]
    words += ["--project", project] if project else []
    can_be_done = not applied and any(each.refusal is None for each in removals)
    page = RemovalsPage(
        removals=tuple(removals),
        size=sum(each.size for each in removals),
        archive=str(archive),
        applied=applied,
        apply=again("rm", *words, "--apply") if can_be_done else None,
    )
    return mask_page(page, Masker().mask)


class SentTurnsPage(Page, frozen=True):
    """Turns that left the machine."""

    destination: str
    turns: tuple[int, ...]
    """Their numbers. The receiver still has these turns."""


class PurgePage(Document, frozen=True, tag="purge/1"):
    """The permanent deletion of a session."""

    id: str
    files: tuple[FileSizePage, ...]
    """Files that are still in the Claude config directory; none if `steno rm` removed the session before."""
    edits: tuple[int, ...]
    """Its edits in the archive's journal."""
    originals: int
    """How many originals are deleted from the archive."""
    originals_size: int
    shared_originals: int
    """Originals that stay, because edits of other sessions need the same bytes."""
    kept: int
    """Files that `steno archive` keeps of it."""
    kept_size: int
    trace_events: int
    """Events that have not been sent yet."""
    trace_entries: int
    """Entries in the tracing state."""
    index: str | None
    """The search index, which is deleted as a whole and rebuilt when it is next needed."""
    sent: tuple[SentTurnsPage, ...]
    sent_known: bool
    """False if no copy of the session can be read, so that it is not known what was sent."""
    clones: tuple[str, ...]
    """Sessions that were cloned from it. They keep their copies of what was said."""
    archived_clones: tuple[str, ...]
    """Clones that were removed: the archive keeps their copies."""
    titled: tuple[str, ...]
    """Other sessions that lose their titles, because those are summaries in this session's file."""
    applied: bool
    in_use: bool
    refusal: str | None
    """Why it would be refused now; null if it would not be, or was done."""
    apply: str | None
    """The command that does it; null if it was done or would be refused."""


def purge_page(plan: Purge, again: CommandLine, *, is_applied: bool, busy: str | None, refusal: str | None) -> PurgePage:
    archived = plan.archived
    refusal = None if is_applied else refusal or busy
    return PurgePage(
        id=plan.session_id,
        files=file_sizes(archived.removal.files if archived.removal else {}),
        edits=archived.edits,
        originals=len(archived.originals),
        originals_size=sum(archived.originals.values()),
        shared_originals=archived.shared,
        kept=archived.kept_files,
        kept_size=archived.kept_size,
        trace_events=len(plan.events),
        trace_entries=plan.state_entries,
        index=str(plan.index) if plan.index else None,
        sent=tuple(SentTurnsPage(destination, turns) for destination, turns in plan.sent.items()),
        sent_known=plan.is_sent_known,
        clones=archived.clones,
        archived_clones=archived.archived_clones,
        titled=tuple(each.stem for each in archived.removal.titled) if archived.removal else (),
        applied=is_applied,
        in_use=busy is not None,
        refusal=refusal,
        apply=None if is_applied or refusal else again("purge", plan.session_id, "--apply"),
    )


class LostUndoPage(Page, frozen=True):
    """An edit that could be undone until this title or tag was written after it."""

    entry: int
    made_session: bool
    """The edit made the session, so there are no originals."""
    instead: str
    """The command that removes the session, or writes the originals elsewhere."""


class RenamePage(Document, frozen=True, tag="rename/1"):
    """A session's new title."""

    id: str
    path: str
    title: str | None
    """Null if it now has none of its own."""
    before: str | None
    """The title it was given before; null if it had none of its own."""
    shown_before: str | None
    """What it was listed as, if it had no title of its own."""
    undo: str | None
    """The command that restores the previous title; null if nothing was written."""
    lost_undo: LostUndoPage | None


class TagPage(Document, frozen=True, tag="tag/1"):
    """A session's new tag."""

    id: str
    path: str
    tag: str | None
    """Null if it now has none."""
    before: str | None
    undo: str | None
    """The command that restores the previous tag; null if nothing was written."""
    lost_undo: LostUndoPage | None


def rename_page(file: SessionFile, change: LabelChange, again: CommandLine) -> RenamePage:
    before = change.before
    if change.entry is not None:
        words: list[str] | None = ["undo", "--entry", str(change.entry.number)]
    elif change.after is None:
        words = None
    else:
        words = ["rename", file.session_id, *(["--clear"] if before is None else _as_argument(before))]
    page = RenamePage(
        id=file.session_id,
        path=str(file.path),
        title=change.after,
        before=before,
        shown_before=change.shown or None if before is None else None,
        undo=again(*words) if words else None,
        lost_undo=_lost_undo(file, change, again),
    )
    return mask_page(page, Masker().mask)


def tag_page(file: SessionFile, change: LabelChange, again: CommandLine) -> TagPage:
    before = change.before
    words = ["--clear"] if before is None else _as_argument(before)
    page = TagPage(
        id=file.session_id,
        path=str(file.path),
        tag=change.after,
        before=before,
        undo=None if before is None and change.after is None else again("tag", file.session_id, *words),
        lost_undo=_lost_undo(file, change, again),
    )
    return mask_page(page, Masker().mask)


def _as_argument(text: str) -> list[str]:
    return ["--", text] if text.startswith("-") else [text]


def _lost_undo(file: SessionFile, change: LabelChange, again: CommandLine) -> LostUndoPage | None:
    last = change.outdated
    if last is None:
        return None
    made_session = all(each.before is None for each in last.files)
    words = ("rm", file.session_id) if made_session else ("undo", "--entry", str(last.number), "--to", "DIR")
    return LostUndoPage(last.number, made_session, again(*words))
