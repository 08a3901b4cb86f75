"""A session's new title or tag -> lines."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.pages.labels import LostUndoPage, RenamePage, TagPage
from stenograph.views.terminal.options import RenderOptions
from stenograph.views.text import plain


def render_rename(page: RenamePage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    yield f"{page.id} is now called {plain(page.title)}"
    if page.undo is None:
        yield "It had no title of its own" + (f"; it was shown as: {plain(page.shown_before)}" if page.shown_before else "")
    else:
        yield f"To undo: {page.undo}"
    yield from _lost_undo(page.lost_undo)


def render_tag(page: TagPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    if page.undo is None:
        yield f"{page.id} had no tag; nothing was written"
        return
    yield f"{page.id} is now tagged {plain(page.tag)}" if page.tag else f"{page.id} has no tag now"
    yield f"To undo: {page.undo}"
    yield from _lost_undo(page.lost_undo)


def _lost_undo(lost: LostUndoPage | None) -> Iterator[str]:
    if lost is None:
        return
    if lost.made_session:
        yield f"Edit {lost.entry}, which made it, can't be undone any more; to remove it: {lost.instead}"
    else:
        yield f"Edit {lost.entry} of it can't be undone in place any more; its originals: {lost.instead}"
