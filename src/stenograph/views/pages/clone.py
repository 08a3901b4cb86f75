"""A clone of a session: what it is made of, whether it was written, and how to go on with it or remove it."""

from __future__ import annotations

from stenograph.archive import Entry
from stenograph.surgery import ClonePlan
from stenograph.views.pages.changing import CommandLine
from stenograph.views.pages.page import Document, Page


class ClonedFilePage(Page, frozen=True):
    """A file of the clone."""

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
    """The uuid of the message it ends with, as the original has it; null for all of it."""
    title: str | None
    files: tuple[ClonedFilePage, ...]
    size: int
    ids: int
    """How many different ids were renewed."""
    left_out: dict[str, int]
    """What the clone does not have of the original, and how many of it."""
    notes: tuple[str, ...]
    applied: bool
    entry: int | None
    """Its number in the journal; null where nothing was written."""
    refusal: str | None
    """Why it can't be written; null where it can, or was."""
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
