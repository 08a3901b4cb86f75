"""Usage: page values -> HTML."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from stenograph.views.html.charts import Column, columns, money
from stenograph.views.html.context import PageContext
from stenograph.views.html.pages import project_names
from stenograph.views.html.rendering import Template, local
from stenograph.views.terminal.options import RenderOptions
from stenograph.views.terminal.stats import waste_advice

if TYPE_CHECKING:
    from stenograph.views.pages.stats import WastePage
    from stenograph.views.pages.usage import ReconciliationPage, UsagePage, UsageRowPage

#: Models that have a color of their own; the others share the last one.
_COLORS = 5
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
    reconciled: ReconciliationPage | None = None,
    waste: WastePage | None = None,
) -> str:
    """Costs over time, and by project, kind of token and session."""
    ranked = sorted(time.total.models, key=lambda model: -model.cost_micro_usd)
    named = [model.model for model in ranked[:_COLORS]]
    models = [(model.model, model.cost_micro_usd) for model in ranked[:_COLORS]]
    if rest := sum(model.cost_micro_usd for model in ranked[_COLORS:]):
        models.append((_OTHERS, rest))
    tokens = time.total.tokens
    kinds = sorted(
        (
            ("Cache reads", tokens.cache_read, "q2"),
            ("Cache writes, 1 h", tokens.cache_write_1h, "q3"),
            ("Cache writes, 5 min", tokens.cache_write_5m, "q3"),
            ("Output", time.total.tokens.output, "q5"),
            ("Input, uncached", tokens.input, "q1"),
        ),
        key=lambda kind: -kind[1],
    )
    return Template("usage.html").render(
        context=context,
        here="Usage",
        tab="Cost",
        time=time,
        since=since,
        projects=projects.rows,
        project_name=project_names([row.name for row in projects.rows]).get,
        sessions=sessions.rows,
        reconciled=reconciled,
        apart=[row for row in reconciled.sessions if abs(row.difference_micro_usd) >= _HALF_A_CENT] if reconciled else [],
        agreed=_agreed(reconciled),
        waste=waste,
        advice=lambda finding: waste_advice(finding, RenderOptions(width=_ADVICE_COLUMNS)),
        models=models,
        kinds=kinds,
        largest_kind=max(1, *(kind[1] for kind in kinds)),
        largest_project=max((row.cost_micro_usd for row in projects.rows), default=0) or 1,
        chart=columns([_column(row, named, time.by) for row in time.rows]),
        span=_span(time.rows),
        usd=lambda micro: money(micro / 1_000_000),
    )


def _agreed(reconciled: ReconciliationPage | None) -> tuple[int, int]:
    """Ours and theirs, of the sessions in which both are the same to the cent."""
    rows = [row for row in reconciled.sessions if abs(row.difference_micro_usd) < _HALF_A_CENT] if reconciled else []
    return sum(row.ours_micro_usd for row in rows), sum(row.theirs_micro_usd for row in rows)


def _column(row: UsageRowPage, named: Sequence[str], by: str) -> Column:
    costs = {model.model: model.cost_micro_usd / 1_000_000 for model in row.models}
    parts = [costs.pop(name, 0.0) for name in named]
    label = _label(row, by)
    return Column(label, [*parts, sum(costs.values())], f"{row.name}: {money(row.cost_micro_usd / 1_000_000)}")


def _label(row: UsageRowPage, by: str) -> str:
    if row.start is None:
        return row.name
    start = local(row.start)
    if by == "month":
        return start.strftime("%b %y")
    return start.strftime("%d %H:%M") if by == "block" else f"{start.day} {start.strftime('%b')}"


def _span(rows: Sequence[UsageRowPage]) -> str:
    starts = [row.start for row in rows if row.start]
    if not starts:
        return ""

    def day(moment: datetime) -> str:
        here = local(moment)
        return f"{here.day} {here.strftime('%b %Y')}"

    return f"{day(starts[0])} to {day(starts[-1])}, " if len(starts) > 1 else f"{day(starts[0])}, "
