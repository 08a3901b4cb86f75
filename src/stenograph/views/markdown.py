"""A timeline as Markdown, to be pasted elsewhere: prompts as quotations, what the model said as it is, one line for each step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stenograph.views.pages.timeline import (
    CompactionStep,
    NoteStep,
    PromptStep,
    Step,
    Terminal,
    TextStep,
    TimelinePage,
    TimelineTurn,
    ToolStep,
)
from stenograph.views.pages.transcript import Patch
from stenograph.views.text import harmless, local_time, one_line, thousands

#: Lines of a step that are worth pasting.
_MOST = 40


def render_markdown(page: TimelinePage, turn: int | None = None) -> str:
    """All turns of a page, or one of them."""
    turns = [each for each in page.turns if turn is None or each.number == turn]
    pieces: list[str] = [] if turn else [f"# {one_line(page.session.title or 'Session')}", _facts(page)]
    for each in turns:
        pieces += _turn(each)
    return "\n\n".join(pieces) + "\n"


def _facts(page: TimelinePage) -> str:
    """Which session it is, as the HTML export says it."""
    session = page.session
    names = (session.id, session.project, session.model)
    facts = [_code(one_line(name)) for name in names if name]
    return " · ".join([*facts, *([local_time(session.started)] if session.started else [])])


def _turn(turn: TimelineTurn) -> Iterator[str]:
    if not turn.first:
        yield f"## Turn {turn.number}"
    for step in turn.steps:
        yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    match step:
        case PromptStep():
            yield "\n".join(f"> {line}".rstrip() for line in harmless(step.text).split("\n"))
        case TextStep():
            yield harmless(step.text, keep_tabs=True).strip()
        case NoteStep(kind="interrupt"):
            yield "*Interrupted.*"
        case CompactionStep():
            size = f" at {thousands(step.tokens_before)} tokens" if step.tokens_before else ""
            yield f"*Compacted{size}.*"
        case ToolStep():
            yield _tool(step)


def _tool(step: ToolStep) -> str:
    facts = "".join(f", {fact}" for fact in step.facts)
    head = f"- **{harmless(step.name)}** {_code(one_line(step.title))}{facts}".rstrip()
    blocks = []
    for body in step.bodies:
        if isinstance(body, Patch):
            blocks.append(_block("diff", list(body.lines)))
        elif isinstance(body, Terminal) and (step.family == "shell" or body.is_error):
            blocks.append(_block("", harmless(body.text, keep_tabs=True).rstrip().split("\n")))
    return "\n\n".join([head, *blocks])


def _code(text: str) -> str:
    if not text:
        return ""
    ticks = "`" * (max((len(found) for found in re.findall("`+", text)), default=0) + 1)
    return f"{ticks}{text}{ticks}" if len(ticks) == 1 else f"{ticks} {text} {ticks}"


def _block(language: str, lines: list[str]) -> str:
    """Indented below its step; a fence that no line of it can close."""
    shown = [harmless(line, keep_tabs=True) for line in lines[:_MOST]]
    if len(lines) > _MOST:
        shown.append(f"… {len(lines) - _MOST:,} more lines")
    fence = "`" * max(3, max((len(found) for line in shown for found in re.findall("`+", line)), default=0) + 1)
    return "\n".join(f"  {line}".rstrip() for line in [fence + language, *shown, fence])
