"""The removal of a session: what goes, where it is kept, whether it was done, and the way back."""

from __future__ import annotations

from pathlib import Path

from stenograph.archive import Entry, Removal
from stenograph.views.pages.changing import CommandLine, FileSizePage, file_sizes
from stenograph.views.pages.page import Document


class RemovalPage(Document, frozen=True, tag="rm/1"):
    """The removal of a session to the archive."""

    id: str
    path: str
    files: tuple[FileSizePage, ...]
    """The session's own file first."""
    size: int
    archive: str
    """The directory that keeps the originals."""
    applied: bool
    entry: int | None
    """Its number in the journal; null where nothing was removed."""
    in_use: bool
    """Somebody is at work on the session, so it would be refused now."""
    refusal: str | None
    """Why it would be refused now; null where it would not, or was done."""
    apply: str | None
    """The command that does it; null where it was done or would be refused."""
    undo: str | None
    """The command that brings the session back."""


def removal_page(
    plan: Removal, path: Path, archive: Path, again: CommandLine, *, entry: Entry | None, busy: str | None, refusal: str | None
) -> RemovalPage:
    """`busy`: why the session is in use; `refusal`: why it may not be removed at all."""
    refusal = None if entry else refusal or busy
    return RemovalPage(
        id=plan.session_id,
        path=str(path),
        files=file_sizes(plan.files),
        size=plan.size,
        archive=str(archive),
        applied=entry is not None,
        entry=entry.number if entry else None,
        in_use=busy is not None,
        refusal=refusal,
        apply=None if entry or refusal else again("rm", str(path), "--apply"),
        undo=again("undo", "--entry", str(entry.number)) if entry else None,
    )
