"""Usage: page values -> HTML."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

from stenograph.views.html.charts import Column, columns
from stenograph.views.html.context import PageContext
from stenograph.views.html.pages import project_names
from stenograph.views.html.periods import every_period, period_of
from stenograph.views.html.rendering import StepPlace, Template, local
from stenograph.views.terminal.options import RenderOptions
from stenograph.views.terminal.stats import waste_advice
from stenograph.views.terminal.usage import cost, counted_sessions
from stenograph.views.text import count_of, money, thousands

if TYPE_CHECKING:
    from stenograph.views.pages.stats import WasteFindingPage, WastePage
    from stenograph.views.pages.usage import ReconciliationPage, UsagePage, UsageRowPage

#: Models that have a color of their own; the others share the last one.
_COLORS = 5
_PROJECTS = 12
#: Turns behind a finding that are linked.
_LINKS = 3
_OTHERS = "others"
_ADVICE_COLUMNS = 90
_HALF_A_CENT = 5_000


def render_usage(
    time: UsagePage,
    projects: UsagePage,
    sessions: UsagePage,
    context: PageContext,
    *,
    since: str = "30d",
    days: UsagePage | None = None,
    reconciled: ReconciliationPage | None = None,
    waste: WastePage | None = None,
) -> str:
    """Costs over time, and by project, kind of token and session. `days` has the same calls by day, where `time` has not."""
    ranked = sorted(time.total.models, key=lambda model: -model.cost_micro_usd)
    named = [model.model for model in ranked[:_COLORS]]
    models = [(model.model, cost(model)) for model in ranked[:_COLORS]]
    others = ranked[_COLORS:]
    if rest := sum(model.cost_micro_usd for model in others):
        models.append((_OTHERS, money(rest / 1_000_000, estimated=any(model.estimated_micro_usd for model in others))))
    kinds = _kinds(time)
    return Template("usage.html").render(
        context=context,
        here="Usage",
        tab="Cost",
        time=time,
        since=since,
        projects=projects.rows[:_PROJECTS],
        more_projects=_rest(projects.rows[_PROJECTS:]),
        project_name=project_names([row.name for row in projects.rows]).get,
        sessions=sessions.rows,
        reconciled=reconciled,
        apart=[row for row in reconciled.sessions if abs(row.difference_micro_usd) >= _HALF_A_CENT] if reconciled else [],
        agreed=_agreed(reconciled),
        waste=waste,
        advice=lambda finding: _advice(finding, context),
        counted=counted_sessions(time).replace("`", ""),
        models=models,
        kinds=kinds,
        largest_kind=max((kind.cost for kind in kinds), default=0) or 1,
        largest_project=max((row.cost_micro_usd for row in projects.rows), default=0) or 1,
        chart=columns(_columns(time, named, context)),
        span=_span((days or time).rows),
        spent=cost,
        usd=lambda micro: money(micro / 1_000_000),
    )


def _rest(rows: Sequence[UsageRowPage]) -> str:
    """How many rows are not shown, and what they cost together."""
    if not rows:
        return ""
    spent = sum(row.cost_micro_usd for row in rows)
    is_estimated = any(row.estimated_micro_usd for row in rows)
    return f"{count_of(len(rows), 'more project')}, {money(spent / 1_000_000, estimated=is_estimated)}"


def _advice(finding: WasteFindingPage, context: PageContext) -> tuple[str, list[Markup], str]:
    """A finding as the terminal says it, with links to its turns: where they are named, else after it."""
    heading, lines, command = waste_advice(finding, RenderOptions(width=_ADVICE_COLUMNS, command=context.command))
    shown = [escape(line) for line in lines if line]
    links = {f"turn {link.turn} of {link.session[:8]}": link for link in finding.turns[:_LINKS] if link.turn}
    named = {
        name: Markup('<a href="{}">{}</a>').format(
            StepPlace(context.root, link.session, branch=link.branch or 0).turn(link.turn), name
        )
        for name, link in links.items()
    }
    if len(named) == 1 and any(name in line for name in named for line in shown):
        name, html = next(iter(named.items()))
        shown = [Markup(line.replace(escape(name), html)) for line in shown]
    elif named:
        shown.append(Markup(" · ").join(named.values()))
    return heading, shown, command


class Kind(NamedTuple):
    """One kind of token: how many there were, and what they cost in microdollars."""

    name: str
    amount: str
    cost: int
    color: str
    #: Only output is ever estimated.
    estimated: bool = False


def _kinds(page: UsagePage) -> list[Kind]:
    """The most expensive first."""
    tokens, costs = page.total.tokens, page.kinds
    searches = page.total.web_searches
    found = [
        Kind("Cache reads", thousands(tokens.cache_read), costs.cache_read, "q2"),
        Kind("Cache writes, 1 h", thousands(tokens.cache_write_1h), costs.cache_write_1h, "q3"),
        Kind("Cache writes, 5 min", thousands(tokens.cache_write_5m), costs.cache_write_5m, "q3"),
        Kind("Output", thousands(tokens.output), costs.output, "q5", page.total.estimated_micro_usd > 0),
        Kind("Input, uncached", thousands(tokens.input), costs.input, "q1"),
        Kind("Web searches", count_of(searches, "search", "searches"), costs.web_searches, "q4"),
    ]
    return sorted((kind for kind in found if kind.cost or kind.amount not in ("0", "0 searches")), key=lambda kind: -kind.cost)


def _agreed(reconciled: ReconciliationPage | None) -> tuple[int, int]:
    """Ours and theirs, of the sessions in which both are the same to the cent."""
    rows = [row for row in reconciled.sessions if abs(row.difference_micro_usd) < _HALF_A_CENT] if reconciled else []
    return sum(row.ours_micro_usd for row in rows), sum(row.theirs_micro_usd for row in rows)


def _columns(page: UsagePage, named: Sequence[str], context: PageContext) -> list[Column]:
    if page.by == "block" or any(row.start is None for row in page.rows):
        return [_column(row, named, page.by) for row in page.rows]
    rows = {local(row.start).date(): row for row in page.rows if row.start}
    starts = set(rows)
    if page.since and rows:
        starts |= {period_of(local(moment).date(), page.by) for moment in (page.since, page.until or context.now)}
    periods = every_period(sorted(starts), page.by)
    return [
        _column(rows[day], named, page.by) if day in rows else Column(_named(day, page.by), [], year=_year(day, page.by))
        for day in periods
    ]


def _column(row: UsageRowPage, named: Sequence[str], by: str) -> Column:
    costs = {model.model: model.cost_micro_usd / 1_000_000 for model in row.models}
    parts = [costs.pop(name, 0.0) for name in named]
    label = _label(row, by)
    return Column(
        label,
        [*parts, sum(costs.values())],
        f"{row.name}: {cost(row)}",
        _year(local(row.start).date(), by) if row.start else None,
    )


def _label(row: UsageRowPage, by: str) -> str:
    if row.start is None:
        return row.name
    start = local(row.start)
    return f"{start.day} {start.strftime('%b %H:%M')}" if by == "block" else _named(start, by)


def _named(day: date, by: str) -> str:
    return day.strftime("%b %y") if by == "month" else f"{day.day} {day.strftime('%b')}"


def _year(day: date, by: str) -> int | None:
    """None where the label says it."""
    return None if by == "month" else day.year


def _span(rows: Sequence[UsageRowPage]) -> str:
    starts = [row.start for row in rows if row.start]
    if not starts:
        return ""

    def day(moment: datetime) -> str:
        here = local(moment)
        return f"{here.day} {here.strftime('%b %Y')}"

    return f"{day(starts[0])} to {day(starts[-1])}, " if len(starts) > 1 else f"{day(starts[0])}, "
