"""The usage of one API response -> its cost, with its parts and the table row it is based on."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum

from msgspec import Struct, structs

from stenograph.pricing.prices import Table, canonical_model, rate_of, table_of
from stenograph.records import Usage

_ZERO = Decimal(0)
_MILLION = Decimal(1_000_000)


class Basis(StrEnum):
    """The client's own words (`costBasis` of 2.1.325)."""

    LIST = "list"
    # The client charges this for any name that it does not know.
    UNKNOWN = "unknown"


class Cost(Struct, frozen=True):
    """USD of one response."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    web_search: Decimal
    # The advisor's tokens, at the price of its own model.
    advisor: Decimal
    basis: Basis
    # The table's name of the model; empty for unknown names.
    row: str
    table: Table

    @property
    def usd(self) -> Decimal:
        tokens = self.input + self.output + self.cache_read + self.cache_write_5m + self.cache_write_1h
        return tokens + self.web_search + self.advisor


def price_usage(usage: Usage, model: str, *, release: str | None = None) -> Cost:
    """What a response cost by the table of a release (None: the newest). Raises UsageError for an invalid release.

    `model` is the one requested; a client charges that one, whichever answered.
    """
    table = table_of(release)
    place = table.us if usage.inference_geo == "us" else Decimal(1)
    own = _price_tokens(usage, model, table, place, fast=usage.speed == "fast")
    # An advisor's own place, speed and searches do not count, nor does the speed around it.
    advisors = [_price_tokens(item, name, table, place, fast=False) for item, name in _advisors(usage, table)]
    return structs.replace(
        own,
        # Neither speed nor place changes the price of a search.
        web_search=usage.counts().web_searches * table.web_search,
        advisor=sum((cost.usd for cost in advisors), _ZERO),
        basis=Basis.UNKNOWN if any(cost.basis is Basis.UNKNOWN for cost in (own, *advisors)) else Basis.LIST,
    )


def _price_tokens(usage: Usage, model: str, table: Table, place: Decimal, *, fast: bool) -> Cost:
    row = canonical_model(model, table)
    prices = table.unknown if row is None else table.models[row]
    tokens = usage.counts()
    rate = rate_of(prices, tokens.prompt)
    hour_price = rate.cache_write_1h if table.prices_hour_writes and rate.cache_write_1h is not None else rate.cache_write_5m
    factor = place * (prices.fast if fast else 1) / _MILLION
    return Cost(
        input=tokens.input * rate.input * factor,
        output=tokens.output * rate.output * factor,
        cache_read=tokens.cache_read * rate.cache_read * factor,
        cache_write_5m=tokens.cache_write_5m * rate.cache_write_5m * factor,
        cache_write_1h=tokens.cache_write_1h * hour_price * factor,
        web_search=_ZERO,
        advisor=_ZERO,
        basis=Basis.UNKNOWN if row is None else Basis.LIST,
        row=row or "",
        table=table,
    )


def _advisors(usage: Usage, table: Table) -> list[tuple[Usage, str]]:
    """The advisor's items with their models; without a model they are free. Items of other types are already in the usage."""
    if not table.charges_advisor:
        return []
    items = [item for item in usage.iterations or () if isinstance(item, Usage) and item.type == "advisor_message"]
    return [(item, model) for item in items if isinstance(model := item.model, str)]
