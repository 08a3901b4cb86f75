"""What calls, turns, subagents and sessions cost, as page values: dollars, and whether a part of them is estimated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from stenograph.pricing import micro_usd
from stenograph.turns import AgentRun, ApiCall, Turn, runs_below

if TYPE_CHECKING:
    from stenograph.analysis import Spent


class Price(NamedTuple):
    #: Rounded to microdollars; None if no call has a price.
    usd: float | None
    is_estimated: bool
    #: Some calls have no price, and are not in it.
    is_unpriced: bool = False


def price_of(spent: Spent | None) -> Price:
    """How every page shows an amount; `None` is an amount that is not known."""
    if spent is None or spent.calls <= spent.unpriced_calls:
        return Price(None, False, bool(spent and spent.unpriced_calls))
    return Price(micro_usd(spent.cost) / 1_000_000, bool(spent.estimated), bool(spent.unpriced_calls))


def call_cost(call: ApiCall) -> Spent | None:
    """None for what is not charged."""
    from stenograph.analysis import call_spent  # a turn without calls needs no prices

    return call_spent(call)


def turn_price(turn: Turn, cost: Callable[[ApiCall], Spent | None] = call_cost) -> Price:
    """With the subagents that it started."""
    runs = list(runs_below(turn.agent_runs))
    return _sum((*turn.calls, *(call for run in runs for each in run.turns for call in each.calls)), cost)


def agent_price(run: AgentRun) -> Price:
    """Without the subagents below it."""
    return _sum((call for turn in run.turns for call in turn.calls), call_cost)


def _sum(calls: Iterable[ApiCall], cost: Callable[[ApiCall], Spent | None]) -> Price:
    from stenograph.analysis import sum_spent

    return price_of(sum_spent([spent for call in calls if (spent := cost(call)) is not None]))
