"""The end of a conversation that is resumed, as lines: its last turns, whole unless they are too long."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from stenograph.agent.faces.console.look import Look
from stenograph.agent.faces.console.painter import Painter
from stenograph.agent.faces.console.tool_lines import denied_lines, done_lines, full_lines, refusal
from stenograph.messages import INTERRUPTED
from stenograph.views import CARE, QUIET, count_of, one_line

if TYPE_CHECKING:
    from stenograph.records import Record
    from stenograph.views import ToolPart

Unfold: TypeAlias = "Callable[[], list[str]]"
#: Lines of all turns.
_MOST = 40


def past_lines(records: Sequence[Record], look: Look, folded: deque[Unfold]) -> list[str]:
    """`folded` gets what was folded of them."""
    turns = _turns(records, look, folded)
    lines: list[str] = []
    while turns:
        prompt, rest = turns.pop()
        over = len(lines) + len(prompt) + len(rest) - _MOST
        if over > 0 and lines:
            earlier = look.paint("  … earlier turns: /export writes them to a file", *QUIET)
            return [earlier, *([""] if lines[0] else []), *lines]
        if over > 0:
            # Of a turn that alone is too long, the prompt and the end.
            more = f"  … {count_of(over, 'more line')}: /export writes them to a file"
            rest = [*([""] if prompt else []), look.paint(more, *QUIET), *rest[over:]]
        lines = [*prompt, *rest, *lines]
    return lines


def _turns(records: Sequence[Record], look: Look, folded: deque[Unfold]) -> list[tuple[list[str], list[str]]]:
    """The lines of each prompt, and of what follows it."""
    from stenograph.views import NotePart, PromptPart, TextPart, ToolPart, UpdateReader

    reader = UpdateReader()
    painter = Painter(look, "")
    running: dict[str, ToolPart] = {}
    turns: list[tuple[list[str], list[str]]] = [([], [])]

    def interrupted(part: ToolPart) -> None:
        part = msgspec.structs.replace(part, status="interrupted", bodies=())
        folded.append(functools.partial(_unfolded, part, look))
        painter.lines(done_lines(part, look, status=part.status), "tool")

    def end_turn() -> None:
        """Calls without a result were interrupted."""
        while running:
            interrupted(running.pop(next(iter(running))))
        turns[-1][1].extend(painter.take_lines())

    def begin_turn(words: str) -> None:
        end_turn()
        painter.prompt(words.removeprefix("!"), "!" if words.startswith("!") else ">")
        turns.append((painter.take_lines(), []))

    for record in records:
        for part in reader.parts(record):
            match part:
                case PromptPart(interjected=True):
                    painter.prompt(part.text, "»")
                case PromptPart():
                    begin_turn(part.text)
                case NotePart(kind="local-command"):
                    begin_turn(part.line)
                case NotePart(kind="local-output"):
                    painter.lines([look.row(one_line(part.line), codes=QUIET)], "shell")
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
    end_turn()
    return turns


def _error_in(part: ToolPart) -> str:
    from stenograph.views import Output

    return next((body.text for body in part.bodies if isinstance(body, Output) and body.is_error), "")


def _unfolded(part: ToolPart, look: Look) -> list[str]:
    return list(full_lines(part, look))
