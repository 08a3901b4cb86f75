"""What a session used and cost, in the shapes of the client's results."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]

_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
}


class Bill:
    def __init__(self) -> None:
        self._lines: dict[str, Json] = {}
        self._costs: dict[str, Decimal] = {}

    def add(self, model: str, usage: Json) -> None:
        line = self._lines.setdefault(model, dict.fromkeys([*_COUNTS.values(), "webSearchRequests"], 0))
        for name, told in _COUNTS.items():
            line[told] += count_of(usage, name)
        searches = usage.get("server_tool_use")
        line["webSearchRequests"] += count_of(searches, "web_search_requests") if isinstance(searches, dict) else 0
        self._costs[model] = self._costs.get(model, Decimal(0)) + _cost(model, usage)

    def settle(self, usage: dict[str, dict[str, int]]) -> None:
        """Add what no response reported (summaries, pages read), given the session's sums."""
        for model, counts in usage.items():
            had = self._lines.get(model, {})
            rest = {name: counts.get(name, 0) - had.get(told, 0) for name, told in _COUNTS.items()}
            if any(count > 0 for count in rest.values()):
                self.add(model, {name: max(0, count) for name, count in rest.items()})

    @property
    def usd(self) -> float:
        return float(sum(self._costs.values(), Decimal(0)))

    def by_model(self) -> Json:
        """`modelUsage` of a result."""
        return {model: {**line, "costUSD": float(self._costs[model])} for model, line in self._lines.items()}


def sum_usages(usages: list[Json]) -> Json:
    """`usage` of a result."""
    split: list[Json] = [part for usage in usages if isinstance(part := usage.get("cache_creation"), dict)]
    server: list[Json] = [part for usage in usages if isinstance(part := usage.get("server_tool_use"), dict)]
    tier = usages[-1].get("service_tier") if usages else None
    return {
        **{name: sum(count_of(usage, name) for usage in usages) for name in _COUNTS},
        "server_tool_use": {
            name: sum(count_of(part, name) for part in server) for name in ("web_search_requests", "web_fetch_requests")
        },
        "service_tier": tier or "standard",
        "cache_creation": {
            name: sum(count_of(part, name) for part in split)
            for name in ("ephemeral_1h_input_tokens", "ephemeral_5m_input_tokens")
        },
    }


def count_of(usage: Json, name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0


def _cost(model: str, usage: Json) -> Decimal:
    # Not before the first request.
    from stenograph.pricing import price_usage
    from stenograph.records import Usage

    try:
        return price_usage(msgspec.json.decode(msgspec.json.encode(usage), type=Usage), model).usd
    except msgspec.ValidationError:  # a third-party endpoint's own counts
        return Decimal(0)
