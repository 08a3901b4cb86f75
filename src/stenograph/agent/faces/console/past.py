"""The end of a session that is resumed, as lines: what was said last, from the end of its file."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from stenograph.agent.faces.console.look import Look
from stenograph.agent.faces.console.painter import Painter
from stenograph.agent.faces.console.tool_lines import done_lines, full_lines
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
    for line in raw[1 if size > _TAIL else 0 :]:
        if not line.strip():
            continue
        for part in reader.parts(decode(line)):
            match part:
                case PromptPart():
                    painter.prompt(part.text)
                case TextPart():
                    painter.said(part.text)
                case ToolPart(status="done" | "failed"):
                    folded.append(functools.partial(_unfolded, part, look))
                    painter.lines(done_lines(part, look), "tool")
                case NotePart(kind="interrupt"):
                    painter.lines([look.paint("■ ", *CARE) + "Interrupted."], "end")
                case NotePart(kind="compaction"):
                    painter.lines([look.paint("┊ ", *CARE) + one_line(part.line)], "compaction")
    lines = painter.take_lines()
    if len(lines) <= _MOST:
        return lines
    return [look.paint("  … earlier turns: /export writes them to a file", *QUIET), *lines[-_MOST:]]


def _unfolded(part: ToolPart, look: Look) -> list[str]:
    return list(full_lines(part, look))
