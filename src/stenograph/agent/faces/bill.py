"""What a session used and cost, in the shapes of the client's results."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from stenograph.config import ModelProfile

Json: TypeAlias = dict[str, Any]

_COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
}


class Bill:
    def __init__(self, profiles: Mapping[str, ModelProfile] | None = None) -> None:
        self._profiles = profiles or {}
        #: Models without a price.
        self._unpriced: set[str] = set()
        self._lines: dict[str, Json] = {}
        self._costs: dict[str, Decimal] = {}

    def add(self, model: str, usage: Json) -> None:
        from stenograph.agent.context.costs import cost_of  # not before the first request

        line = self._lines.setdefault(model, dict.fromkeys([*_COUNTS.values(), "webSearchRequests"], 0))
        for name, told in _COUNTS.items():
            line[told] += count_of(usage, name)
        searches = usage.get("server_tool_use")
        line["webSearchRequests"] += count_of(searches, "web_search_requests") if isinstance(searches, dict) else 0
        cost = cost_of(model, usage, self._profiles)
        if cost is None:
            self._unpriced.add(model)
        self._costs[model] = self._costs.get(model, Decimal(0)) + (cost or 0)

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
        return {
            model: {**line, "costUSD": float(self._costs[model]), "costBasis": self._basis(model)}
            for model, line in self._lines.items()
        }

    def _basis(self, model: str) -> str:
        """`list` is the client's word for its own prices."""
        if model in self._unpriced:
            return "unpriced"
        own = self._profiles.get(model)
        return "configured" if own is not None and own.price is not None else "list"


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
