"""`/context`: what filled the context of the last call, when it will be compacted, and what could be dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stenograph.agent.faces.console.session_commands import conversation_of
from stenograph.agent.faces.console.settings_commands import session_of
from stenograph.errors import UsageError
from stenograph.views import CARE, PART_NAMES, QUIET, TOOL, cut, fine_money, one_line, thousands, width

if TYPE_CHECKING:
    from stenograph.agent.faces.console.desk import Desk
    from stenograph.agent.faces.console.look import Look

_BAR = 24
_LONGEST_BAR = 100
#: Tokens.
_WORTH_NAMING = 200


async def context(desk: Desk, _: str) -> None:
    path = conversation_of(desk)
    parts, residents, total = await asyncio.to_thread(_filled, path)
    if not total:
        raise UsageError("nothing to measure yet: the model has not been called")
    look = desk.look
    window = desk.state.window or total
    share = f"{thousands(total)} of {thousands(window)} tokens ({total / window:.0%})"
    largest = max(parts.values())
    lines = [look.row(share, "measured in the last call"), *_window_bar(total, window, _compacts_at(desk), look), ""]
    for name, tokens in parts.items():
        if tokens:
            bar = "━" * max(1, round(_BAR * tokens / largest))
            lines.append(f"  {PART_NAMES[name]:<17} {thousands(tokens):>6}  {look.paint(bar, *TOOL)}")
    if residents:
        prices = [_price(desk, count) for _, count in residents]
        rows = [("Worth dropping", "tokens", "per later call" if any(prices) else "")]
        rows += [(name, thousands(count), price) for (name, count), price in zip(residents, prices, strict=True)]
        lines += ["", *_columns(rows, look)]
        lines.append(look.row("/surgery drops tool calls and shows the savings first", codes=QUIET))
    desk.painter.lines(lines)


def _compacts_at(desk: Desk) -> int:
    """Tokens; 0 for never."""
    from stenograph.agent.engine.compaction import limit_of

    agent = session_of(desk)
    return limit_of(agent.model, agent.shared.limits) if desk.options.auto_compact else 0


def _window_bar(total: int, window: int, limit: int, look: Look) -> list[str]:
    """The window, how much of it is full, and below it where the conversation is compacted."""
    columns = min(look.columns - 4, _LONGEST_BAR)
    full = min(columns, max(1, round(columns * total / window)))
    cells = ["━"] * full + ["─"] * (columns - full)
    if not 0 < limit < window:
        return [f"  {look.paint(''.join(cells[:full]), *TOOL)}{look.paint(''.join(cells[full:]), *QUIET)}"]
    place = min(columns - 1, round(columns * limit / window))
    painted = [
        look.paint("┊", *CARE) if index == place else look.paint(cell, *(TOOL if index < full else QUIET))
        for index, cell in enumerate(cells)
    ]
    words = f"compacts at {thousands(limit)}"
    return [f"  {''.join(painted)}", look.paint(f"  {words:>{max(width(words), place + 1)}}", *QUIET)]


def _columns(rows: Sequence[tuple[str, str, str]], look: Look) -> Iterator[str]:
    """A name, and two figures at the right edge; the first row is the heading."""
    wide = [max(map(width, column)) + 2 for column in list(zip(*rows, strict=True))[1:] if any(column)]
    room = look.columns - 2 - sum(wide)
    for place, (name, *figures) in enumerate(rows):
        shown = "".join(f"{figure:>{size}}" for figure, size in zip(figures, wide, strict=False))
        name = cut(name, room)
        yield f"  {name}{' ' * (room - width(name))}{look.paint(shown, *(QUIET if not place else ()))}"


def _price(desk: Desk, tokens: int) -> str:
    """Of sending them once more, from the prompt cache; nothing for a model without a price."""
    from stenograph.agent.context.costs import cost_of
    from stenograph.agent.context.models import called_name

    usd = cost_of(called_name(session_of(desk).model), {"cache_read_input_tokens": tokens}, desk.options.profiles)
    return f"~{fine_money(float(usd))}" if usd is not None else ""


def _filled(path: Path) -> tuple[dict[str, int], list[tuple[str, int]], int]:
    from stenograph.analysis import Resident, context_of, shape_of
    from stenograph.sessions import load_file
    from stenograph.views import ToolFacts, tool_title

    session = load_file(path)
    residents: list[Resident] = []
    calls = list(context_of(session.turns, session.compactions, shape_of(session.graph.records), residents))
    if not calls:
        return {}, [], 0
    last = calls[-1]
    largest = sorted(residents, key=lambda one: -one.tokens)[:3]
    named = []
    for one in largest:
        if one.tokens >= _WORTH_NAMING:
            title = tool_title(ToolFacts(one.tool.name, one.tool.input)).removeprefix("$ ")
            named.append((f"{one.tool.name} {one_line(title)}, turn {one.turn}", one.tokens))
    return last.parts, named, last.prompt
