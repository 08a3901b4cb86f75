"""What an export wrote -> lines."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.pages.export import ExportPage
from stenograph.views.terminal.options import RenderOptions
from stenograph.views.text import count_of, short_path, size


def render_exported(page: ExportPage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    if page.added == 0:
        yield f"Nothing new: {count_of(page.steps or 0, 'step')} in {short_path(page.files[0].path)}"
        return
    for file in page.files:
        yield f"Wrote {short_path(file.path)} ({size(file.size)})"
    if page.added is not None and page.steps is not None:
        yield f"Appended {count_of(page.added, 'step')}; {page.steps:,} in all."
