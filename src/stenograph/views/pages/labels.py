"""A session's new title or tag, and the way back."""

from __future__ import annotations

from stenograph.archive import LabelChange
from stenograph.family import SessionFile
from stenograph.sessions import title
from stenograph.views.pages.changing import CommandLine
from stenograph.views.pages.page import Document, Page


class LostUndoPage(Page, frozen=True):
    """An edit that could be undone until the label was written behind it."""

    entry: int
    made_session: bool
    """The edit made the session, so there are no originals."""
    instead: str
    """The command that removes the session, or writes the originals elsewhere."""


class RenamePage(Document, frozen=True, tag="rename/1"):
    """A session's new title."""

    id: str
    path: str
    title: str
    before: str | None
    """The title it was given before; null where it had none of its own."""
    shown_before: str | None
    """What it was listed as where it had no title of its own."""
    undo: str | None
    """The command that gives the title before back; null where there was none."""
    lost_undo: LostUndoPage | None


class TagPage(Document, frozen=True, tag="tag/1"):
    """A session's new tag."""

    id: str
    path: str
    tag: str | None
    """Null: it has none now."""
    before: str | None
    undo: str | None
    """The command that brings the tag before back; null where nothing was written."""
    lost_undo: LostUndoPage | None


def rename_page(file: SessionFile, change: LabelChange, again: CommandLine) -> RenamePage:
    before = change.before
    return RenamePage(
        id=file.session_id,
        path=str(file.path),
        title=change.after or "",
        before=before,
        shown_before=title(change.seen) or None if before is None else None,
        undo=None if before is None else again("rename", file.session_id, *_as_argument(before)),
        lost_undo=_lost_undo(file, change, again),
    )


def tag_page(file: SessionFile, change: LabelChange, again: CommandLine) -> TagPage:
    before = change.before
    words = ["--clear"] if before is None else _as_argument(before)
    return TagPage(
        id=file.session_id,
        path=str(file.path),
        tag=change.after,
        before=before,
        undo=None if before is None and change.after is None else again("tag", file.session_id, *words),
        lost_undo=_lost_undo(file, change, again),
    )


def _as_argument(text: str) -> list[str]:
    return ["--", text] if text.startswith("-") else [text]


def _lost_undo(file: SessionFile, change: LabelChange, again: CommandLine) -> LostUndoPage | None:
    last = change.outdated
    if last is None:
        return None
    made_session = all(each.before is None for each in last.files)
    words = ("rm", file.session_id) if made_session else ("undo", "--entry", str(last.number), "--to", "DIR")
    return LostUndoPage(last.number, made_session, again(*words))
