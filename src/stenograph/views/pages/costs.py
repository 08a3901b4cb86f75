"""What calls, turns and subagents cost, by the token counts that their lines record and the newest price table."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from stenograph.pricing import Basis, price_usage
from stenograph.turns import AgentRun, ApiCall, CallPart, Turn, runs_below, tokens_of


def call_usd(call: ApiCall) -> float | None:
    """Of the dearest of its lines; None for what is not charged or has no price."""
    if call.part is not CallPart.WHOLE or call.is_synthetic:
        return None
    # Lines of one response repeat its usage, or it grows: the line with most tokens is the dearest.
    charged = [record for record in call.records if record.message and record.message.usage]
    record = max(charged, key=lambda each: tokens_of(each.message.usage if each.message else None).total, default=None)
    if record is None or not record.message or not record.message.usage:
        return None
    cost = price_usage(record.message.usage, record.requestedModel or record.message.model or "")
    return None if cost.basis is Basis.UNKNOWN else float(cost.usd)


def turn_usd(turn: Turn, price: Callable[[ApiCall], float | None] = call_usd) -> float | None:
    """With the subagents that it started; None if no call has a price."""
    runs = list(runs_below(turn.agent_runs))
    return _sum((*turn.calls, *(call for run in runs for each in run.turns for call in each.calls)), price)


def agent_usd(run: AgentRun) -> float | None:
    """Without the subagents below it."""
    return _sum((call for turn in run.turns for call in turn.calls), call_usd)


def _sum(calls: Iterable[ApiCall], price: Callable[[ApiCall], float | None]) -> float | None:
    prices = [usd for call in calls if (usd := price(call)) is not None]
    return sum(prices) if prices else None
