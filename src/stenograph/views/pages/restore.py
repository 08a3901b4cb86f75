"""A kept session brought back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stenograph.archive import Entry, RestorePlan, kept_title
from stenograph.redact import mask
from stenograph.views.pages.page import CommandLine, Document, Page


class RestoredFilePage(Page, frozen=True):
    """A file of a kept session."""

    path: str
    size: int
    action: str
    """`restore`, `unchanged` (it is there as it was kept) or `conflict` (it is there with other bytes)."""
    renewed: bool
    """It gets the current time, because Claude Code would delete it again within a week."""


class RestorePage(Document, frozen=True, tag="restore/1"):
    """`steno restore`: a kept session brought back."""

    id: str
    title: str | None
    files: tuple[RestoredFilePage, ...]
    """The session's own file first."""
    size: int
    """Of what is restored."""
    to: tuple[str, ...]
    """With --to: the files that were written."""
    changed: bool
    """False if there is nothing to restore."""
    applied: bool
    entry: int | None
    """Its number in the journal; null if nothing was written."""
    refusal: str | None
    """Why it would not be, or was not, restored."""
    resume: str | None
    """The command that resumes it; null if it is not in its place."""
    undo: str | None
    """The command that removes the restored files again."""
    apply: str | None
    """The command that does it; null if it was done or would be refused."""


def restore_page(
    plan: RestorePlan, again: CommandLine, *, entry: Entry | None = None, to: Sequence[Path] = (), refusal: str | None = None
) -> RestorePage:
    title = kept_title(plan.session)
    actions = {None: "restore", True: "unchanged", False: "conflict"}
    is_done = entry is not None
    can_be_done = not is_done and not to and refusal is None and bool(plan.missing)
    return RestorePage(
        id=plan.session.name,
        title=mask(title)[0] if title else None,
        files=tuple(
            RestoredFilePage(
                str(each.file.path), each.file.size, actions[each.is_same], each.is_same is None and each.is_renewed and not to
            )
            for each in plan.files
        ),
        size=plan.size,
        to=tuple(map(str, to)),
        changed=bool(plan.missing or plan.different),
        applied=is_done or bool(to),
        entry=entry.number if entry else None,
        refusal=refusal,
        resume=again("resume", plan.session.name) if is_done or not (plan.missing or plan.different) else None,
        undo=again("undo", "--entry", str(entry.number)) if entry else None,
        apply=again("restore", plan.session.name, "--apply") if can_be_done else None,
    )
