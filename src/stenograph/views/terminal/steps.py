"""Steps as lines, one each."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.views.pages.steps import StepsPage
from stenograph.views.terminal.options import RenderOptions
from stenograph.views.text import cut, one_line


def render_steps(page: StepsPage, options: RenderOptions) -> Iterator[str]:
    for number, step in enumerate(page.steps, 1):
        tools = ", ".join(tool.name for tool in step.tool_calls)
        words = [f"{number:>5}", f"{step.type:<17}", one_line(f"[{tools}]") if tools else "", one_line(step.summary)]
        yield cut("  ".join(word for word in words if word), options.width)
