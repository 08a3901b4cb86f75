"""A live session as lines: each record when it comes, in short."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stenograph.views.pages.transcript import Fact, Output, Part, PromptPart, TextPart, ToolPart
from stenograph.views.pages.updates import UpdatePage
from stenograph.views.terminal.options import DIM, OTHER, RenderOptions
from stenograph.views.terminal.transcript import render_bodies, render_part
from stenograph.views.text import cut, one_line

_NOTICES = {
    "damaged": "invalid line skipped",
    "cut": "the file was truncated or rewritten",
    "gone": "the file was deleted",
}


class UpdateRenderer:
    """Turns updates into lines; remembers who spoke last."""

    def __init__(self, options: RenderOptions) -> None:
        self._options = options
        self._inside = options.narrower(4)
        self._speaker = ""
        #: The call that was printed last, with nothing behind it.
        self._open_call = ""

    def lines(self, page: UpdatePage) -> Iterator[str]:
        session = Path(page.path).stem
        if page.event == "record":
            yield from self._record(page)
        elif page.event == "cleared":
            yield self.notice(f"/clear: following the new session {session}")
        elif page.event == "returned":
            yield self.notice(f"that /clear belonged to another client: following {session} again")
        elif page.event in _NOTICES:
            yield self.notice((f"subagent {page.agent_id}: " if page.agent_id else "") + _NOTICES[page.event])

    def notice(self, text: str) -> str:
        return self._options.paint(cut(f"── {one_line(text)} ──", self._options.width), DIM)

    def _record(self, page: UpdatePage) -> Iterator[str]:
        agent_id = page.agent_id or ""
        options = self._inside if agent_id else self._options
        edge = options.paint("  │ ", *OTHER) if agent_id else ""
        for line in (line for part in page.parts for line in self._part(part, options)):
            if agent_id != self._speaker:
                self._speaker = agent_id
                if agent_id:
                    yield f"{edge}{options.paint(f'subagent {one_line(agent_id)}', DIM)}"
            yield f"{edge}{line}".rstrip()

    def _part(self, part: Part, options: RenderOptions) -> Iterator[str]:
        before, self._open_call = self._open_call, ""
        if isinstance(part, ToolPart) and part.status != "running":
            lines = list(_result(part, options))
            if lines and part.id != before:  # parallel calls: which of them this is the result of
                named = f"{one_line(part.name)} {one_line(part.title)}".strip()
                yield options.paint(cut(f"↳ {named}", options.width), DIM)
            yield from lines
            return
        if isinstance(part, ToolPart):
            self._open_call = part.id
        if isinstance(part, TextPart | PromptPart):
            yield ""
        yield from render_part(part, options)


def _result(part: ToolPart, options: RenderOptions) -> Iterator[str]:
    """What came back; what was asked for stands above."""
    bodies = [body for body in part.bodies if not isinstance(body, Fact)]
    facts = ", ".join(body.text for body in part.bodies if isinstance(body, Fact))
    if facts:
        yield options.paint(cut(f"    {one_line(facts)}", options.width), DIM)
    if options.results or any(isinstance(body, Output) and body.is_error for body in bodies):
        yield from render_bodies(bodies, options)
