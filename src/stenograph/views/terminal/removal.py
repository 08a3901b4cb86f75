"""The removal of a session -> lines."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.pages.removal import RemovalPage
from stenograph.views.terminal.options import RenderOptions
from stenograph.views.text import count_of, plain, short_path, size


def render_removal(page: RemovalPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    amount = f"{count_of(len(page.files), 'file')}, {size(page.size)}"
    if page.applied:
        yield f"{page.id} was removed: {amount}, kept in {short_path(page.archive)}"
        yield f"To undo: {page.undo}"
        return
    yield from (f"{size(file.size):>8}  {short_path(file.path)}" for file in page.files)
    yield f"{page.id} would be removed: {amount}, to be kept in {short_path(page.archive)}"
    if page.refusal is None:
        yield f"To do it: {page.apply}"
    elif page.in_use:
        yield f"Nothing was changed, and --apply would be refused now: {plain(page.refusal)}"
    else:
        yield f"Nothing was changed: {page.refusal}"
