"""Turns and steps, a line each; in a narrow terminal without what is least needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from stenograph.inputs import InputKind
from stenograph.views.pages.session import BranchPage
from stenograph.views.pages.turn_parts import notification_summary
from stenograph.views.pages.turns import StepsPage, TurnDetail, TurnsPage
from stenograph.views.terminal.options import BOLD, CARE, COMMAND, OTHER, QUIET, STRONG, RenderOptions
from stenograph.views.terminal.tape import binned, tape
from stenograph.views.text import (
    column_width,
    count_of,
    cut,
    local_time,
    money,
    one_line,
    short_id,
    table,
    thousands,
    time_taken,
    when,
    width,
)

_PROMPT_IN_A_PIPE = 200
_HEADINGS = ("turn", "kind", "round", "status", "started", "took", "calls", "tools", "agents", "in", "out", "cost", "prompt")
_RIGHT = frozenset({"turn", "took", "calls", "tools", "agents", "in", "out", "cost"})
_PROMPT_COLUMNS = 30
#: What a narrow terminal goes without, in this order.
_DISPENSABLE = ("round", "in", "out", "calls", "agents", "tools", "took", "kind", "started")


def render_turns(page: TurnsPage, options: RenderOptions) -> Iterator[str]:
    """A table: in a pipe everything, in a terminal what fits beside the prompts, with marks, tapes and a total."""
    if options.width is not None:
        yield from _drawn(page, options, min(options.width, _WIDEST))
        return
    columns = None
    rows = [dict(zip(_HEADINGS, _row(turn), strict=True)) for turn in page.turns]
    named = _fitted([dict(zip(_HEADINGS, _HEADINGS, strict=True)), *rows], columns)
    right = frozenset(place for place, name in enumerate(named[0]) if name in _RIGHT)
    heading, *lines = [cut(line, columns) for line in table([list(row.values()) for row in named], right)]
    yield options.paint(heading, BOLD)
    yield from lines


_TERMINAL_RIGHT = frozenset({"turn", "took", "calls", "tools", "context", "cost"})
_WIDEST = 140
_GUTTER = 2
#: Of a turn.
_TAPE_COLUMNS = 12


def _drawn(page: TurnsPage, options: RenderOptions, columns: int) -> Iterator[str]:
    turns = page.turns
    if not turns:
        return
    now = options.now or datetime.now(UTC)
    first = next((turn.started for turn in turns if turn.started), None)
    rows = [_terminal_row(turn, now, first) for turn in turns]
    total = _total_row(turns)
    rows = [{name: name for name in rows[0]}, *rows, *([total] if len(turns) > 1 else [])]
    if not any(turn.usd is not None for turn in turns):
        rows = [{name: cell for name, cell in row.items() if name != "cost"} for row in rows]
    wanted = min(_PROMPT_COLUMNS, column_width(row["prompt"] for row in rows))
    for name in ("tape", "tools", "calls", "context", "took", "start", "cost"):
        room = columns - _GUTTER - sum(column_width(row[other] for row in rows) + 2 for other in rows[0] if other != "prompt")
        if room >= wanted:
            break
        rows = [{other: cell for other, cell in row.items() if other != name} for row in rows]
    right = frozenset(place for place, name in enumerate(rows[0]) if name in _TERMINAL_RIGHT)
    letters = [turn.tape for turn in turns]
    heading, *lines = [cut(line, columns - _GUTTER) for line in table([list(row.values()) for row in rows], right)]
    start = -1
    if "tape" in rows[0]:
        before = list(rows[0])[: list(rows[0]).index("tape")]
        start = sum(column_width(row[name] for row in rows) + 2 for name in before)
    leaving = _leaving(page)
    yield f"  {options.paint(heading, *QUIET)}"
    yield from _branch_lines(leaving.get(0, ()), page, options, columns)
    for line, turn, steps in zip(lines, turns, letters, strict=False):
        drawn = binned(steps, _TAPE_COLUMNS)
        if start >= 0 and drawn:
            line = line[:start] + tape(steps, options, _TAPE_COLUMNS) + line[start + len(drawn) :]
        yield options.mark(turn.status) + line
        for each in turn.compactions:
            amounts = [thousands(count) for count in (each.tokens_before, each.tokens_after) if count is not None]
            sizes = f"{', ' if len(amounts) == 2 else ' at '}{' to '.join(amounts)} tokens" if amounts else ""
            yield options.paint(f"┊       compacted{sizes}", *CARE)
        yield from _branch_lines(leaving.get(turn.number, ()), page, options, columns)
    if len(lines) > len(turns):
        yield f"  {options.paint(lines[-1], *STRONG)}"


def _leaving(page: TurnsPage) -> dict[int, list[BranchPage]]:
    """The branches that are not shown, by the last turn that they share with the one that is; none where all turns are listed."""
    numbers = [turn.number for turn in page.turns]
    others: dict[int, list[BranchPage]] = {}
    if len(set(numbers)) == len(numbers):
        for branch in page.branches:
            if branch.shared < branch.turns:
                others.setdefault(branch.shared, []).append(branch)
    return others


def _branch_lines(branches: Iterable[BranchPage], page: TurnsPage, options: RenderOptions, columns: int) -> Iterator[str]:
    for branch in branches:
        own = count_of(branch.turns - branch.shared, "turn")
        where = "leaves here" if branch.shared else "starts apart"
        line = f"┬       branch {branch.number} {where}, {own}{', current' if branch.current else ', abandoned'}"
        command = options.command("show", short_id(page.id), "--branch", str(branch.number))
        space = columns - width(line) - width(command)
        way = f"{' ' * space}{options.paint(command, *COMMAND)}" if space >= 2 else ""
        yield options.paint(line, *OTHER) + way


def _terminal_row(turn: TurnDetail, now: datetime, first: datetime | None) -> dict[str, str]:
    sent = [call.tokens.sent for call in turn.calls if call.tokens.sent]
    return {
        "turn": str(turn.number),
        "status": turn.status,
        "start": _start(turn.started, now, first) if turn.started else "",
        "took": time_taken(turn.duration_ms),
        "calls": str(len(turn.calls)),
        "tools": str(sum(len(call.tool_calls) for call in turn.calls)),
        "context": thousands(sent[-1]) if sent else "",
        "cost": money(turn.usd, estimated=turn.usd_estimated),
        "tape": binned(turn.tape, _TAPE_COLUMNS),
        "prompt": one_line(_asked(turn)),
    }


def _start(moment: datetime, now: datetime, first: datetime | None) -> str:
    """The time of day; of turns on a later day than the first, the day too."""
    date, clock = local_time(moment).split(" ")
    return clock if first is not None and local_time(first).startswith(date) else when(moment, now)


def _total_row(turns: Sequence[TurnDetail]) -> dict[str, str]:
    took = sum(turn.duration_ms or 0 for turn in turns)
    known = [turn for turn in turns if turn.usd is not None]
    return {
        "turn": str(len(turns)),
        "status": "",
        "start": "",
        "took": time_taken(took),
        "calls": str(sum(len(turn.calls) for turn in turns)),
        "tools": str(sum(len(call.tool_calls) for turn in turns for call in turn.calls)),
        "context": "",
        "cost": _sum(known),
        "tape": "",
        "prompt": "",
    }


def _sum(priced: Sequence[TurnDetail]) -> str:
    total = sum(turn.usd or 0 for turn in priced)
    return money(total, estimated=any(turn.usd_estimated for turn in priced)) if priced else ""


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
        time_taken(turn.duration_ms) or "-",
        str(len(turn.calls)),
        str(len(tools)),
        str(sum(tool.agent is not None for tool in tools)),
        thousands(turn.tokens.sent),
        thousands(turn.tokens.output),
        money(turn.usd, estimated=turn.usd_estimated),
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
