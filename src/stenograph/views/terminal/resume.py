"""How a session is resumed -> a line for a shell."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.pages.resume import ResumePage
from stenograph.views.terminal.options import RenderOptions


def render_resume(page: ResumePage, options: RenderOptions) -> Iterator[str]:  # noqa: ARG001
    yield page.shell
