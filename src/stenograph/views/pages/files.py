"""Which files a session read and changed, and the net difference of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from stenograph.redact import Mask, as_is
from stenograph.views.masking import mask_page
from stenograph.views.pages.page import Document, Page
from stenograph.views.pages.session import last_of

if TYPE_CHECKING:
    from stenograph.analysis import FileChange
    from stenograph.turns import Session


class WrittenPage(Page, frozen=True):
    """Lines of a file that one turn wrote."""

    turn: int
    first: int
    """Counted from 1, in the file as the session left it."""
    last: int


class FilePage(Page, frozen=True):
    """One file that a session touched."""

    path: str
    reads: int
    edits: int
    writes: int
    created: bool
    """It did not exist before."""
    known: bool | None
    """Whether its content before and after is known; null for a file that was only read."""
    added: int | None
    """Lines added in total; null if unknown."""
    removed: int | None
    doubts: tuple[str, ...]
    """Why the diff may be incomplete: `shell`, `outside`, `notebook`, `unknown-before`, `unknown-after`."""
    turns: tuple[int, ...]
    """The numbers of the turns that touched it."""
    diff: tuple[str, ...] | None
    """The net difference as lines of a unified diff; null if unknown."""
    written: tuple[WrittenPage, ...] = ()
    """Which turn wrote which lines. Lines that were there before, or that something else wrote, are in none."""

    @property
    def changed(self) -> bool:
        return bool(self.edits or self.writes)


class FilesPage(Document, frozen=True, tag="files/1"):
    """`steno files`: which files a session read and changed, in the order they were first touched."""

    id: str
    path: str
    project: str | None
    """The working directory of the session's last lines. (Lists show the one that it began in.)"""
    files: tuple[FilePage, ...]


def files_page(session: Session, changes: Iterable[FileChange], mask: Mask = as_is) -> FilesPage:
    """Differences are made of masked contents: of a secret that changed only its number is seen to change."""
    project = last_of(session, "cwd")
    page = FilesPage(
        id=session.id,
        path=str(session.path or ""),
        project=project or None,
        files=tuple(_file_page(change, mask, project) for change in changes),
    )
    return mask_page(page, mask)


def _file_page(change: FileChange, mask: Mask, project: str) -> FilePage:
    known = change.is_known if change.changed else None
    diff: list[str] = []
    written: tuple[WrittenPage, ...] = ()
    if known and change.before is not None and change.after is not None:
        masked = mask(change.after)
        diff = change.diff(mask(change.before), masked, project)
        # A secret of several lines is masked on one: the lines behind it have other numbers then.
        if len(masked.splitlines()) == len(change.authors):
            written = tuple(_written(change.authors))
    return FilePage(
        path=change.path,
        reads=change.reads,
        edits=change.edits,
        writes=change.writes,
        created=change.created,
        known=known,
        added=sum(line.startswith("+") for line in diff[2:]) if known else None,
        removed=sum(line.startswith("-") for line in diff[2:]) if known else None,
        doubts=change.doubts,
        turns=change.turns,
        diff=tuple(diff) if known else None,
        written=written,
    )


def _written(authors: Iterable[int]) -> Iterator[WrittenPage]:
    line = 1
    for turn, lines in groupby(authors):
        count = len(list(lines))
        if turn:
            yield WrittenPage(turn, line, line + count - 1)
        line += count
