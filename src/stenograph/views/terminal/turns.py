"""Turns and steps, a line each; in a narrow terminal without what is least needed."""

from __future__ import annotations

from collections.abc import Iterator

from stenograph.inputs import InputKind
from stenograph.views.pages.turn_parts import notification_summary
from stenograph.views.pages.turns import StepsPage, TurnDetail, TurnsPage
from stenograph.views.terminal.options import BOLD, RenderOptions
from stenograph.views.text import column_width, cut, duration, local_time, one_line, table, thousands

_PROMPT_IN_A_PIPE = 200
_HEADINGS = ("turn", "kind", "round", "status", "started", "took", "calls", "tools", "agents", "in", "out", "prompt")
_RIGHT = frozenset({"turn", "took", "calls", "tools", "agents", "in", "out"})
_PROMPT_COLUMNS = 30
#: What a narrow terminal goes without, in this order.
_DISPENSABLE = ("round", "in", "out", "calls", "agents", "tools", "took", "kind", "started")


def render_turns(page: TurnsPage, options: RenderOptions) -> Iterator[str]:
    columns = options.width
    rows = [dict(zip(_HEADINGS, _row(turn), strict=True)) for turn in page.turns]
    named = _fitted([dict(zip(_HEADINGS, _HEADINGS, strict=True)), *rows], columns)
    right = frozenset(place for place, name in enumerate(named[0]) if name in _RIGHT)
    heading, *lines = [cut(line, columns) for line in table([list(row.values()) for row in named], right)]
    yield options.paint(heading, BOLD)
    yield from lines


def _fitted(rows: list[dict[str, str]], columns: int | None) -> list[dict[str, str]]:
    """The rows, without what is least needed where prompts would get less than their share of the columns."""
    if not any(row["round"] for row in rows[1:]):
        rows = [{name: cell for name, cell in row.items() if name != "round"} for row in rows]
    if columns is None:
        return rows
    wanted = min(_PROMPT_COLUMNS, column_width(row["prompt"] for row in rows))
    for name in _DISPENSABLE:
        if columns - sum(column_width(row[other] for row in rows) + 2 for other in rows[0] if other != "prompt") >= wanted:
            break
        rows = [{other: cell for other, cell in row.items() if other != name} for row in rows]
    return rows


def _row(turn: TurnDetail) -> list[str]:
    tools = [tool for call in turn.calls for tool in call.tool_calls]
    return [
        str(turn.number),
        turn.kind,
        round_word(turn.round),
        turn.status,
        local_time(turn.started) if turn.started else "-",
        duration(turn.duration_ms) if turn.duration_ms is not None else "-",
        str(len(turn.calls)),
        str(len(tools)),
        str(sum(tool.agent is not None for tool in tools)),
        thousands(turn.tokens.sent),
        thousands(turn.tokens.output),
        cut(one_line(_asked(turn)), _PROMPT_IN_A_PIPE),
    ]


def round_word(round_: str | None) -> str:
    """Where it says something that the place of a turn does not."""
    return {"resume": "resumed", "continue": "continued"}.get(round_ or "", "")


def _asked(turn: TurnDetail) -> str:
    return (turn.kind == InputKind.NOTIFICATION.value and notification_summary(turn.prompt)) or turn.prompt


def render_steps(page: StepsPage, options: RenderOptions) -> Iterator[str]:
    for number, step in enumerate(page.steps, 1):
        tools = ", ".join(tool.name for tool in step.tool_calls)
        words = [f"{number:>5}", f"{step.type:<17}", one_line(f"[{tools}]") if tools else "", one_line(step.summary)]
        yield cut("  ".join(word for word in words if word), options.width)
