"""The end of a session that is resumed, as lines: what was said last, from the end of its file."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from stenograph.agent.faces.console.look import Look
from stenograph.agent.faces.console.painter import Painter
from stenograph.agent.faces.console.tool_lines import denied_lines, done_lines, full_lines, refusal
from stenograph.messages import INTERRUPTED
from stenograph.views import CARE, QUIET, one_line

if TYPE_CHECKING:
    from stenograph.views import ToolPart

Unfold: TypeAlias = "Callable[[], list[str]]"
#: Bytes read from the end, and lines shown.
_TAIL = 200_000
_MOST = 40


def past_lines(path: Path, look: Look, folded: deque[Unfold]) -> list[str]:
    """`folded` gets what was folded of them."""
    from stenograph.records import decode
    from stenograph.views import NotePart, PromptPart, TextPart, ToolPart, UpdateReader

    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            raw = file.read().split(b"\n")
    except OSError:
        return []
    reader = UpdateReader()
    painter = Painter(look, "")
    running: dict[str, ToolPart] = {}

    def interrupted(part: ToolPart) -> None:
        part = msgspec.structs.replace(part, status="interrupted", bodies=())
        folded.append(functools.partial(_unfolded, part, look))
        painter.lines(done_lines(part, look, status=part.status), "tool")

    def interrupt_running() -> None:
        """Those without a result, when the turn is over."""
        while running:
            interrupted(running.pop(next(iter(running))))

    for line in raw[1 if size > _TAIL else 0 :]:
        if not line.strip():
            continue
        for part in reader.parts(decode(line)):
            match part:
                case PromptPart():
                    if not part.interjected:
                        interrupt_running()
                    painter.prompt(part.text, "»" if part.interjected else ">")
                case TextPart(origin="client"):
                    pass  # what a client says to itself
                case TextPart():
                    painter.said(part.text)
                case ToolPart(status="running"):
                    running[part.id] = part
                case ToolPart():
                    running.pop(part.id, None)
                    said = refusal(_error_in(part))
                    if said:
                        painter.lines(denied_lines(part, said, look), "tool")
                    elif said == "" or _error_in(part).startswith(INTERRUPTED):
                        interrupted(part)
                    else:
                        folded.append(functools.partial(_unfolded, part, look))
                        painter.lines(done_lines(part, look), "tool")
                case NotePart(kind="interrupt"):
                    painter.lines([look.paint("■ ", *CARE) + "Interrupted."], "end")
                case NotePart(kind="compaction"):
                    painter.lines([look.paint("┊ ", *CARE) + one_line(part.line)], "compaction")
    interrupt_running()
    lines = painter.take_lines()
    if len(lines) <= _MOST:
        return lines
    return [look.paint("  … earlier turns: /export writes them to a file", *QUIET), *lines[-_MOST:]]


def _error_in(part: ToolPart) -> str:
    from stenograph.views import Output

    return next((body.text for body in part.bodies if isinstance(body, Output) and body.is_error), "")


def _unfolded(part: ToolPart, look: Look) -> list[str]:
    return list(full_lines(part, look))
