"""Statistics: a page value -> HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from stenograph.views.html.charts import PART_CLASSES, PART_NAMES, Column, columns, hours_chart
from stenograph.views.html.context import PageContext
from stenograph.views.html.periods import every_period
from stenograph.views.html.rendering import Template
from stenograph.views.text import count_of, cut, duration, one_line

if TYPE_CHECKING:
    from stenograph.views.pages.stats import StatsPage, TurnLinkPage

_PARTS = ("system", "memory", "files", "output", "conversation", "thinking", "unknown")
_TOOLS = 14
_TITLE_COLUMNS = 60
#: Turns behind a figure that are linked.
_LINKS = 3


class Incident(NamedTuple):
    """Something that interrupts work: its name, how often, what it cost, and the turns."""

    name: str
    times: int
    note: str
    links: Sequence[TurnLinkPage]


def render_stats(page: StatsPage, context: PageContext, *, since: str, titles: Mapping[str, str]) -> str:
    """What happened; `titles` are those of sessions by their ids."""
    parts = {part.part: part for part in page.context}
    filled = [
        (kind, name, parts[key].mean_tokens, parts[key].share)
        for key, kind, name in zip(_PARTS, PART_CLASSES, PART_NAMES, strict=True)
        if key in parts and parts[key].mean_tokens
    ]
    times = [
        ("q5", "Waiting for the model", page.waiting_for_model_ms),
        ("q4", "Running tools", page.running_tools_ms),
        ("q1", "Waiting for you", page.waiting_for_you_ms),
    ]
    return Template("stats.html").render(
        context=context,
        here="Usage",
        tab="Activity",
        page=page,
        since=since,
        chart=columns(_days(page), axis=lambda number: f"{number:g}", text=_whole),
        hours=hours_chart(page.hours),
        filled=filled,
        times=times,
        time_total=sum(time for _, _, time in times) or 1,
        tools=page.tools[:_TOOLS],
        more_tools=max(0, len(page.tools) - _TOOLS),
        most_calls=max((tool.calls for tool in page.tools), default=0) or 1,
        incidents=[each for each in _incidents(page) if each.times],
        title=lambda session: cut(one_line(titles.get(session) or session[:8]), _TITLE_COLUMNS),
        links=_LINKS,
        dollars=lambda micro: micro / 1_000_000,
    )


def _days(page: StatsPage) -> list[Column]:
    turns = {date.fromisoformat(each.day): each.turns for each in page.days}
    return [_day(day, turns.get(day, 0)) for day in every_period(sorted(turns), "day")]


def _day(day: date, turns: int) -> Column:
    return Column(f"{day.day} {day.strftime('%b')}", [float(turns)], f"{day}: {count_of(turns, 'turn')}", day.year)


def _whole(number: float) -> str:
    return f"{number:,.0f}"


def _incidents(page: StatsPage) -> list[Incident]:
    longest = max((link.ms or 0 for link in page.waits), default=0)
    return [
        Incident("Interrupts", len(page.interrupts), "stopped by you", page.interrupts),
        Incident("API errors", len(page.api_errors), "", page.api_errors),
        Incident("Retries", len(page.retries), "", page.retries),
        Incident("Compactions", len(page.compactions), "", page.compactions),
        Incident("Rewound turns", len(page.rewound), "", page.rewound),
        Incident("Long waits", len(page.waits), f"the longest {duration(longest)}", page.waits),
    ]
