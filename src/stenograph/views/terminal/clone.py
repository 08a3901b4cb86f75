"""A clone -> lines."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.pages.clone import ClonePage
from stenograph.views.terminal.options import RenderOptions
from stenograph.views.text import count_of, plain, short_path, size


def render_clone(page: ClonePage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    amount = f"{count_of(len(page.files), 'file')}, {size(page.size)}, {count_of(page.ids, 'id')} renewed"
    if page.applied:
        yield f"{page.id}: {amount}"
        yield short_path(page.path)
    else:
        yield from (f"{size(file.size):>8}  {file.kind:<12}  {short_path(file.path)}" for file in page.files)
        yield f"Would be written: {amount}"
    yield from (f"Left out: {what} ({count:,})" for what, count in page.left_out.items())
    yield from (f"Note: {plain(note)}" for note in page.notes)
    if page.applied:
        yield f"To go on with it: {page.resume}"
        yield f"To undo: {page.undo}"
    elif page.refusal:
        yield f"Nothing was written: {page.refusal}"
